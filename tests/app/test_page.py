"""The page in a real browser: a person's hands, and what is on the disk afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser_window import HEIGHT, WIDTH, until

from pinvgcn.app.picking import Camera


class Person:
    """Knows where on the screen a point is, in the first view that the page gives."""

    def __init__(self, page: Any, points: np.ndarray) -> None:
        self.page = page
        shown = points - (points.min(axis=0) + points.max(axis=0)) / 2
        extent = np.linalg.norm(np.ptp(points, axis=0))
        position = 0.75 * extent * np.array([-0.5, -0.8, 0.55])
        up = np.array([0.0, 0.0, 1.0])
        camera = Camera.looking(position, np.zeros(3), up, fov=np.pi / 3, aspect=WIDTH / HEIGHT)
        self.screen, self.depth = camera.project(shown)

    def click(self, point: int) -> None:
        """On a point."""
        x, y = self.screen[point]
        self.page.mouse.click(x * WIDTH, y * HEIGHT)

    def drag(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        """A rectangle, with the shift key held down."""
        self.page.keyboard.down("Shift")
        self.page.mouse.move(low[0] * WIDTH, low[1] * HEIGHT)
        self.page.mouse.down()
        self.page.mouse.move(high[0] * WIDTH, high[1] * HEIGHT, steps=5)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def says(self, text: str) -> bool:
        """Whether it stands on the page."""
        return bool(text in self.page.inner_text("body"))


def actions(scan: Path) -> list[dict]:
    """What the session file has, without its head."""
    path = scan.with_name(scan.name + ".pinvgcn-labels.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def labels(scan: Path) -> list[dict]:
    return [action for action in actions(scan) if action["do"] in ("label", "erase", "undo", "redo")]


def alone(person: Person, points: np.ndarray, y: np.ndarray, code: int) -> int:
    """A point of a class that can be clicked: on the free side of the screen, in front of all near it."""
    pixels = person.screen * [WIDTH, HEIGHT]
    for point in np.flatnonzero(y == code):
        x, height = pixels[point]
        if not (330 < x < 900 and 160 < height < 700):
            continue
        near = np.linalg.norm(pixels - pixels[point], axis=1) < 12
        if person.depth[point] <= person.depth[near].min():
            return int(point)
    pytest.skip("no such point in view")


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
    first, second = alone(person, street.X, street.y, 0), alone(person, street.X, street.y, 1)
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

    # a rectangle
    person.drag((0.35, 0.45), (0.42, 0.55))
    until(lambda: labels(scan)[-1]["do"] == "label" and len(labels(scan)) == 5, what="the rectangle")
    inside = np.array(labels(scan)[-1]["points"])
    assert ((person.screen[inside] > [0.34, 0.44]) & (person.screen[inside] < [0.43, 0.56])).all()
    before = len(set(inside.tolist()) | set(picked))
    until(lambda: person.says(f"{before} of 6,000 points labelled"), what="the rectangle on the page")

    # export
    page.get_by_text("Export", exact=True).click()
    page.get_by_role("button", name="Labels as CSV").click()
    written = scan.with_name("street.xyz.labels.csv")
    until(written.exists, what="the labels as CSV")
    table = pd.read_csv(written)
    assert len(table) == before
    assert set(table["label"]) == set(names[:2])

    # one more class; the name in the field is taken
    page.get_by_role("button", name="Add a class with this name").click()
    until(lambda: actions(scan)[-1].get("name") == "class 1", what="a new class")
    until(lambda: person.says("▶ class 1"), what="the new class on the page")

    # erase
    page.keyboard.press("e")
    until(lambda: person.says("▶ Erase"), what="erasing")
    person.click(first)
    until(lambda: labels(scan)[-1]["do"] == "erase", what="erase")
    left = before - 1
    until(lambda: person.says(f"{left} of 6,000 points labelled"), what="erase on the page")

    # a crash, and the same command again: two tabs, one state
    kept = scan.with_name(scan.name + ".pinvgcn-labels.jsonl").read_text()
    server.kill()
    again = served(*start)
    one, two = Person(tab(again.address), street.X), Person(tab(again.address), street.X)
    for person in (one, two):
        until(lambda person=person: person.says(f"{left} of 6,000 points"), what="after a crash")
    assert scan.with_name(scan.name + ".pinvgcn-labels.jsonl").read_text() == kept
    one.page.keyboard.press("z")
    until(lambda: two.says(f"{before} of 6,000 points labelled"), what="what one tab does, the other shows")


def test_a_malformed_or_oversized_message_closes_its_connection_and_nothing_else(
    served: Callable[..., Any],
) -> None:
    client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")
    import viser
    from websockets.exceptions import ConnectionClosed

    server = served()
    address = server.address.replace("http://", "ws://")
    protocol = [f"viser-v{viser.__version__}"]

    def connect() -> Any:
        return client.connect(address, subprotocols=protocol, max_size=None, open_timeout=30)

    with connect() as other:
        assert other.recv(timeout=30)
        for message in (b"nonsense", "text", bytes(60 * 1024 * 1024)):
            with connect() as bad:
                bad.recv(timeout=30)
                with pytest.raises(ConnectionClosed):
                    _until_it_closes(bad, message)
        other.ping().wait(timeout=30)
    with connect() as after:
        assert after.recv(timeout=30)
    assert server.process.poll() is None


def _until_it_closes(connection: Any, message: bytes | str) -> None:
    connection.send(message)
    while True:
        connection.recv(timeout=30)
