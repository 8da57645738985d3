"""The page in a real browser, killed and started again: a person's hands, and what is on the disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser_window import Person, until


def actions(scan: Path) -> list[dict]:
    """What the session file has, without its head."""
    path = scan.with_name(scan.name + ".pinvgcn-labels.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def labels(scan: Path) -> list[dict]:
    return [action for action in actions(scan) if action["do"] in ("label", "erase", "undo", "redo")]


@pytest.mark.slow
def test_a_person_labels_a_street(
    served: Callable[..., Any], tab: Callable[[str], Any], scan: Path, street: Any
) -> None:
    names = list(street.target_names)
    start = ("--classes", ",".join(names), "--reference", "true")
    server = served(*start)
    page = tab(server.address)
    person = Person(page, street.X)
    until(lambda: person.says("Label points of two classes"), what="preparation")

    # a click with each of two classes, chosen by button and by key
    first, second = person.alone(street.y, 0), person.alone(street.y, 1)
    page.get_by_role("button", name=f"{names[0]} (1)").click()
    person.click(first)
    until(lambda: len(labels(scan)) == 1, what="the first click")
    page.keyboard.press("2")
    until(lambda: person.says(f"▶ {names[1]}"), what="a class chosen by key")
    person.click(second)
    until(lambda: len(labels(scan)) == 2, what="the second click")
    done = labels(scan)
    picked = [action["points"][0] for action in done]
    assert [action["class"] for action in done] == [0, 1]
    # the pixel of a point may show its neighbour, but nothing behind it
    for wanted, taken in zip((first, second), picked, strict=True):
        assert np.linalg.norm(street.X[wanted] - street.X[taken]) < 1.5
    until(lambda: person.says("agree with the reference"), what="an answer")

    # undo and redo
    page.keyboard.press("z")
    until(lambda: labels(scan)[-1]["do"] == "undo", what="undo")
    until(lambda: person.says("1 of 6,000 points labelled"), what="undo on the page")
    page.keyboard.press("y")
    until(lambda: person.says("2 of 6,000 points labelled"), what="redo on the page")

    # export
    page.get_by_text("Export", exact=True).click()
    page.get_by_role("button", name="Labels as CSV").click()
    written = scan.with_name("street.xyz.labels.csv")
    until(written.exists, what="the labels as CSV")
    table = pd.read_csv(written)
    assert sorted(table["index"]) == sorted(picked)
    assert set(table["label"]) == set(names[:2])

    # one more class; the name in the field is taken
    page.get_by_text("Change", exact=True).click()
    page.get_by_role("button", name="Add a class with this name").click()
    until(lambda: actions(scan)[-1].get("name") == "class 1", what="a new class")
    until(lambda: person.says("▶ class 1"), what="the new class on the page")

    # erase
    page.keyboard.press("e")
    until(lambda: person.says("▶ Erase"), what="erasing")
    person.click(first)
    until(lambda: labels(scan)[-1]["do"] == "erase", what="erase")
    until(lambda: person.says("1 of 6,000 points labelled"), what="erase on the page")

    # a crash in the middle, and the same command at the same address: the open page comes back by itself
    kept = scan.with_name(scan.name + ".pinvgcn-labels.jsonl").read_text()
    frames: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(len(frame))))
    server.kill()
    again = served(*start, port=server.port)
    page.bring_to_front()
    until(lambda: person.says("1 of 6,000 points labelled") and len(frames) > 0, what="after a crash")
    assert scan.with_name(scan.name + ".pinvgcn-labels.jsonl").read_text() == kept

    # two tabs, one state
    other = Person(tab(again.address), street.X)
    until(lambda: other.says("1 of 6,000 points labelled"), what="another tab")
    page.keyboard.press("z")
    until(lambda: other.says("2 of 6,000 points labelled"), what="what one tab does, the other shows")

    # hands that rest: the full model, with an estimate or why there is none; a crash leaves no folder behind
    until(lambda: other.says("Refined: the full model"), seconds=300, what="the full model")
    assert other.says("Expected to be right") or other.says("No estimate")
    assert len(list(scan.parent.glob(".*.refined"))) == 1
