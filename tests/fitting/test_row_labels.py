"""Labels to learn from and labels to watch."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import DataError, ParameterError
from pinvgcn.fitting.folds import hold_out
from pinvgcn.fitting.labels import RowLabels

Y = np.array(["a"] * 10 + ["b"] * 5 + ["c"] + [None] * 4, dtype=object)[
    np.random.default_rng(0).permutation(20)
]


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


def test_labels_of_weight_zero_are_none():
    keep = (np.arange(20) < 10) | (Y == "c")
    labels = RowLabels.of(Y, 20, sample_weight=np.where(keep, 1.0, 0.0))
    assert labels.rows.tolist() == [row for row in range(20) if keep[row] and Y[row] is not None]
    assert labels.classes.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "weights", [{"class_weight": {"b": 0.0}}, {"sample_weight": np.where(Y == "b", 0.0, 2.0)}], ids=str
)
def test_a_class_whose_labels_all_weigh_nothing(weights):
    """It could never be learned, and would be a class of the model all the same."""
    with pytest.raises(DataError, match=r"Every class needs a labelled row .* Got none for 'b'; raise its"):
        RowLabels.of(Y, 20, **weights)
