"""Runs in a process of their own: kept one by one, continued, ended when they take too long."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from behaviours import Behaves

from pinvgcn.experiments.reproduce.experiment import Entry, TaskSpec
from pinvgcn.experiments.reproduce.job import write_report
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.runner import Runner
from pinvgcn.experiments.reproduce.tables import HYPERGRAPHS

MUSHROOM = TaskSpec("mushroom", 10)
NO_SPLIT = TaskSpec("mushroom")  # asks for a standard split, which mushrooms do not have
BUDGET = 2.0
WELL = ("well", "busy", "warns")
TROUBLED = ("fails", "greedy", "allocator", "lonely", "unprepared", "sleepy", "dies", "leaves")


def entry(name: str) -> Entry:
    return Entry(MUSHROOM, Behaves(name, pause=0.2 if name == "busy" else 0.0))


@dataclass
class Troubles:
    """One session in which nearly everything goes wrong."""

    ledger: Ledger
    notes: list[str]
    done: int
    seconds: float

    def failure(self, name: str) -> dict:
        failure = self.ledger.failure(MUSHROOM.key, name)
        assert failure is not None
        return failure

    def seeds(self, name: str) -> list[int]:
        return list(self.ledger.runs(MUSHROOM.key, name))


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> Troubles:
    ledger = Ledger.open(tmp_path_factory.mktemp("troubles") / "results.jsonl")
    notes: list[str] = []
    started = time.monotonic()
    with Runner(ledger, budget=BUDGET, note=notes.append) as runner:
        runner.describe([NO_SPLIT])
        runner.run([entry(name) for name in (*WELL[:2], *TROUBLED, *WELL[2:])], range(3))
    return Troubles(ledger, notes, runner.done, time.monotonic() - started)


def test_what_works_is_kept_with_its_seconds_and_facts(troubles: Troubles) -> None:
    assert troubles.seeds("well") == [0, 1, 2]
    run = troubles.ledger.runs(MUSHROOM.key, "well")[2]
    assert (run["accuracy"], run["mean_recall"], run["seconds"]) == (1.0, 1.0, {"fit": 2.5})
    assert run["facts"] == {"seed": 2}
    (setup,) = troubles.ledger.of("setup", MUSHROOM.key, "well")
    assert setup["seconds"] == {"graph": 2.0}


def test_processor_time_is_of_the_work_not_of_waiting(troubles: Troubles) -> None:
    """A tenth of a second of computing, and two of sleep."""
    (setup,) = troubles.ledger.of("setup", MUSHROOM.key, "busy")
    assert 0 <= setup["cpu"] < 0.2
    for run in troubles.ledger.runs(MUSHROOM.key, "busy").values():
        assert 0.1 <= run["cpu"] < 0.25


def test_after_every_trouble_the_rest_goes_on(troubles: Troubles) -> None:
    assert troubles.seeds("warns") == [0, 1, 2]
    assert troubles.ledger.runs(MUSHROOM.key, "warns")[0]["notes"] == ["mind the gap"]


def test_an_error_is_recorded_in_one_line_and_what_ran_before_stays(troubles: Troubles) -> None:
    failure = troubles.failure("fails")
    assert failure["reason"] == "error"
    assert failure["message"].startswith("ZeroDivisionError: seed one (behaviours.py, line ")
    assert failure["finished"] == 1
    assert troubles.seeds("fails") == [0]
    assert troubles.failure("unprepared")["message"].startswith("ValueError: no graph (")


@pytest.mark.parametrize("name", ["greedy", "allocator"])
def test_out_of_memory(troubles: Troubles, name: str) -> None:
    """As Python says it, and as torch says it."""
    assert troubles.failure(name)["reason"] == "out of memory"


def test_a_killed_process_may_have_had_another_reason(troubles: Troubles) -> None:
    assert troubles.failure("dies")["reason"] == "killed, probably out of memory"


def test_a_missing_package_and_a_process_that_leaves(troubles: Troubles) -> None:
    assert troubles.failure("lonely")["reason"] == "not installed"
    assert troubles.failure("lonely")["message"] == "install torch_geometric"
    assert troubles.failure("leaves")["message"] == "the process ended with exit code 3"


def test_a_run_that_is_too_slow_is_ended(troubles: Troubles) -> None:
    failure = troubles.failure("sleepy")
    assert failure["reason"] == "over budget"
    assert failure["message"] == "ended after 2 s with 1 of 3 runs"
    assert failure["budget"] == BUDGET
    assert troubles.seeds("sleepy") == [0]
    assert troubles.seconds < 300  # it would have slept for ten minutes


def test_all_runs_are_behind_us_at_the_end(troubles: Troubles) -> None:
    assert troubles.done == 3 * (len(WELL) + len(TROUBLED))
    assert len(troubles.notes) == len(TROUBLED) + 1


def test_statistics_that_fail_are_kept_as_a_failure_and_told(troubles: Troubles, tmp_path: Path) -> None:
    failure = troubles.ledger.failure(NO_SPLIT.key)
    assert failure is not None
    assert failure["message"].startswith("AssertionError")
    asked = replace(HYPERGRAPHS, entries=list, specs=(NO_SPLIT,))  # nothing but these statistics
    write_report(Results(troubles.ledger), tmp_path, [asked])
    text = (tmp_path / "report.md").read_text()
    assert "mushroom, standard split, statistics: error, AssertionError" in text
    assert "Everything ran." not in text


def test_statistics_that_failed_are_tried_again_when_asked_for(troubles: Troubles) -> None:
    assert Runner(troubles.ledger).undescribed([NO_SPLIT]) == []
    assert Runner(troubles.ledger, retry=True).undescribed([NO_SPLIT]) == [NO_SPLIT]


def test_what_failed_is_tried_again_only_when_that_may_help(troubles: Troubles) -> None:
    """The slow one finished a run: with a fresh clock it may finish more."""
    entries = [entry(name) for name in ("fails", "sleepy", "well")]

    def planned(**settings: float) -> dict[str, tuple[int, ...]]:
        runner = Runner(troubles.ledger, **{"budget": BUDGET, **settings})  # type: ignore[arg-type]
        return {job.entry.method.name: job.seeds for job in runner.plan(entries, range(4))}

    assert planned() == {"sleepy": (1, 2, 3), "well": (3,)}
    assert planned(retry=True) == {"fails": (1, 2, 3), "sleepy": (1, 2, 3), "well": (3,)}


def test_other_seeds_a_package_that_may_be_there_now_and_what_else_may_have_changed(
    troubles: Troubles,
) -> None:
    """Seed 1 failed; set-up fails for every seed."""

    def planned(name: str, seeds: range) -> list[tuple[int, ...]]:
        return [job.seeds for job in Runner(troubles.ledger, budget=BUDGET).plan([entry(name)], seeds)]

    assert troubles.failure("fails")["seed"] == 1
    assert planned("fails", range(2, 4)) == [(2, 3)]
    assert planned("fails", range(5)) == []
    assert "seed" not in troubles.failure("unprepared")
    assert planned("unprepared", range(7, 8)) == []
    assert planned("lonely", range(3)) == [(0, 1, 2)]
    assert planned("dies", range(9, 10)) == []


def test_what_is_not_tried_again_is_told(troubles: Troubles) -> None:
    told: list[str] = []
    with Runner(troubles.ledger, budget=BUDGET, note=told.append) as runner:
        runner.tell_given_up([entry(name) for name in (*WELL, *TROUBLED)], range(3))
    assert [line.split()[4] for line in told] == [
        "Fails", "Greedy", "Allocator", "Unprepared", "Dies", "Leaves",
    ]  # fmt: skip
    assert told[0].startswith(
        "Mushroom (10 per class), Fails failed before (error: ZeroDivisionError: seed one ("
    )
    assert told[-1].endswith("exit code 3); --retry tries it again")


def test_what_was_too_slow_for_its_first_run_needs_a_larger_budget(tmp_path: Path) -> None:
    """The second try, at the same budget, began with the slow run and finished none."""
    ledger = Ledger.open(tmp_path / "results.jsonl")
    about = {"question": MUSHROOM.key, "method": "sleepy"}

    def planned(budget: float) -> list[tuple[int, ...]]:
        return [job.seeds for job in Runner(ledger, budget=budget).plan([entry("sleepy")], range(3))]

    def too_slow(finished: int) -> None:
        ledger.append("failure", **about, reason="over budget", message="", budget=9.0, finished=finished)

    ledger.append("run", **about, seed=0, accuracy=0.9, seconds={})
    too_slow(1)
    assert planned(9.0) == planned(1.0) == [(1, 2)]
    too_slow(0)
    assert planned(9.0) == []
    told: list[str] = []
    Runner(ledger, budget=9.0, note=told.append).tell_given_up([entry("sleepy")], range(3))
    assert told == [
        "Mushroom (10 per class), Sleepy failed before (over budget, 9 s); --retry tries it again"
    ]
    assert planned(10.0) == [(1, 2)]


def test_an_interrupted_session_continues_where_it_stopped(tmp_path: Path) -> None:
    """By hand after two runs, and by a power cut in the middle of a line: in the end nothing is amiss."""
    path = tmp_path / "results.jsonl"

    def interrupt(stage: str, done: int = 0, total: int = 0) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Runner(Ledger.open(path), progress=interrupt) as runner:
        runner.run([entry("half")], range(5))
    assert list(Ledger.open(path).runs(MUSHROOM.key, "half")) == [0, 1]
    path.write_bytes(path.read_bytes()[:-9])
    with Runner(Ledger.open(path)) as runner:
        runner.run([entry("half")], range(5))
        ledger = runner.ledger
    assert sorted(line["seed"] for line in ledger.lines if line["kind"] == "run") == [0, 1, 2, 3, 4]
    # the same numbers as without interruption, and another one for each seed
    with Runner(Ledger.open(tmp_path / "whole.jsonl")) as runner:
        runner.run([entry("half")], range(5))
        whole = runner.ledger
    accuracies = [
        [run["accuracy"] for run in book.runs(MUSHROOM.key, "half").values()] for book in (ledger, whole)
    ]
    assert accuracies[0] == accuracies[1]
    assert len(set(accuracies[0])) == 5


def test_missing_data_are_told_once_and_not_kept_as_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PINVGCN_DATA", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PINVGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no network here
    told: list[str] = []
    spec = TaskSpec("covertype45", 10)
    with Runner(Ledger.open(tmp_path / "results.jsonl"), note=told.append) as runner:
        runner.describe([spec])
        runner.run([Entry(spec, Behaves("well")), Entry(spec, Behaves("half")), entry("well")], range(2))
    (message,) = told
    assert message.startswith("Covertype45 left out: covertype/covtype.data.gz is not on this machine")
    assert "https://archive.ics.uci.edu" in message
    assert [line["question"] for line in runner.ledger.lines if line["kind"] == "run"] == [MUSHROOM.key] * 2
    assert not [line for line in runner.ledger.lines if line["kind"] == "failure"]
    assert runner.done == 2  # what is known to be missing is not planned
