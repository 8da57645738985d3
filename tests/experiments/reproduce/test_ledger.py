"""What is written stays; what was half written goes."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from pinvgcn.errors import DataError
from pinvgcn.experiments.reproduce.ledger import Ledger


def filled(path: Path) -> Ledger:
    ledger = Ledger.open(path)
    ledger.append("session", format=1)
    for seed in (1, 0):
        ledger.append("run", question="q", method="m", seed=seed, accuracy=0.5 + seed / 10)
    ledger.append("run", question="q", method="other", seed=0, accuracy=0.1)
    return ledger


def test_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    written = filled(path)
    read = Ledger.open(path)
    assert read.lines == written.lines
    assert {seed: run["accuracy"] for seed, run in read.runs("q", "m").items()} == {0: 0.5, 1: 0.6}
    assert read.runs("q", "nobody") == {}


def test_no_file_is_an_empty_ledger(tmp_path: Path) -> None:
    assert Ledger.open(tmp_path / "none.jsonl").lines == []


def test_every_line_is_in_the_file_at_once(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "results.jsonl")
    for count in range(1, 4):
        ledger.append("run", question="q", method="m", seed=count, accuracy=1.0)
        assert len(Ledger.open(ledger.path).lines) == count


def test_an_interrupt_waits_for_the_line(
    tmp_path: Path, interrupts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = filled(tmp_path / "results.jsonl")
    monkeypatch.setattr("os.fsync", lambda file: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ledger.append("run", question="q", method="m", seed=2, accuracy=1.0)
    assert sorted(ledger.runs("q", "m")) == [0, 1, 2]
    assert Ledger.open(ledger.path).lines == ledger.lines


def test_a_last_line_that_lacks_only_its_line_break_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    whole = filled(path)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    ledger = Ledger.open(path)
    assert (ledger.lines, ledger.repaired) == (whole.lines, "")
    assert path.read_bytes() == content


@pytest.mark.parametrize("cut", [2, 30, 75])
def test_a_half_written_last_line_is_removed_and_the_file_goes_on(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    whole = filled(path).lines
    path.write_bytes(path.read_bytes()[:-cut])
    ledger = Ledger.open(path)
    assert ledger.lines == whole[:-1]
    assert (
        ledger.repaired == f"Line 4 of {path} was half written, and is removed; what it told of is done again"
    )
    ledger.append("run", question="q", method="new", seed=7, accuracy=0.2)
    assert Ledger.open(path).lines == [*whole[:-1], ledger.lines[-1]]


@pytest.mark.parametrize("before", ["", "ours", "shopping list\n"])
@pytest.mark.parametrize(
    "text", ["a line without newline", '{"a": 1', '{"kind": "party", ', '{"a": 1}', " ", "1"]
)
def test_the_end_of_a_foreign_file_is_refused_and_not_touched(tmp_path: Path, before: str, text: str) -> None:
    path = tmp_path / "results.jsonl"
    if before == "ours":
        filled(path)
    else:
        path.write_text(before)
    with path.open("a") as stream:
        stream.write(text)
    content = path.read_bytes()
    with pytest.raises(DataError, match=r"Line [15] of .*results\.jsonl must be a JSON object .* --out"):
        Ledger.open(path)
    assert path.read_bytes() == content


def test_a_letter_cut_in_two_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    Ledger.open(path).append("failure", question="q", method="m", reason="ö", message="")
    content = path.read_bytes()
    path.write_bytes(content + content[: content.index("ö".encode()) + 1])
    assert len(Ledger.open(path).lines) == 1


@pytest.mark.parametrize("text", ["not JSON", "[1]", '{"a": 1}', '{"kind": "party"}', '{"kind": "run"}'])
def test_a_foreign_line_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.jsonl"
    filled(path)
    with path.open("a") as stream:
        stream.write(text + "\n")
    with pytest.raises(DataError, match=r"Line 5 of .*results\.jsonl must be a JSON object .* --out"):
        Ledger.open(path)


@pytest.mark.parametrize("found", [3, 17, "1", None])
def test_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path, found: object) -> None:
    path = tmp_path / "results.jsonl"
    filled(path).append("session", format=found)
    with path.open("a") as stream:
        stream.write('{"kind": "ceremony"}\n{"kind": "ru')  # what this version does not know, and half a line
    content = path.read_bytes()
    with pytest.raises(DataError) as caught:
        Ledger.open(path)
    assert str(caught.value) == (
        f"Line 5 of {path} must begin a session of format 2 or older. Got {found!r} instead; upgrade "
        "pinvgcn, or choose another folder with --out."
    )
    assert path.read_bytes() == content


def test_sessions_that_say_less_are_read(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "results.jsonl")
    for content in ({}, {"format": 0}, {"format": 1}, {"format": 1, "source": "0123456789ab"}):
        ledger.append("session", **content)
    assert Ledger.open(ledger.path).lines == ledger.lines


def test_of_a_seed_that_ran_twice_the_last_run_counts(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "results.jsonl")
    ledger.append("run", question="q", method="m", seed=0, accuracy=0.9)
    assert ledger.runs("q", "m")[0]["accuracy"] == 0.9


def test_a_failure_counts_until_something_has_run(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "results.jsonl")
    assert ledger.failure("q", "m") is None
    ledger.append("failure", question="q", method="m", reason="error", message="")
    ledger.append("setup", question="q", method="m", seconds={})
    assert ledger.failure("q", "m") is not None
    ledger.append("run", question="q", method="m", seed=5, accuracy=0.9)
    assert ledger.failure("q", "m") is None


def test_a_failure_of_a_seed_counts_until_that_seed_has_run(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "results.jsonl")
    ledger.append("failure", question="q", method="m", reason="error", message="", seed=6)
    ledger.append("run", question="q", method="m", seed=7, accuracy=0.9)
    for book in (ledger, Ledger.open(ledger.path)):
        failure = book.failure("q", "m")
        assert failure is not None
        assert failure["seed"] == 6
    ledger.append("run", question="q", method="m", seed=6, accuracy=0.9)
    assert ledger.failure("q", "m") is None


def test_a_failure_of_statistics_has_no_method(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "results.jsonl")
    assert ledger.failure("q") is None
    ledger.append("failure", question="q", reason="error", message="")
    assert ledger.failure("q") is not None
    assert ledger.failure("q", "m") is None
    ledger.append("statistics", question="q", numbers={})
    assert ledger.failure("q") is None


def test_a_shortened_file_says_the_same_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ledger = filled(path)
    weights = {"zero impulse": 0.1, "pseudoinverse": 0.2, "high-pass": 0.3}
    for seed in range(4):
        about = {"question": "q", "method": "n", "seed": seed, "commit": "a" if seed < 3 else "b"}
        more = {"seconds": {"fit": 1.0, "predict": 0.5}, "cpu": 1.25, "facts": {"weights": weights}}
        ledger.append("run", **about, accuracy=0.5 + seed / 8, **more)
    before = {key: Ledger.open(path).runs("q", key) for key in ("m", "n")}
    ledger.shorten()
    short = Ledger.open(path)
    for key, runs in before.items():
        for seed, run in short.runs("q", key).items():
            for name in ("accuracy", "commit", "cpu"):
                assert run.get(name) == runs[seed].get(name)
            assert sum(run["seconds"].values()) == sum(runs[seed].get("seconds", {}).values())
        assert list(short.runs("q", key)) == list(runs)
    assert short.runs("q", "n")[2]["facts"] == {"weights": weights}
    assert [line["kind"] for line in map(json.loads, path.read_text().splitlines())].count("runs") == 4
    short.append("run", question="q", method="n", seed=9, accuracy=0.25, seconds={})
    assert sorted(Ledger.open(path).runs("q", "n")) == [0, 1, 2, 3, 9]
