"""HyperGCN's graph, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import DataError
from pinvgcn.graphs import Hypergraph, Mediators

RNG = np.random.default_rng(0)
INCIDENCE = np.hstack([RNG.integers(0, 3, (30, 1)) == np.arange(3) for _ in range(3)]).astype(float)


def by_definition(H: np.ndarray, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Hyperedge by hyperedge, pair by pair."""
    A = np.zeros((len(H), len(H)))
    for e, weight in enumerate(weights):
        nodes = np.flatnonzero(H[:, e])
        distance = np.linalg.norm(X[nodes][:, None] - X[nodes][None], axis=2)
        a, b = np.unravel_index(distance.argmax(), distance.shape)
        pairs = {frozenset((nodes[a], nodes[b]))}
        pairs |= {
            frozenset((end, u)) for end in (nodes[a], nodes[b]) for u in nodes if u not in nodes[[a, b]]
        }
        assert len(pairs) == 2 * len(nodes) - 3
        for i, j in pairs:
            A[i, j] += weight / (2 * len(nodes) - 3)
            A[j, i] += weight / (2 * len(nodes) - 3)
    return A


def test_without_ties_it_is_the_definition() -> None:
    X = RNG.normal(size=(30, 4))
    weights = np.linspace(0.5, 2, 9)
    A = Mediators.of(Hypergraph(INCIDENCE, weights), X).adjacency().toarray()
    np.testing.assert_allclose(A, by_definition(INCIDENCE, X, weights), rtol=1e-12)


def test_among_ties_each_seed_draws_a_farthest_pair() -> None:
    graph = Hypergraph(INCIDENCE)
    mediators = Mediators.of(graph)
    distance = np.abs(INCIDENCE[:, None] - INCIDENCE[None]).sum(axis=2)  # squared, of zeros and ones
    for e, ends in enumerate(mediators.farthest):
        nodes = np.flatnonzero(INCIDENCE[:, e])
        longest = distance[np.ix_(nodes, nodes)].max(axis=1)
        np.testing.assert_array_equal(ends, nodes[longest == longest.max()])
    first, again, other = (mediators.adjacency(seed).toarray() for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    for A in (first, other):
        np.testing.assert_allclose(A, A.T)
        assert A.sum() == pytest.approx(2 * 9)  # 2|e| − 3 edges of weight 1/(2|e| − 3), both ways
        assert np.diag(A).sum() == 0


def test_rows_that_are_equal_still_make_edges() -> None:
    H = np.ones((5, 1))
    A = Mediators.of(Hypergraph(H)).adjacency(3).toarray()
    assert np.count_nonzero(A) == 2 * 7
    np.testing.assert_allclose(A[A > 0], 1 / 7)


def test_a_hyperedge_of_one_node_joins_nothing() -> None:
    H = np.array([[1.0, 1], [1, 0], [1, 0]])
    A = Mediators.of(Hypergraph(H)).adjacency().toarray()
    assert A.sum() == pytest.approx(2)


def test_features_of_other_rows() -> None:
    with pytest.raises(DataError, match="features"):
        Mediators.of(Hypergraph(INCIDENCE), np.ones((29, 2)))
