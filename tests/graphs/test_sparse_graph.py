"""Sparse graphs against their dense matrices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracles import departure, eigenpairs, normalised, residuals, sine
from pinvgcn import SparseGraph, Spectrum
from pinvgcn.datasets import Dataset
from pinvgcn.errors import GraphError, ParameterError, RankWarning, ToleranceWarning


def random_adjacency(n: int, degree: float, seed: int = 0, *, weighted: bool = True) -> np.ndarray:
    """A connected random graph: a path, and edges anywhere."""
    rng = np.random.default_rng(seed)
    A = np.triu((rng.random((n, n)) < degree / n) * (rng.random((n, n)) if weighted else 1.0), 1)
    A[np.arange(n - 1), np.arange(1, n)] += 0.5
    return A + A.T


def scattered(blocks: list[np.ndarray], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A graph with these components, its nodes in random order; and each node's component."""
    A = sp.block_diag(blocks).toarray()
    member = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    order = np.random.default_rng(seed).permutation(len(A))
    return A[np.ix_(order, order)], member[order]


def check(spectrum: Spectrum, A: np.ndarray, member: np.ndarray | None = None) -> None:
    """Null vectors of every component, values, spaces and residuals."""
    member = np.zeros(len(A), dtype=int) if member is None else member
    N, r, k = normalised(A), spectrum.rank, member.max() + 1
    expected = np.sqrt(A.sum(axis=1))[:, None] * (member[:, None] == np.arange(k))
    expected /= np.linalg.norm(expected, axis=0)
    overlap = expected.T @ spectrum.null_vectors
    np.testing.assert_allclose(np.sort(overlap, axis=1)[:, -1], 1, atol=1e-12)  # each its own vector
    np.testing.assert_allclose(overlap @ overlap.T, np.eye(k), atol=1e-12)
    assert (spectrum.null_vectors >= 0).all()
    mu, U = eigenpairs(N)
    np.testing.assert_allclose(spectrum.values, 1 - mu[k : k + r], rtol=0, atol=1e-8)
    assert departure(spectrum.basis) < 1e-8
    true_residuals = residuals(N, spectrum.values, spectrum.vectors)
    np.testing.assert_allclose(spectrum.residuals, true_residuals, rtol=1e-6, atol=1e-12)
    assert true_residuals.max(initial=0) < 1e-6
    if k + r < len(A) and mu[k + r - 1] - mu[k + r] > 1e-3:
        assert sine(U[:, : k + r], spectrum.basis) < 1e-3


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [1, 12])
def test_spectrum(solver: str, weighted: bool, rank: int) -> None:
    A = random_adjacency(400, 3, weighted=weighted)
    graph = SparseGraph(A)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1))
    x = np.random.default_rng(1).normal(size=(400, 3))
    np.testing.assert_allclose(graph.normalized_adjacency @ x, normalised(A) @ x, atol=1e-13)
    np.testing.assert_allclose(graph.normalized_adjacency @ x[:, 0], normalised(A) @ x[:, 0], atol=1e-13)
    spectrum = graph.spectrum(rank, solver=solver)
    assert spectrum.solver == solver
    assert spectrum.rank == rank
    check(spectrum, A)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_components(solver: str) -> None:
    A, member = scattered([random_adjacency(n, 3, seed=n) for n in (5, 150, 2, 90, 120, 7)])
    spectrum = SparseGraph(A).spectrum(10, solver=solver)
    assert spectrum.null_vectors.shape[1] == 6
    check(spectrum, A, member)


def test_equal_components() -> None:
    """Sixty equal rings: every eigenvalue sixty or more times, far more than a block of the iteration."""
    ring = np.roll(np.eye(9), 1, axis=0) + np.roll(np.eye(9), -1, axis=0)
    A, member = scattered([ring] * 60)
    spectrum = SparseGraph(A).spectrum(70, solver="krylov")
    check(spectrum, A, member)
    np.testing.assert_allclose(spectrum.values, 1 - np.cos(2 * np.pi / 9), atol=1e-9)


def test_a_ring_by_its_formula() -> None:
    n = 1_200
    i = np.arange(n)
    graph = SparseGraph.from_edge_index(
        np.stack([np.concatenate([i, (i + 1) % n]), np.concatenate([(i + 1) % n, i])])
    )
    A = graph.spectrum(6, solver="krylov", tolerance=1e-6)
    angles = 2 * np.pi * np.array([1, 1, 2, 2, 3, 3]) / n
    np.testing.assert_allclose(A.values, 1 - np.cos(angles), rtol=1e-4)


