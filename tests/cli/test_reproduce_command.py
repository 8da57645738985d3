"""``pinvgcn reproduce`` as its users run it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pinvgcn.cli import main
from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.ledger import ledger_of
from pinvgcn.report.page import source_digest

COMMAND = [sys.executable, "-m", "pinvgcn", "reproduce"]


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on this machine nor from a network; Mushroom is in the package."""
    monkeypatch.delenv("PINVGCN_DATA", raising=False)
    monkeypatch.setenv("PINVGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")


def test_where_nothing_could_run_the_report_is_written_and_the_command_has_failed(
    tmp_path: Path, no_data: None, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with ledger_of(out) as ledger:
        about = {"question": "mushroom, 10 per class", "method": pinv("paper").name}
        ledger.append("failure", **about, reason="over budget", message="", budget=0.5, finished=0)
    assert main(["reproduce", "weights", "--runs", "2", "--budget", "0.5", "--out", str(out)]) == 2
    printed, err = capfd.readouterr()
    assert printed == f"Report: {out}/report.html\n"
    assert (
        "Mushroom (10 per class), PinvGCN failed before (over budget, 0.5 s); --retry tries it again\n" in err
    )
    assert "\n0 runs to do\n" in err
    assert err.splitlines()[-1] == (
        "pinvgcn: error: None of the 14 runs that were asked for could be done; the report says why."
    )
    assert "no data" in (out / "report.md").read_text()


@pytest.mark.slow
def test_an_interrupted_command_says_what_is_kept(
    tmp_path: Path, no_data: None, interrupts: None, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    def interrupt() -> None:
        while (
            not (out / "results.jsonl").exists() or '"kind": "run"' not in (out / "results.jsonl").read_text()
        ):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    waiting = threading.Thread(target=interrupt, daemon=True)
    waiting.start()
    command = ["reproduce", "hypergraphs", "--methods", "nearest_neighbour", "--runs", "90000"]
    assert main([*command, "--out", str(out)]) == 130
    waiting.join()
    kept = sum(line["kind"] == "run" for line in lines_of(out))
    assert f"{kept:,} run" in (out / "report.md").read_text()
    there = "1 run" if kept == 1 else f"{kept} runs"
    there += ", and a report of them"
    last = f"pinvgcn: interrupted: {out} holds {there}; the same command goes on from there"
    assert capfd.readouterr().err.splitlines()[-1] == last


def test_a_wrong_folder_of_data_stops_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path / "nowhere"))
    said = refused("reproduce", "hypergraphs", "--runs", "1", "--out", tmp_path / "out")
    assert "PINVGCN_DATA must name a folder. Got" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_data_mushroom_works_and_the_others_say_where_to_get_theirs(
    tmp_path: Path, no_data: None, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["hypergraphs", "--methods", "nearest_neighbour", "--out", str(tmp_path / "out"), "--runs"]
    first = subprocess.run(
        [*COMMAND, *words, "2"],
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert first.returncode == 0, first.stderr
    assert "Traceback" not in first.stderr
    assert "\n2 runs to do\n" in first.stderr  # without those whose data are missing
    ended = re.findall(
        r"^(\d of \d), \d:\d\d:\d\d: Mushroom \(10 per class\), (.*) %$", first.stderr, re.MULTILINE
    )
    assert first.stdout.splitlines()[-1] == f"Report: {tmp_path / 'out'}/report.html"
    told = [line for line in first.stderr.splitlines() if "left out" in line]
    assert [line.split()[0] for line in told] == ["Covertype45", "Covertype67"]
    for line in told:
        assert "https://archive.ics.uci.edu" in line
        assert "PINVGCN_DATA" in line
    runs = [line for line in lines_of(tmp_path / "out") if line["kind"] == "run"]
    assert [(run["question"], run["method"], run["seed"]) for run in runs] == [
        ("mushroom, 10 per class", "nearest_neighbour", 0),
        ("mushroom, 10 per class", "nearest_neighbour", 1),
    ]
    assert all(0.8 < run["accuracy"] < 1 for run in runs)
    assert ended == [
        (f"{number} of 2", f"1-nearest neighbour, seed {run['seed']}: {100 * run['accuracy']:.2f}")
        for number, run in enumerate(runs, start=1)
    ]
    # a third run is added to the two that are there
    assert main(["reproduce", *words, "3"]) == 0
    assert "\n1 run to do\n" in capfd.readouterr().err
    kinds = [line["kind"] for line in lines_of(tmp_path / "out")]
    assert (kinds.count("run"), kinds.count("session"), kinds.count("setup")) == (3, 2, 2)
    (session, *_) = lines_of(tmp_path / "out")
    assert session["command"] == (
        "pinvgcn reproduce hypergraphs --runs 2 --budget 3600 --methods nearest_neighbour"
    )
    assert "torch" in session["environment"]["versions"]
    assert session["source"] == source_digest()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "experiment must be one of 'oakland', 'hypergraphs', 'split-size', 'citation', "),
        (
            ["weights", "--methods", "gcn,catboost"],
            "methods of weights must be one of 'pinvgcn'. Got 'gcn' instead",
        ),
        (["--methods", "gcn,catboost"], "methods of all must be one of 'gcn', 'graphsage', "),
        (["--methods", ","], "methods must be names with commas between them. Got ','"),
        (["--runs", "0"], "runs must be a whole number, 1 or more. Got 0 instead."),
        (["--runs", "-3"], "runs must be a whole number, 1 or more. Got -3 instead."),
        (["--runs", "two"], "runs must be a whole number, 1 or more. Got 'two' instead."),
        (["--runs", "2.5"], "runs must be a whole number, 1 or more. Got '2.5' instead."),
        (["--seed-start", "-1"], "seed-start must be a whole number, 0 or more. Got -1 instead."),
        (["--budget", "0"], "budget must be a positive, finite number. Got 0.0 instead."),
        (["--budget", "nan"], "budget must be a positive, finite number. Got nan instead."),
        (["--budget", "x"], "budget must be a positive, finite number. Got 'x' instead."),
        (
            ["--seed-start", str(2**32 - 2), "--runs", "3"],
            "seed-start must leave all seeds at 4294967295 or below. Got 4294967294 with 3 runs instead.",
        ),
        (["--seed-start", str(10**29)], "seed-start must leave all seeds at 4294967295 or below. Got 10000"),
    ],
)
def test_bad_input_is_one_line_and_two(
    arguments: list[str], message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    assert message in refused("reproduce", *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_none(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "out").write_text("")
    said = refused("reproduce", "weights", "--out", tmp_path / "out")
    assert "The output folder must be one that can be written to" in said
    assert "out must name a folder. Got '' instead." in refused("reproduce", "weights", "--out", "")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("results.jsonl", "folder", "results.jsonl must be a file. Got a folder instead."),
        ("report.md", "folder", "report.md must be a file. Got a folder instead."),
        ("figures", "file", "figures must be a folder. Got a file instead."),
        ("report.md", "file", "report.md would be replaced, and belongs to no results.jsonl of pinvgcn"),
        ("report.html", "file", "report.html would be replaced, and belongs to no results.jsonl"),
    ],
)
def test_what_is_in_the_way_is_refused_and_stays(
    name: str, kind: str, message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    there = tmp_path / name
    there.mkdir() if kind == "folder" else there.write_text("mine")
    assert f"{tmp_path}/{message}" in refused("reproduce", "weights", "--runs", "1", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert there.is_dir() or there.read_text() == "mine"


def test_two_commands_in_one_folder(tmp_path: Path, refused: Callable[..., str]) -> None:
    """The first may be any process that lives; the second does nothing, and says where the first is."""
    with ledger_of(tmp_path):
        err = refused("reproduce", "weights", "--runs", "1", "--out", tmp_path)
    assert f"Another job is at work in {tmp_path}: process {os.getpid()} on " in err
    assert "choose another --out" in err
    assert list(tmp_path.iterdir()) == []  # no lock is left behind


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("shopping list", "Line 1 of"),
        ('{"kind": "session", "format": 9}', "format 2 or older. Got 9 instead; upgrade pinvgcn"),
    ],
)
def test_a_file_of_results_that_cannot_be_used(
    line: str, message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    (tmp_path / "results.jsonl").write_text(f"{line}\n")
    assert message in refused("reproduce", "weights", "--out", tmp_path)
