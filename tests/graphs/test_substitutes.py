"""Each node and its nearest ones, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.errors import GraphError, ParameterError
from pinvgcn.graphs import Hypergraph, nearest_points, sharing_most, undirected
from pinvgcn.graphs import substitutes as module


def categories(seed: int, n: int, columns: int, values: int = 3) -> np.ndarray:
    """The incidence matrix of a random table."""
    rng = np.random.default_rng(seed)
    H = np.hstack([rng.integers(0, values, (n, 1)) == np.arange(values) for _ in range(columns)])
    return H[:, H.any(axis=0)].astype(float)


def test_nearest_points_are_those_of_all_distances() -> None:
    points = np.random.default_rng(0).normal(size=(80, 3))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    D = nearest_points(points, 7)
    assert D.nnz == 80 * 7
    for i in range(80):
        nearest = np.argsort(distance[i])[1:8]
        found = D.indices[D.indptr[i] : D.indptr[i + 1]]
        assert set(found) == set(nearest)
        np.testing.assert_allclose(D[[i]].toarray().ravel()[found], distance[i, found], rtol=1e-12)


def test_points_that_coincide_are_neighbours_and_no_point_is_its_own() -> None:
    points = np.repeat([[0.0, 0, 0], [5, 0, 0]], 6, axis=0)  # more at a place than k
    D = nearest_points(points, 3)
    row = np.repeat(np.arange(12), 3)
    assert (D.indices != row).all()
    assert (D.indices // 6 == row // 6).all()
    np.testing.assert_array_equal(np.diff(D.indptr), 3)
    np.testing.assert_array_equal(undirected(D, sigma=2.0).data, 1.0)  # a distance of zero is an edge


def test_weights_are_gaussian_and_symmetric() -> None:
    points = np.random.default_rng(1).normal(size=(40, 3))
    D = nearest_points(points, 4)
    A = undirected(D, sigma=1.5).toarray()
    joined = (D.toarray() > 0) | (D.toarray().T > 0)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.testing.assert_allclose(A, np.where(joined, np.exp(-((distance / 1.5) ** 2)), 0), atol=1e-12)
    np.testing.assert_array_equal(undirected(D).toarray(), joined.astype(float))


@given(seed=st.integers(0, 10_000), n=st.integers(12, 50), columns=st.integers(1, 4), k=st.integers(1, 11))
def test_no_row_shares_more_than_those_taken(seed: int, n: int, columns: int, k: int) -> None:
    H = categories(seed, n, columns)
    shared = H @ H.T
    np.fill_diagonal(shared, -1)
    C = sharing_most(Hypergraph(H), k)
    np.testing.assert_array_equal(np.diff(C.indptr), k)
    row = np.repeat(np.arange(n), k)
    assert (C.indices != row).all()
    np.testing.assert_array_equal(C.data, shared[row, C.indices])
    best = -np.sort(-shared, axis=1)[:, :k]
    np.testing.assert_array_equal(-np.sort(-C.data.reshape(n, k), axis=1), best)


def test_the_order_of_distinct_rows_does_not_matter() -> None:
    H = np.unique(categories(3, 200, 5, values=4), axis=0)
    order = np.random.default_rng(0).permutation(len(H))
    C = sharing_most(Hypergraph(H), 6).toarray()
    np.testing.assert_array_equal(sharing_most(Hypergraph(H[order]), 6).toarray(), C[np.ix_(order, order)])


def test_ties_make_no_hubs() -> None:
    """Of 300 rows that are all alike, each takes others: nobody is everybody's neighbour."""
    C = sharing_most(Hypergraph(np.ones((300, 2))), 10)
    assert np.bincount(C.indices, minlength=300).max() < 30  # 10 in the mean; by row number it would be 299


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Hypergraph(categories(5, 120, 4))
    whole = sharing_most(graph, 5).toarray()
    monkeypatch.setattr(module, "ENTRIES", 7 * len(graph.distinct.first))
    np.testing.assert_array_equal(sharing_most(graph, 5).toarray(), whole)


def test_what_cannot_be_joined() -> None:
    with pytest.raises(GraphError, match=r"less than the number of points, 3\. Got 3"):
        nearest_points(np.eye(3), 3)
    with pytest.raises(GraphError, match=r"less than the number of nodes, 4\. Got 9"):
        sharing_most(Hypergraph(np.ones((4, 1))), 9)
    with pytest.raises(ParameterError, match="sigma"):
        undirected(nearest_points(np.eye(3), 1), sigma=-1.0)