def test_bipartite_graph() -> None:
    """Its spectrum is symmetric: N has the eigenvalue −1, and nothing may fold that over to 1."""
    A = np.zeros((220, 220))
    A[:100, 100:] = np.random.default_rng(0).random((100, 120)) < 0.05
    A[np.arange(100), 100 + np.arange(100)] = 1
    A[np.arange(1, 100), 100 + np.arange(99)] = 1
    A[0, 200:] = 1
    A += A.T
    for solver in ("dense", "krylov"):
        check(SparseGraph(A).spectrum(8, solver=solver), A)
    full = SparseGraph(A).spectrum(219)
    assert full.values[-1] == pytest.approx(2.0)


@given(st.integers(0, 10**6))
def test_order_of_nodes_does_not_matter(seed: int) -> None:
    A = random_adjacency(30, 3, seed)
    order = np.random.default_rng(seed).permutation(30)
    one, two = SparseGraph(A).spectrum(8), SparseGraph(A[np.ix_(order, order)]).spectrum(8)
    np.testing.assert_allclose(two.values, one.values, rtol=0, atol=1e-12)
    for i in range(7):
        gap = np.abs(np.delete(one.values, i) - one.values[i]).min()
        u, v = one.vectors[order, i], two.vectors[:, i]
        if gap > 1e-4:
            sign = 1 if abs((u**3).sum()) > 1e-3 * (np.abs(u) ** 3).sum() else np.sign(u @ v)
            np.testing.assert_allclose(v, sign * u, atol=1e-8)


def test_same_bits_again() -> None:
    A = random_adjacency(400, 3)
    for solver in ("dense", "krylov"):
        one, two = (SparseGraph(A).spectrum(5, solver=solver) for _ in range(2))
        assert one.vectors.tobytes() == two.vectors.tobytes()


def test_auto_solver_and_default_rank() -> None:
    assert SparseGraph(random_adjacency(300, 3)).spectrum().rank == 100
    assert SparseGraph(random_adjacency(30, 3)).spectrum().rank == 29
    A = sp.block_diag([random_adjacency(130, 3, seed) for seed in range(8)])
    spectrum = SparseGraph(A).spectrum(3)
    assert spectrum.solver == "krylov"
    assert spectrum.null_vectors.shape[1] == 8


# ----------------------------------------------------------------------------------------------- loops


def test_loops() -> None:
    A = random_adjacency(40, 3)
    with_diagonal = A + np.diag(np.arange(40.0) % 3)
    for loops in (0.0, 1, 2.5):
        expected = A + loops * np.eye(40)
        graph = SparseGraph(with_diagonal, loops=loops)
        np.testing.assert_allclose(graph.adjacency.toarray(), expected)
        np.testing.assert_allclose(graph.degrees, expected.sum(axis=1))
        check(graph.spectrum(6), expected)
    kept = SparseGraph(with_diagonal, loops="keep")
    np.testing.assert_allclose(kept.adjacency.toarray(), with_diagonal)
    check(kept.spectrum(6), with_diagonal)
    np.testing.assert_allclose(SparseGraph(with_diagonal).adjacency.toarray(), A)


def test_loops_join_what_is_alone_to_itself() -> None:
    A, member = scattered([random_adjacency(20, 3), np.zeros((1, 1)), np.zeros((1, 1))])
    with pytest.raises(GraphError, match=r"Got 2 isolated nodes \(first: node \d+\).* loops=1"):
        SparseGraph(A)
    spectrum = SparseGraph(A, loops=1).spectrum(5)
    check(spectrum, A + np.eye(22), member)
    assert spectrum.null_vectors.shape[1] == 3


def test_nothing_but_loops() -> None:
    spectrum = SparseGraph(np.zeros((4, 4)), loops=1).spectrum()
    assert spectrum.null_vectors.shape == (4, 4)
    assert spectrum.rank == 0
    with pytest.warns(RankWarning, match="rank=1 was asked for and 0 eigenvectors exist: 4 nodes in 4 comp"):
        SparseGraph(np.zeros((4, 4)), loops=1).spectrum(1)
    assert SparseGraph(np.ones((1, 1)), loops="keep").spectrum().null_vectors.tolist() == [[1.0]]


def test_stored_zeros_are_no_edges() -> None:
    """Two components that a stored zero seems to join, with every choice of loops."""
    A = sp.coo_array(([1.0, 1, 1, 1, 0, 0], ([0, 1, 2, 3, 1, 2], [1, 0, 3, 2, 2, 1])), shape=(4, 4))
    for loops in (0.0, 1.0, "keep"):
        spectrum = SparseGraph(A, loops=loops).spectrum()
        assert spectrum.null_vectors.shape[1] == 2, loops
        assert spectrum.values.min() > 0.5


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_pieces_that_hardly_touch(solver: str) -> None:
    """λ = 1e-16 is 0 within rounding: another null vector, and the rank that was asked for besides."""
    A, member = scattered([random_adjacency(n, 3, seed=n) for n in (120, 130)])
    i, j = np.flatnonzero(member == 0)[0], np.flatnonzero(member == 1)[0]
    A[i, j] = A[j, i] = 1e-15
    spectrum = SparseGraph(A).spectrum(6, solver=solver)
    assert spectrum.null_vectors.shape[1] == 2
    assert spectrum.rank == 6
    expected = np.sqrt(A.sum(axis=1))[:, None] * (member[:, None] == np.arange(2))
    assert sine(expected / np.linalg.norm(expected, axis=0), spectrum.null_vectors) < 1e-6
    np.testing.assert_allclose(spectrum.values, 1 - eigenpairs(normalised(A))[0][2:8], rtol=0, atol=1e-9)
    assert departure(spectrum.basis) < 1e-8


