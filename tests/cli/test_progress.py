"""What is shown of how far a command is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pinvgcn.cli import progress
from pinvgcn.cli.progress import shown, shown_runs
from pinvgcn.jobs import duration


@pytest.fixture
def seconds(monkeypatch):
    """The clock, which stands still unless it is set."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    monkeypatch.setenv("TERM", "xterm")  # whatever the terminal is in which the tests run
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "err", lambda: console)
    return written


def test_lines_of_long_stages(seconds, capsys):
    with shown(unit="points") as report:
        for second in range(5):
            seconds[0] = float(second)
            report("Reading", 25_000 * second, 100_000)
            report("Fitting", second, 4)
        report("Looking")
    assert capsys.readouterr().err.splitlines() == [
        "Reading: 25,000 of 100,000 points, 25,000 a second, 3 s left",
        "Fitting: 25 %, 3 s left",
        "Reading: 50,000 of 100,000 points, 25,000 a second, 2 s left",
        "Fitting: 50 %, 2 s left",
        "Reading: 75,000 of 100,000 points, 25,000 a second, 1 s left",
        "Fitting: 75 %, 1 s left",
        "Reading: 100,000 of 100,000 points, 25,000 a second",
        "Fitting: 100 %",
    ]


def test_short_stages_and_quiet_commands_say_nothing(seconds, capsys):
    with shown(unit="points") as report:
        report("Reading", 100_000, 100_000)
    with shown(quiet=True, steps=2) as report:
        report("First")
    assert capsys.readouterr().err == ""


def test_each_step_is_a_line(capsys):
    with shown(steps=2) as report:
        report("First")
        report("within it", 1, 2)
        report("Second")
    assert capsys.readouterr().err == "First\nSecond\n"


def test_a_bar_on_a_terminal(terminal):
    with shown(unit="points") as report:
        report("Reading", 50_000, 100_000)
        report("Preparing")
        report("Fitting [2]", 1, 4)
    assert "Fitting [2]" in terminal.getvalue()
    assert "25 %" in terminal.getvalue()


def test_steps_move_the_bar(terminal):
    with shown(steps=4) as report:
        for name in "abc":
            report(name)
    assert "50 %" in terminal.getvalue()


def runs(count: int) -> None:
    """Of a job with trouble."""
    with shown_runs() as (report, note):
        note(f"{count} runs to do")
        report("GCN: set-up", 0, count)
        report("GCN 81.0 %", 1, count)
        note("GCN failed")
        report("", 2, count)


def test_each_run_is_a_line(capsys):
    runs(2)
    assert capsys.readouterr().err.splitlines() == [
        "2 runs to do", "1 of 2, 0:00:00: GCN 81.0 %", "GCN failed",
    ]  # fmt: skip


def test_runs_on_a_terminal(terminal):
    runs(4)
    assert "GCN failed" in terminal.getvalue()
    assert "50 %" in terminal.getvalue()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 minutes"), (7_140, "119 minutes"), (7_200, "2.0 hours")],
)
def test_durations_in_the_unit_that_fits(seconds, said):
    assert duration(seconds) == said
