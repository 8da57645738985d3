"""Labels of a fit: which rows have one, and what each weighs."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import DataError
from pinvgcn.experts.labels import RowLabels

Y = np.array(["a"] * 10 + ["b"] * 5 + ["c"] + [None] * 4, dtype=object)[
    np.random.default_rng(0).permutation(20)
]


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