def test_ranks_that_do_not_exist() -> None:
    A, _ = scattered([random_adjacency(n, 3, seed=n) for n in (10, 12)])
    with pytest.warns(RankWarning, match="rank=21 was asked for and 20 eigenvectors exist") as caught:
        spectrum = SparseGraph(A).spectrum(21)
    assert caught[0].filename == __file__
    assert spectrum.rank == 20


def test_pairs_that_miss_the_tolerance_are_announced() -> None:
    """No pair is this exact."""
    graph = SparseGraph(random_adjacency(400, 3))
    with pytest.warns(ToleranceWarning, match="of 3 eigenpairs miss the tolerance 1e-17") as caught:
        spectrum = graph.spectrum(3, solver="krylov", tolerance=1e-17)
    assert caught[0].filename == __file__
    assert spectrum.residuals.max() > 1e-17


# -------------------------------------------------------------------------------------- edge indices


def test_from_edge_index() -> None:
    edges = np.array([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 3, 0]])
    edges = np.hstack([edges, [[0], [3]]])
    weight = np.array([2.0, 2, 3, 3, 9, 5, 5])
    expected = np.array([[0, 2, 0, 5], [2, 0, 3, 0], [0, 3, 0, 0], [5, 0, 0, 0.0]])
    for form in (edges, edges.tolist(), torch.from_numpy(edges), edges.astype(np.uint8)):
        graph = SparseGraph.from_edge_index(form, weight)
        np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
    np.testing.assert_array_equal(
        SparseGraph.from_edge_index(edges).adjacency.toarray(), (expected > 0).astype(float)
    )
    kept = SparseGraph.from_edge_index(edges, torch.from_numpy(weight)[:, None], loops="keep")
    assert kept.adjacency[3, 3] == 9
    more = SparseGraph.from_edge_index(edges, weight, n_nodes=6, loops=1)
    assert more.n_nodes == 6
    assert more.degrees[5] == 1


@pytest.mark.parametrize(
    ("edges", "options", "said"),
    [
        (np.zeros((3, 4), dtype=int), {}, r"shape \(3, 4\)"),
        (np.zeros((2, 2, 2), dtype=int), {}, r"shape \(2, 2, 2\)"),
        (np.zeros((2, 4)), {}, "float64"),
        ([[0, 1], [1, 5]], {"n_nodes": 3}, "from 0 to 2. Got 0 to 5"),
        ([[0, -1], [-1, 0]], {}, "Got -1 to 0"),
        ([[0, 1], [1, 0]], {"edge_weight": [1.0]}, "each of the 2 edges. Got 1"),
        ([[0, 1], [1, 0]], {"edge_weight": ["a", "b"]}, "edge_weight must be numbers"),
        ([[0, 1], [1, 2]], {}, r"symmetric. Got A\[.*list each edge both ways"),
    ],
)
def test_edge_indices_that_are_none(edges: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(GraphError, match=said):
        SparseGraph.from_edge_index(edges, **options)


def test_number_of_nodes_that_is_none() -> None:
    for n_nodes in (0, -1, 2.5, "many"):
        with pytest.raises(ParameterError, match=re.escape(f"Got {n_nodes!r}")):
            SparseGraph.from_edge_index([[0, 1], [1, 0]], n_nodes=n_nodes)


# ----------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("adjacency", "said"),
    [
        (np.ones((2, 3)), r"square. Got shape \(2, 3\)"),
        (np.ones(4), r"shape \(4,\)"),
        (np.ones((0, 0)), r"shape \(0, 0\)"),
        ([[0, 1], [2, 0]], r"A\[0, 1\] = 1 and A\[1, 0\] = 2|A\[1, 0\] = 2 and A\[0, 1\] = 1"),
        ([[0, 1], [0, 0]], "symmetric"),
        ([[0, -1], [-1, 0]], "Got -1"),
        ([[0, np.nan], [np.nan, 0]], "Got nan"),
        ([[0, np.inf], [np.inf, 0]], "Got inf"),
        ([[0, 1j], [1j, 0]], "complex"),
        ([["a", "b"], ["b", "a"]], "must be numbers"),
        ([[0, 1], [1]], "must be numbers"),
        (sp.csr_array(np.ones((2, 3))), "square"),
        (sp.csr_array(-np.ones((2, 2))), "Got -1"),
        ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], r"1 isolated node \(first: node 2\)"),
        ([[0, 1, 0], [1, 0, 0], [0, 0, 7]], r"1 isolated node \(first: node 2\)"),  # its loop is dropped
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_adjacency_that_is_none(adjacency: Any, said: str, sparse: bool) -> None:
    if sparse:
        try:
            adjacency = sp.csr_array(np.asarray(adjacency, dtype=float))
        except (TypeError, ValueError):
            pytest.skip("has no sparse form")
        if adjacency.ndim != 2:
            pytest.skip("has no sparse form")
    with pytest.raises(GraphError, match=said):
        SparseGraph(adjacency)


