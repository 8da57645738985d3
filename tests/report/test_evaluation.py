"""Scores against scikit-learn's, scipy's and the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, f1_score, recall_score

from pinvgcn.report.evaluation import Score, macro_f1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_scores_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, said = np.array(pairs).T
    confusion = np.zeros((4, 4), dtype=int)
    np.add.at(confusion, (truth, said), 1)
    score = Score("x", confusion)
    present = np.unique(truth)
    assert score.count == len(pairs)
    assert score.accuracy == pytest.approx(accuracy_score(truth, said))
    labels = np.union1d(truth, said)
    assert score.macro_f1 == pytest.approx(f1_score(truth, said, average="macro", labels=labels))
    recall = recall_score(truth, said, average=None, labels=present, zero_division=0)
    assert score.recall[present] == pytest.approx(recall)
    assert score.mean_recall == pytest.approx(np.mean(recall))


def test_a_class_without_rows_does_not_count_in_the_mean_recall() -> None:
    score = Score("x", np.array([[2, 0], [0, 0]]))
    assert np.isnan(score.recall[1])
    assert score.mean_recall == 1.0


def test_f1_of_many_matrices_is_that_of_each() -> None:
    many = np.random.default_rng(0).integers(0, 5, (20, 3, 3))
    many[0, 2], many[0, :, 2] = 0, 0  # a class that nobody has seen
    np.testing.assert_allclose(macro_f1(many), [macro_f1(one) for one in many])


@pytest.mark.parametrize(("right", "wrong"), [(8, 2), (20, 0), (0, 5), (500, 37)])
def test_the_interval_is_wilsons(right: int, wrong: int) -> None:
    z, n = 1.959964, right + wrong
    p = right / n
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    interval = Score("x", np.array([[right, wrong], [0, 0]])).interval
    np.testing.assert_allclose(interval, (middle - half, middle + half), atol=1e-7)


def test_the_interval_of_f1_holds_it_and_narrows() -> None:
    few, many = (Score("x", count * np.array([[8, 2], [3, 7]])) for count in (1, 100))
    widths = []
    for score in (few, many):
        low, high = score.f1_interval
        assert low < score.macro_f1 < high
        widths.append(high - low)
    assert widths[1] == pytest.approx(widths[0] / 10, rel=0.2)


def test_accuracy_under_a_prior() -> None:
    score = Score("x", np.array([[9, 1], [5, 5]]))
    share, give = score.accuracy_under(np.array([0.8, 0.2]))
    assert share == pytest.approx(0.8 * 0.9 + 0.2 * 0.5)
    careful = np.array([10 / 12, 6 / 12])
    assert give == pytest.approx(
        1.959964 * np.sqrt((np.array([0.8, 0.2]) ** 2 * careful * (1 - careful) / 10).sum())
    )
    unasked = Score("x", np.array([[9, 1, 0], [5, 5, 0], [0, 0, 0]]))
    assert unasked.accuracy_under(np.array([0.4, 0.1, 0.5]))[0] == pytest.approx(share)


def test_as_plain_numbers() -> None:
    told = Score("x", np.array([[3, 1], [0, 0]])).as_dict()
    assert (told["method"], told["accuracy"], told["recall"]) == ("x", 0.75, [0.75, None])
    exact = binomtest(3, 4).proportion_ci(0.95, method="wilson")
    assert told["accuracy_95"] == [exact.low, exact.high]
