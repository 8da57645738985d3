"""Held-out estimates, against scikit-learn's figures and counts by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, recall_score

from pinvgcn.tables.heldout import Score, deal, fold_count, held_out, macro_f1, simple_methods


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_scores_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    truth, said = np.array(pairs).T
    confusion = np.zeros((4, 4), dtype=int)
    np.add.at(confusion, (truth, said), 1)
    score = Score("x", confusion, (0.0, 1.0))
    present = np.unique(truth)
    assert score.accuracy == pytest.approx(accuracy_score(truth, said))
    labels = np.union1d(truth, said)
    assert macro_f1(confusion) == pytest.approx(f1_score(truth, said, average="macro", labels=labels))
    assert score.recall[present] == pytest.approx(
        recall_score(truth, said, average=None, labels=present, zero_division=0)
    )


def test_wilsons_interval() -> None:
    """The textbook's: 8 of 10 gives 0.49 to 0.943."""
    low, high = Score("x", np.array([[8, 2], [0, 0]]), (0.0, 1.0)).interval
    assert (low, high) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.943, abs=1e-3))


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=60), st.integers(2, 5), st.integers(0, 9))
def test_labels_are_dealt_class_by_class(labels: list[int], folds: int, seed: int) -> None:
    codes = np.array(labels)
    fold = deal(codes, folds, seed)
    assert (fold[codes < 0] == -1).all()
    for code in range(4):
        mine = fold[codes == code]
        if len(mine) == 1:
            assert mine[0] == -1
        elif len(mine):
            sizes = np.bincount(mine, minlength=folds)
            assert sizes.max() - sizes.min() <= 1


def test_how_many_folds() -> None:
    assert fold_count(np.array([0, 1, 0, 1, -1])) == (2, 2)
    assert fold_count(np.repeat([0, 1], 50)) == (5, 5)
    assert fold_count(np.repeat([0, 1], 20_000)) == (5, 1)


def test_no_method_sees_what_it_is_asked() -> None:
    """A method that repeats the labels it gets, and says 0 elsewhere, finds the rows of class 0 alone."""
    codes = np.repeat([0, 1, 1, -1, 2], 10)
    codes = np.append(codes, 3)

    def repeat(labels: np.ndarray, seed: int) -> np.ndarray:
        assert (labels[codes == -1] == -1).all()
        assert (labels == 3).sum() == 1  # the only one of its class is never hidden
        return np.where(labels < 0, 0, labels)

    result = held_out(codes, 4, {"repeat": repeat, "zero": lambda labels, seed: np.zeros_like(codes)})
    assert result is not None
    assert result.alone == (3,)
    assert result.ours.count == 40
    assert result.ours.accuracy == 0.25
    assert (result.ours.confusion == result.scores[1].confusion).all()
    assert result.best_simple.name == "zero"


def test_nothing_can_be_held_out() -> None:
    assert held_out(np.array([0, 1, -1]), 2, {"x": lambda labels, seed: labels}) is None


def test_simple_methods_on_missing_values_and_text() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(80) < 0.2, np.nan, y + 0.1 * rng.normal(size=80)),
            "empty here": np.where(np.arange(80) < 60, np.nan, 1.0),
            "text": pd.Categorical(np.where(rng.random(80) < 0.3, None, np.where(y == 1, "u", "v"))),
        }
    )
    labels = np.where(np.arange(80) < 60, y, -1)
    for method in simple_methods(frame, "balanced").values():
        assert (method(labels, 0) == y)[60:].mean() > 0.8