def test_rounding_is_no_asymmetry() -> None:
    A = random_adjacency(20, 3)
    SparseGraph(A * (1 + 1e-14 * np.random.default_rng(0).normal(size=A.shape)))
    with pytest.raises(GraphError, match="symmetric"):
        SparseGraph(1e-200 * np.triu(A))  # small is not zero


def test_options_that_are_none() -> None:
    A = random_adjacency(10, 3)
    for loops in (-1, np.nan, True, None):
        with pytest.raises(ParameterError, match=re.escape(repr(loops))):
            SparseGraph(A, loops=loops)
    with pytest.raises(ParameterError, match="'drop'"):
        SparseGraph(A, loops="drop")
    for rank in (0, -1, 2.5, True):
        with pytest.raises(ParameterError, match=re.escape(f"Got {rank!r}")):
            SparseGraph(A).spectrum(rank)
    with pytest.raises(ParameterError, match="'taylor'"):
        SparseGraph(A).spectrum(2, solver="taylor")
    with pytest.raises(ParameterError, match="tolerance"):
        SparseGraph(A).spectrum(2, tolerance=0.0)


def test_the_adjacency_is_not_changed() -> None:
    A = sp.coo_array(([1.0, 1, 1, 1, 0], ([0, 1, 0, 1, 1], [1, 0, 1, 0, 1])), shape=(2, 2)).tocsr()
    A = sp.csr_array((np.append(A.data, []), A.indices, A.indptr), shape=(2, 2))
    before = A.copy()
    for loops in (0.0, 1.0, "keep"):
        graph = SparseGraph(A, loops=loops)
        assert graph.adjacency[0, 1] == 2
        assert A.nnz == before.nnz
        np.testing.assert_array_equal(A.data, before.data)
        np.testing.assert_array_equal(A.indptr, before.indptr)


def test_repr() -> None:
    assert repr(SparseGraph([[0, 1], [1, 0]], loops=1)) == "SparseGraph(2 nodes, 3 edges, loops=1)"


# ---------------------------------------------------------------------------------- citation graphs


@pytest.mark.parametrize(
    ("name", "components", "eigengap", "without"),
    [("cora", 78, 0.0036, 0.0048), ("citeseer", 438, 0.0013, None), ("pubmed", 1, 0.0095, 0.0141)],
)
def test_citation_graphs(
    name: str,
    components: int,
    eigengap: float,
    without: float | None,
    data_set: Callable[[str], Dataset],
) -> None:
    """The paper's components and eigengaps need loops; without them errata 11 has other numbers."""
    adjacency = data_set(name).adjacency
    spectrum = SparseGraph(adjacency, loops=1).spectrum(1)
    assert spectrum.null_vectors.shape[1] == components
    assert spectrum.eigengap == pytest.approx(eigengap, abs=1e-4)
    assert spectrum.residuals.max() <= 1e-6
    if without is not None:
        assert SparseGraph(adjacency).spectrum(1).eigengap == pytest.approx(without, abs=1e-4)
    else:
        with pytest.raises(GraphError, match="Got 48 isolated nodes"):
            SparseGraph(adjacency)


@pytest.mark.slow
def test_rank_500_on_pubmed(data_set: Callable[[str], Dataset]) -> None:
    graph = SparseGraph(data_set("pubmed").adjacency, loops=1)
    spectrum = graph.spectrum(500)
    assert spectrum.solver == "krylov"
    assert spectrum.rank == 500
    assert spectrum.residuals.max() <= 1e-6
    assert departure(spectrum.basis) < 1e-8
    N = graph.normalized_adjacency
    true_residuals = np.linalg.norm(
        spectrum.vectors - N @ spectrum.vectors - spectrum.vectors * spectrum.values, axis=0
    )
    np.testing.assert_allclose(spectrum.residuals, true_residuals, rtol=0, atol=1e-12)
    assert spectrum.values[[0, 99, 499]] == pytest.approx([0.0094805, 0.0485668, 0.1199468], abs=1e-6)
