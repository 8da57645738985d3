"""Distinct rows against numpy on the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinvgcn.graphs import distinct
from pinvgcn.graphs.distinct import distinct_rows, row_hashes

VALUES = st.sampled_from([0.0, 0.0, 1.0, 2.0, -1.0, 1e20, 1e20 + 2**20, 5e-324])


def assert_distinct(A: np.ndarray, found: distinct.Distinct) -> None:
    np.testing.assert_array_equal(A[found.first][found.inverse], A)
    rows, first, counts = np.unique(A, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    np.testing.assert_array_equal(found.first, first[order])
    np.testing.assert_array_equal(found.counts, counts[order])
    assert len(rows) == len(found.first)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=VALUES))
def test_any_matrix(A):
    assert_distinct(A, distinct_rows(sp.csr_array(A)))


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=VALUES))
def test_matrices_side_by_side(A):
    """Dense, sparse or whole: the same rows, with the same hashes."""
    left, right = A[:, ::2], A[:, 1::2]
    joined = sp.csr_array(np.hstack([left, right]))
    for parts in ((left, right), (sp.csr_array(left), right), (left, sp.csr_array(right))):
        for found, whole in zip(distinct_rows(*parts), distinct_rows(joined), strict=True):
            np.testing.assert_array_equal(found, whole)
        np.testing.assert_array_equal(row_hashes(*parts), row_hashes(joined))


def test_rows_that_no_entry_tells_apart():
    A = np.zeros((4, 3))
    assert_distinct(A, distinct_rows(sp.csr_array(A)))


def test_entries_in_any_order():
    A = sp.csr_array(([1.0, 2.0, 2.0, 1.0], [0, 2, 2, 0], [0, 2, 4]), shape=(2, 3))
    assert len(distinct_rows(A).first) == 1
    assert A.indices.tolist() == [0, 2, 2, 0]  # left as it was


def test_entries_that_come_in_parts():
    """Two halves are a whole, and the caller's matrix keeps its halves."""
    A = sp.csr_array(([0.5, 0.5, 1.0, 2.0], [1, 1, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    assert distinct_rows(A).inverse.tolist() == [0, 0, 1]
    assert A.nnz == 4


def test_a_zero_that_is_stored_ends_too():
    A = sp.csr_array(([0.0, 1.0, 1.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
    assert len(distinct_rows(A).first) in (1, 2)


def test_hashes_that_collide_are_drawn_again(monkeypatch):
    """A hash that is blind to values at first: different rows of equal sums are noticed."""
    calls = []
    true = distinct.hash_array

    def blind(values: np.ndarray) -> np.ndarray:
        calls.append(len(values))
        return np.zeros_like(values) if len(calls) == 2 else true(values)

    monkeypatch.setattr(distinct, "hash_array", blind)
    A = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0]])
    assert_distinct(A, distinct_rows(sp.csr_array(A)))
    assert len(calls) == 4  # columns and values, twice


@pytest.mark.parametrize("name", ["mushroom", "covertype67"])
def test_data_sets(data_set, name):
    from pinvgcn import Hypergraph

    graph = Hypergraph.from_table(data_set(name).X, min_size=1)
    assert len(graph.distinct.first) == {"mushroom": 8_124, "covertype67": 15_676}[name]
    assert graph.distinct.counts.sum() == graph.n_nodes
