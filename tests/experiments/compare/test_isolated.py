"""Methods in processes of their own: the same scores as in one process, and no harm by one that fails."""

from __future__ import annotations

import numpy as np
import pytest
from behaviours import HELD, Behaves

from pinvgcn.datasets import load_dataset
from pinvgcn.errors import TrainingError
from pinvgcn.experiments import compare as job
from pinvgcn.experiments.comparison import Comparison, compare, compare_isolated
from pinvgcn.experiments.methods import BASELINES
from pinvgcn.experiments.task import Task
from pinvgcn.experiments.worker_process import Peak

NAMES = ("well", "fails", "leaves", "warns", "hoards")


@pytest.fixture(scope="module")
def task() -> Task:
    mushroom = load_dataset("mushroom")
    rows = slice(0, 600)
    return Task(
        "mushroom", "Mushroom", "table", mushroom.X.iloc[rows], mushroom.y[rows], mushroom.target_names, 5
    )


@pytest.fixture(scope="module")
def session(task: Task) -> tuple[Comparison, list[str]]:
    """One comparison in which nearly everything goes wrong."""
    lines: list[str] = []
    methods = [*(Behaves(name) for name in NAMES), BASELINES["extra_trees"]]
    result = compare_isolated(task, methods, seeds=(0, 1), progress=lines.append)
    return result, lines


def test_scores_are_those_of_one_process(task: Task, session: tuple[Comparison, list[str]]) -> None:
    apart, _ = session
    together = compare(task, [BASELINES["extra_trees"]], splits=2)
    for there, here in zip(apart.of("extra_trees"), together.scores, strict=True):
        np.testing.assert_array_equal(there.confusion, here.confusion)
    np.testing.assert_array_equal(apart.labels, together.labels)
    np.testing.assert_array_equal(apart.answers["extra_trees"].codes, together.answers["extra_trees"].codes)


def test_who_fails_has_a_reason_and_no_scores(session: tuple[Comparison, list[str]]) -> None:
    result, lines = session
    assert set(result.failures) == {"fails", "leaves"}
    assert result.failures["fails"].startswith("error: ZeroDivisionError: seed one (behaviours.py, line ")
    assert result.failures["leaves"] == "killed: the process ended with exit code 3"
    assert {line.method for line in result.summaries()} == {"well", "warns", "hoards", "extra_trees"}
    assert not set(result.failures) & set(result.answers)
    assert lines[:2] == ["Mushroom, choice 1 of 2: Well", "Mushroom, choice 2 of 2: Well"]


def test_who_takes_too_long_is_ended(task: Task) -> None:
    result = compare_isolated(task, [Behaves("sleepy"), Behaves("well")], seeds=(0, 1), budget=3.0)
    assert result.failures == {"sleepy": "ended after 3 s with 1 of 2 choices of labels done"}
    assert [score.method for score in result.scores] == ["well", "well"]


def test_seconds_and_warnings_come_along(session: tuple[Comparison, list[str]]) -> None:
    result, _ = session
    assert [score.seconds for score in result.of("well")] == [
        {"graph": 2.0, "fit": 0.5 + seed} for seed in (0, 1)
    ]
    assert result.notes() == ["Warns: mind the gap"]  # and none by the trees about their threads


def test_memory_is_that_of_the_method(session: tuple[Comparison, list[str]]) -> None:
    result, _ = session
    memory = {line.method: line.memory for line in result.summaries()}
    assert memory["well"] is not None
    assert memory["hoards"] is not None
    assert memory["well"] < 20e6
    assert HELD <= memory["hoards"] < HELD + 40e6


def test_a_peak_counts_from_when_it_is_made() -> None:
    np.ones(HELD // 8)
    peak = Peak()
    before = peak.bytes()
    np.ones(HELD // 8)
    after = peak.bytes()
    assert before is not None
    assert after is not None
    assert after - before >= 0.9 * HELD or after == before > 0  # where no system forgets, the first hides it


def test_a_comparison_without_a_single_score_is_an_error(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "method_of", lambda name: Behaves("leaves"))
    with pytest.raises(TrainingError, match=r"No method came through. Leaves: killed: the process ended"):
        job.run(job.CompareRequest("mushroom", seeds=(0,), methods=("pinvgcn",)), task)
