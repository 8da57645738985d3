"""Scores against numbers worked out by hand, and against scikit-learn's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pinvgcn.datasets import Split
from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.experiments.comparison import compare
from pinvgcn.experiments.methods import BASELINES
from pinvgcn.experiments.task import Answer, PreparedMethod, Ready, Task

Y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])


def small_task(per_class: int = 1) -> Task:
    points = np.arange(30, dtype=float).reshape(10, 3)
    return Task("small", "Small", "points", points, Y, ("a", "b", "c"), per_class)


@dataclass(frozen=True)
class Says:
    """A method with a fixed opinion."""

    codes: tuple[int, ...]
    name: str = "says"
    title: str = "Says"
    description: str = "Has an opinion."
    warning: str = ""

    def prepare(self, task: Task) -> PreparedMethod:
        return Ready(task, self.answer)

    def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        if self.warning:
            warnings.warn(self.warning, stacklevel=2)
        return Answer(np.array(self.codes), {"thinking": 0.25 + seed, "speaking": 0.5})


def test_answers_count_on_unlabelled_rows_of_a_known_class() -> None:
    task = replace(small_task(), y=np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, -1]))
    labels = np.array([0, -1, -1, -1, -1, 1, -1, -1, 2, -1])
    codes = np.array([2, 0, 0, 0, 1, 2, 1, 2, 0, 1])
    np.testing.assert_array_equal(task.confusion(labels, codes), [[3, 1, 0], [0, 1, 1], [0, 0, 0]])


def test_the_majority_is_scored_on_the_unlabelled_rows() -> None:
    # one label a class is taken out: 4 of the 7 remaining rows are of the largest class
    result = compare(small_task(), [BASELINES["majority"]], splits=2)
    assert [score.accuracy for score in result.scores] == [pytest.approx(4 / 7)] * 2
    (line,) = result.summaries()
    assert line.accuracy == pytest.approx(4 / 7)
    assert line.accuracy_sd == 0
    assert line.mean_recall == pytest.approx(1 / 3)
    np.testing.assert_allclose(line.recall, [1, 0, 0])


def test_knowing_only_the_given_labels_is_worth_nothing() -> None:
    task = small_task()

    class Parrot(Says):
        def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
            return Answer(np.where(labels == -1, (task.y + 1) % 3, labels), {"fit": 0.0})

    (score,) = compare(task, [Parrot(())], splits=1).scores
    assert score.accuracy == 0
    assert score.confusion.sum() == 7


def test_summaries_average_the_splits_and_put_the_best_first() -> None:
    half, right = Says((0,) * 10, name="half"), Says(tuple(Y), name="right")
    result = compare(small_task(), [half, right], splits=3, random_state=5)
    assert result.seeds == (5, 6, 7)
    best, other = result.summaries()
    assert (best.method, other.method) == ("right", "half")
    assert best.accuracy == 1
    assert best.seconds == {"thinking": pytest.approx(6.25), "speaking": pytest.approx(0.5)}
    assert best.total_seconds == pytest.approx(6.75)


def test_the_spread_is_the_sample_standard_deviation() -> None:
    class Varies(Says):
        def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
            return Answer(np.where(np.arange(10) < 10, task.y if seed else (task.y + 1) % 3, 0), {"fit": 0.0})

    (line,) = compare(small_task(), [Varies(())], splits=2).summaries()
    assert line.accuracy == pytest.approx(0.5)
    assert line.accuracy_sd == pytest.approx(np.sqrt(0.5))  # of 0 and 1, with n − 1


class Knows(Says):
    """Right in the first ``codes[seed]`` of the rows."""

    def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        right = np.arange(10) < self.codes[seed]
        return Answer(np.where(right, task.y, (task.y + 1) % 3), {"fit": 0.0})


def test_the_margin_is_paired_and_against_the_best_other() -> None:
    methods = [Knows((10, 10, 10), name="a"), Knows((0, 10, 0), name="b"), Knows((0, 0, 0), name="c")]
    result = compare(small_task(), methods, splits=3)
    margin = result.margin("a")
    assert margin is not None
    assert (margin.method, margin.other) == ("a", "b")
    assert margin.difference == pytest.approx(2 / 3)  # of 1, 0 and 1
    assert margin.standard_error == pytest.approx(np.std([1, 0, 1], ddof=1) / np.sqrt(3))
    behind = result.margin("c", "macro_f1")
    assert behind is not None
    assert (behind.other, behind.difference, behind.standard_error) == ("a", -1.0, 0.0)


def test_no_margin_without_another_and_no_error_of_one_split() -> None:
    assert compare(small_task(), [Says(tuple(Y))], splits=2).margin("says") is None
    result = compare(small_task(), [Says(tuple(Y)), Says((0,) * 10, name="zero")], splits=1)
    margin = result.margin("says")
    assert margin is not None
    assert margin.standard_error is None


def test_every_method_sees_the_same_labels_and_the_first_answers_are_kept() -> None:
    seen: list[np.ndarray] = []

    class Spy(Says):
        def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
            seen.append(labels.copy())
            return super().answer(task, labels, seed)

    result = compare(small_task(), [Spy(tuple(Y), name="x"), Spy((1,) * 10, name="y")], splits=2)
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], seen[3])
    np.testing.assert_array_equal(result.labels, seen[0])
    known = seen[0] != -1
    np.testing.assert_array_equal(seen[0][known], Y[known])
    assert np.bincount(seen[0][known]).tolist() == [1, 1, 1]
    np.testing.assert_array_equal(result.answers["y"].codes, [1] * 10)


def test_warnings_become_notes_without_repetition() -> None:
    result = compare(small_task(), [Says(tuple(Y), warning="mind\n the gap")], splits=3)
    assert result.notes() == ["Says: mind the gap"]


def test_progress_names_data_split_and_method() -> None:
    lines: list[str] = []
    compare(small_task(), [Says(tuple(Y))], splits=2, progress=lines.append)
    assert lines == ["Small, split 1 of 2: Says", "Small, split 2 of 2: Says"]


def test_the_dictionary_holds_plain_numbers() -> None:
    import json

    numbers = json.loads(json.dumps(compare(small_task(), [Says(tuple(Y))], splits=2).as_dict()))
    assert numbers["class_sizes"] == [5, 3, 2]
    assert numbers["methods"]["says"]["runs"][1]["confusion"] == [[4, 0, 0], [0, 2, 0], [0, 0, 1]]
    assert numbers["methods"]["says"]["recall"] == {"a": 1.0, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize("settings", [{"splits": 0}, {"splits": 1.5}, {"random_state": -1}])
def test_bad_settings(settings: dict) -> None:
    with pytest.raises(ParameterError, match=next(iter(settings))):
        compare(small_task(), [Says(tuple(Y))], **settings)


def test_more_labels_than_a_class_has_rows() -> None:
    with pytest.raises(LabelError, match="per_class = 3"):
        compare(small_task(per_class=3), [Says(tuple(Y))])


def test_the_set_up_is_done_once_and_counts_in_every_run() -> None:
    prepared: list[Task] = []

    class SetsUp(Says):
        def prepare(self, task: Task) -> PreparedMethod:
            prepared.append(task)
            return Ready(task, self.answer, {"graph": 2.0, "thinking": 1.0})

    result = compare(small_task(), [SetsUp(tuple(Y))], splits=3)
    assert len(prepared) == 1
    assert [score.seconds for score in result.scores] == [
        {"graph": 2.0, "thinking": 1.25 + seed, "speaking": 0.5} for seed in range(3)
    ]


def test_a_standard_split_is_seen_in_training_and_scored_on_its_test_rows() -> None:
    split = Split(np.array([0, 5, 8]), np.array([1, 2]), np.array([3, 4, 6, 9]))
    task = replace(small_task(), per_class=None, split=split)
    for seed in range(2):
        np.testing.assert_array_equal(task.labels(seed), [0, -1, -1, -1, -1, 1, -1, -1, 2, -1])
    (score, _) = compare(task, [Says((0,) * 10)], splits=2).scores
    np.testing.assert_array_equal(score.confusion, [[2, 0, 0], [1, 0, 0], [1, 0, 0]])
