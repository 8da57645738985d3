"""Folds of labels: what a member learns from, and what is held out."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import ParameterError
from pinvgcn.fitting.folds import folds_of, hold_out
from pinvgcn.fitting.labels import RowLabels

Y = np.array(["a"] * 10 + ["b"] * 5 + ["c"] + [None] * 4, dtype=object)[
    np.random.default_rng(0).permutation(20)
]


def labels_of(*sizes: int) -> RowLabels:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return RowLabels(np.arange(len(sizes)), 10 * np.arange(len(codes)), codes, None)


class TestFolds:
    @pytest.mark.parametrize("sizes", [(10, 10), (3, 7, 1), (2, 2), (1, 2)])
    @pytest.mark.parametrize("count", [2, 5])
    def test_each_label_is_kept_from_one_learner_but_never_a_whole_class(self, sizes, count):
        labels = labels_of(*sizes)
        folds = folds_of(labels, count, 0)
        assert len(folds) == count
        held = np.concatenate([kept.rows for _, kept in folds if kept is not None])
        alone = [code for code, size in enumerate(sizes) if size == 1]
        assert sorted(held) == sorted(labels.rows[~np.isin(labels.codes, alone)])
        for learned, kept in folds:
            assert set(learned.codes) == set(range(len(sizes)))
            both = [*learned.rows, *([] if kept is None else kept.rows)]
            assert sorted(both) == sorted(labels.rows)

    def test_one_learner_has_them_all(self):
        labels = labels_of(3, 3)
        assert folds_of(labels, 1, 0) == [(labels, None)]


@pytest.mark.parametrize(
    ("share", "held"), [(0.2, {"a": 2, "b": 1}), (0.5, {"a": 5, "b": 2}), (0.99, {"a": 9, "b": 4})]
)
def test_a_share_of_each_class_is_held_out(share, held):
    weights = np.arange(20) + 1.0
    labels = RowLabels.of(Y, 20, sample_weight=weights)
    learn, watch = hold_out(labels, share, seed=3)
    assert sorted([*learn.rows, *watch.rows]) == labels.rows.tolist()
    for part in (learn, watch):
        np.testing.assert_array_equal(part.classes[part.codes], Y[part.rows])
        np.testing.assert_array_equal(part.weights, weights[part.rows])
    names, counts = np.unique(Y[watch.rows].astype(str), return_counts=True)
    assert dict(zip(names, counts, strict=True)) == held
    again, _ = hold_out(labels, share, seed=3)
    np.testing.assert_array_equal(again.rows, learn.rows)


def test_nothing_to_hold_out():
    with pytest.raises(ParameterError, match=r"Got 16 labels and held_out=0\.01"):
        hold_out(RowLabels.of(Y, 20), 0.01, seed=0)
