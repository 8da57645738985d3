"""Covertype: bins over all rows, then the subsets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pinvgcn.datasets.uci import BOOLEAN, NUMERIC, binned


def hyperedges(X: pd.DataFrame) -> int:
    """Values that occur, and boolean columns that are somewhere true."""
    return sum(X[column].any() if X[column].dtype == bool else X[column].nunique() for column in X)


@pytest.mark.parametrize(
    ("name", "edges", "counts"), [("covertype45", 104, [2747, 9493]), ("covertype67", 125, [17367, 20510])]
)
def test_subsets_have_the_hyperedges_of_the_paper(data_set, name, edges, counts):
    data = data_set(name)
    assert data.X.shape == (sum(counts), 54)
    assert hyperedges(data.X) == edges
    assert np.bincount(data.y).tolist() == counts
    assert data.y.dtype == np.int64
    assert list(data.X.columns) == [*NUMERIC, *BOOLEAN]
    for column in NUMERIC:
        assert isinstance(data.X[column].dtype, pd.CategoricalDtype)
        assert data.X[column].cat.ordered
        assert len(data.X[column].cat.categories) == 10
    for column in BOOLEAN:
        assert data.X[column].dtype == bool


def test_each_row_has_one_area_and_one_soil(data_set):
    X = data_set("covertype67").X
    assert (X[[c for c in BOOLEAN if c.startswith("Wilderness")]].sum(axis=1) == 1).all()
    assert (X[[c for c in BOOLEAN if c.startswith("Soil")]].sum(axis=1) == 1).all()


def test_all_of_covertype_contains_the_subsets(data_set):
    everything, subset = data_set("covertype"), data_set("covertype45")
    assert everything.X.shape == (581_012, 54)
    assert np.bincount(everything.y).tolist() == [211840, 283301, 35754, 2747, 9493, 17367, 20510]
    rows = np.isin(everything.y, [3, 4])
    pd.testing.assert_frame_equal(everything.X[rows].reset_index(drop=True), subset.X)
    assert np.array_equal(everything.y[rows] - 3, subset.y)
    assert subset.target_names == everything.target_names[3:5]


def test_bins_are_half_open_but_for_the_last():
    bins = binned(np.array([0, 9, 10, 11, 99, 100, 50]))
    assert bins.codes.tolist() == [0, 0, 1, 1, 9, 9, 5]
    assert bins.categories[0] == "[0, 10)"
    assert bins.categories[9] == "[90, 100]"


def test_a_value_on_an_edge_goes_up_whatever_the_rounding():
    values = np.arange(-173, 602)  # the range of a real column, whose edges are no exact floats
    codes = binned(values).codes
    low, width = -173, 774
    assert all(
        code == min(10 * (v - low) // width, 9) for v, code in zip(values.tolist(), codes, strict=True)
    )
