"""Hypergraphs against the dense Laplacian of the paper, eq:hypergraph:laplacian."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from oracles import departure, eigenpairs, sine
from pinvgcn import Hypergraph, Spectrum
from pinvgcn.datasets import Dataset
from pinvgcn.errors import ColumnError, DataError, GraphError, ParameterError, RankWarning, ToleranceWarning


def attributes(n: int, values: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """The incidence matrix of n rows with complete categorical attributes."""
    rng = np.random.default_rng(seed)
    blocks = []
    for count in values:
        column = np.concatenate([np.arange(count), rng.integers(0, count, n - count)])
        rng.shuffle(column)
        blocks.append(column[:, None] == np.arange(count))
    return np.hstack(blocks).astype(float)


def subsets(n: int, edges: int, seed: int = 0) -> np.ndarray:
    """An incidence matrix of random hyperedges, without structure."""
    rng = np.random.default_rng(seed)
    H = (rng.random((n, edges)) < 0.3).astype(float)
    H[np.arange(n), rng.integers(0, edges, n)] = 1
    H[rng.integers(0, n, edges), np.arange(edges)] = 1
    return H


def laplacian(H: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """L = I − D^(−1/2) H W B⁻¹ Hᵀ D^(−1/2)."""
    w = np.ones(H.shape[1]) if w is None else w
    D = np.diag(1 / np.sqrt(H @ w))
    return np.eye(len(H)) - D @ H @ np.diag(w) @ np.diag(1 / H.sum(axis=0)) @ H.T @ D


def check(spectrum: Spectrum, H: np.ndarray, w: np.ndarray | None = None, components: int = 1) -> None:
    """Everything, against the dense Laplacian; the spectrum must be that of full honest rank."""
    L = laplacian(H, w)
    mu, U = eigenpairs(np.eye(len(H)) - L)
    honest = np.linalg.matrix_rank(np.eye(len(H)) - L, tol=1e-9)
    assert spectrum.rank == honest - components
    np.testing.assert_allclose(spectrum.values, 1 - mu[components:honest], rtol=0, atol=1e-9)
    assert departure(spectrum.basis) < 1e-8
    true_residuals = np.linalg.norm(L @ spectrum.vectors - spectrum.vectors * spectrum.values, axis=0)
    np.testing.assert_allclose(spectrum.residuals, true_residuals, rtol=0, atol=1e-12)
    assert true_residuals.max(initial=0) < 1e-7
    assert sine(U[:, :honest], spectrum.basis) < 1e-6
    np.testing.assert_allclose(L @ spectrum.null_vectors, 0, atol=1e-10)


SHAPES = {
    "rows beyond hyperedges": attributes(60, (3, 4, 5)),
    "hyperedges beyond rows": subsets(12, 30),
    "as many": subsets(20, 20),
    "one attribute": attributes(30, (5,)),
    "a constant attribute": attributes(30, (1, 3, 2)),
    "one hyperedge": np.ones((7, 1)),
    "multiplicities": subsets(25, 9) * np.random.default_rng(0).integers(1, 4, (25, 9)),
}
every_shape = pytest.mark.parametrize("H", SHAPES.values(), ids=SHAPES)


def components_of(H: np.ndarray) -> int:
    linked = (H @ H.T > 0).astype(float)
    return int((np.linalg.eigvalsh(np.diag(linked.sum(axis=1)) - linked) < 1e-9).sum())


@every_shape
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["dense", "krylov", "auto"])
def test_spectrum(H: np.ndarray, weighted: bool, solver: str) -> None:
    w = np.random.default_rng(1).uniform(0.2, 3, H.shape[1]) if weighted else None
    graph = Hypergraph(H, weights=w)
    np.testing.assert_allclose(graph.degrees, H @ (np.ones(H.shape[1]) if w is None else w))
    np.testing.assert_allclose(
        graph.normalized_adjacency @ np.eye(len(H)), np.eye(len(H)) - laplacian(H, w), atol=1e-13
    )
    x = np.arange(len(H), dtype=float)
    np.testing.assert_allclose(graph.normalized_adjacency @ x, x - laplacian(H, w) @ x, atol=1e-11)
    spectrum = graph.spectrum(solver=solver)
    check(spectrum, H, w, components_of(H))
    np.testing.assert_allclose(spectrum.extend_basis(H), spectrum.basis, rtol=0, atol=1e-10)


def test_honest_rank_of_complete_attributes() -> None:
    """The hyperedges of a complete attribute sum to ones: each one after the first costs a rank."""
    H = attributes(200, (4, 5, 6))
    assert Hypergraph(H).spectrum().rank == (4 + 5 + 6) - 2 - 1
    H[3, :4] = 0  # one missing value, and the first attribute is complete no more
    assert Hypergraph(H).spectrum().rank == (4 + 5 + 6) - 1 - 1


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_ranks_that_do_not_exist(solver: str) -> None:
    graph = Hypergraph(attributes(200, (4, 5, 6)))
    with pytest.warns(RankWarning, match="rank=14 was asked for and 12 eigenvectors exist") as caught:
        spectrum = graph.spectrum(14, solver=solver)
    assert caught[0].filename == __file__
    assert spectrum.rank == 12
    assert (spectrum.values < 1).all()
    with pytest.warns(RankWarning, match="rank=1000 "):
        assert graph.spectrum(1_000, solver=solver).rank == 12


@every_shape
def test_fewer_pairs_are_the_first_of_all(H: np.ndarray) -> None:
    graph = Hypergraph(H)
    full = graph.spectrum()
    if full.rank > 2:
        few = graph.spectrum(2)
        np.testing.assert_allclose(few.values, full.values[:2], rtol=0, atol=1e-12)
        if full.values[2] - full.values[1] > 1e-6:
            assert sine(full.vectors[:, :2], few.vectors) < 1e-8


@pytest.mark.parametrize(("n", "edges"), [(700, 300), (300, 700)])
def test_krylov_iterates(n: int, edges: int) -> None:
    """Large enough on its smaller side that the iteration is one, on hyperedges and on nodes."""
    graph = Hypergraph(subsets(n, edges))
    rank = 4
    krylov, dense = graph.spectrum(rank, solver="krylov"), graph.spectrum(rank, solver="dense")
    assert (krylov.solver, dense.solver) == ("krylov", "dense")
    np.testing.assert_allclose(krylov.values, dense.values, rtol=0, atol=1e-9)
    assert krylov.residuals.max() <= 1e-8
    assert sine(dense.vectors, krylov.vectors) < 1e-5


def test_rows_and_columns_of_one_matrix_agree() -> None:
    """The |E| × |E| and the n × n problem: the transpose has the same singular values where sums agree."""
    H = attributes(40, (4, 4))
    tall = Hypergraph(H).spectrum()
    wide = Hypergraph(np.hstack([H] * 6)).spectrum()  # each hyperedge six times: 48 > 40
    assert tall.rank == wide.rank
    np.testing.assert_allclose(wide.values, tall.values, rtol=0, atol=1e-10)
    assert sine(tall.vectors, wide.vectors) < 1e-8


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_components(wide: bool, solver: str) -> None:
    """One null vector a component: √degree there, zero elsewhere."""
    make = subsets if wide else attributes
    blocks = [make(8, 15, seed) if wide else make(20, (3, 3), seed) for seed in range(3)]
    H = sp.block_diag(blocks).toarray()
    order = np.random.default_rng(0).permutation(len(H))
    H = H[order]
    spectrum = Hypergraph(H).spectrum(solver=solver)
    check(spectrum, H, components=3)
    member = np.repeat(np.arange(3), len(H) // 3)[order]
    expected = np.sqrt(H.sum(axis=1))[:, None] * (member[:, None] == np.arange(3))
    expected /= np.linalg.norm(expected, axis=0)
    overlap = expected.T @ spectrum.null_vectors
    np.testing.assert_allclose(overlap @ overlap.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.sort(overlap.ravel())[-3:], 1, atol=1e-12)  # each its own, none mixed


def test_same_bits_again() -> None:
    H = subsets(50, 20)
    one, two = (Hypergraph(H).spectrum() for _ in range(2))
    assert one.basis.tobytes() == two.basis.tobytes()


def test_sparse_dense_and_boolean_incidence_are_one() -> None:
    H = attributes(30, (3, 4))
    reference = Hypergraph(H).spectrum()
    for form in (sp.csr_array(H), sp.coo_matrix(H), sp.csc_array(H), H.astype(bool), H.astype(int).tolist()):
        assert Hypergraph(form).spectrum().values.tobytes() == reference.values.tobytes()


def test_the_incidence_is_not_changed() -> None:
    H = sp.csr_array(attributes(30, (3, 4)))
    H = sp.csr_array((np.ones(61), np.append(H.indices, 0), np.append(H.indptr, 61)), shape=(31, 7))
    H.data[::7] = 0  # stored zeros
    before = H.copy()
    Hypergraph(H)
    assert H.nnz == before.nnz
    np.testing.assert_array_equal(H.indptr, before.indptr)
    np.testing.assert_array_equal(H.data, before.data)


# -------------------------------------------------------------------------------------------- tables


@given(st.integers(0, 10**6))
def test_names_of_values_and_order_of_rows_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 3, (25, 3)), columns=["a", "b", "c"]).astype(str)
    one = Hypergraph.from_table(frame, min_size=1).spectrum()
    names = {str(value): name for value, name in enumerate(rng.permutation(["x", "y", "z"]))}
    order = rng.permutation(25)
    renamed = Hypergraph.from_table(frame.replace(names).iloc[order, ::-1], min_size=1).spectrum()
    np.testing.assert_allclose(renamed.values, one.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(renamed.null_vectors, one.null_vectors[order], atol=1e-12)
    for i in range(one.rank):
        others = np.delete(one.values, i)
        if np.abs(others - one.values[i]).min() > 1e-4:
            u, v = one.vectors[order, i], renamed.vectors[:, i]
            sign = 1 if abs((u**3).sum()) > 1e-3 * (np.abs(u) ** 3).sum() else np.sign(u @ v)
            np.testing.assert_allclose(v, sign * u, atol=1e-7)


def test_from_table_passes_its_options_on() -> None:
    frame = pd.DataFrame(
        {"x": [0.0, 1, 2, 3, 4, 9.5], "kind": ["a", "a", "b", "b", None, "c"], "wet": [True, False] * 3}
    )
    graph = Hypergraph.from_table(frame, bins=2, missing="value", min_size=1)
    # x: two bins; kind: a, b, c, missing; wet: True
    expected = np.array(
        [
            [1, 0, 1, 0, 0, 0, 1],
            [1, 0, 1, 0, 0, 0, 0],
            [1, 0, 0, 1, 0, 0, 1],
            [1, 0, 0, 1, 0, 0, 0],
            [1, 0, 0, 0, 0, 1, 1],
            [0, 1, 0, 0, 1, 0, 0],
        ]
    )
    np.testing.assert_array_equal(graph.incidence.toarray(), expected)
    assert graph.n_hyperedges == 7
    assert graph.encoder is not None
    assert len(graph.encoder.names) == 7
    with pytest.raises(GraphError, match=r"1 isolated node \(first: node 5\)"):
        Hypergraph.from_table(frame, bins=2)  # c and the upper bin have one row, and row 5 nothing else
    with pytest.raises(ColumnError, match="tells rows apart"):
        Hypergraph.from_table(pd.DataFrame({"a": ["x"] * 4, "b": ["y"] * 4}))


# ----------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("incidence", "said"),
    [
        ([[1, 0], [0, 0], [0, 1], [0, 0]], r"2 isolated nodes \(first: node 1\)"),
        ([[1, 0], [1, 0]], "none in hyperedge 1"),
        ([[1, -2], [1, 1]], "Got -2"),
        ([[1, np.nan], [1, 1]], "Got nan"),
        ([[1, np.inf], [1, 1]], "Got inf"),
        ([[1, 1j], [1, 1]], "complex"),
        ([["a", "b"]], "must be numbers.*'a'"),
        ([[1, 0], [1]], "must be numbers"),
        (np.ones(4), r"shape \(4,\)"),
        (np.ones((0, 3)), r"shape \(0, 3\)"),
        (np.ones((3, 0)), r"shape \(3, 0\)"),
        (sp.csr_array(np.eye(3) * 1j), "complex"),
    ],
)
def test_incidence_that_is_none(incidence: Any, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        Hypergraph(incidence)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0], r"each of the 3 hyperedges. Got shape \(1,\)"),
        ([1.0, 0, 1], "Got 0"),
        ([1.0, -1, 1], "Got -1"),
        ([1.0, np.nan, 1], "Got nan"),
        ([1.0, np.inf, 1], "Got inf"),
        (["a", "b", "c"], "must be numbers.*'a'"),
        (2.0, r"Got shape \(\)"),
    ],
)
def test_weights_that_are_none(weights: Any, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        Hypergraph(np.ones((4, 3)), weights=weights)


def test_options_that_are_none() -> None:
    graph = Hypergraph(attributes(20, (3, 4)))
    for rank in (0, -1, 2.5, True):
        with pytest.raises(ParameterError, match=re.escape(f"Got {rank!r}")):
            graph.spectrum(rank)
    with pytest.raises(ParameterError, match="'taylor'"):
        graph.spectrum(2, solver="taylor")
    with pytest.raises(ParameterError, match="tolerance"):
        graph.spectrum(2, tolerance=-1.0)


def test_pairs_that_miss_the_tolerance_are_announced() -> None:
    H = subsets(400, 300)
    with pytest.warns(ToleranceWarning, match="miss the tolerance 1e-17"):
        Hypergraph(H).spectrum(3, solver="krylov", tolerance=1e-17)


# -------------------------------------------------------------------------------------- real tables


def test_mushroom(data_set: Callable[[str], Dataset]) -> None:
    graph = Hypergraph.from_table(data_set("mushroom").X)
    assert (graph.n_nodes, graph.n_hyperedges) == (8124, 112)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spectrum = graph.spectrum()
    assert spectrum.rank == 83
    assert spectrum.eigengap == pytest.approx(0.670, abs=1e-3)
    assert spectrum.residuals.max() < 1e-9
    assert departure(spectrum.basis) < 1e-10
    with pytest.warns(RankWarning, match="83 eigenvectors exist"):
        assert graph.spectrum(111).rank == 83


@pytest.mark.parametrize(
    ("name", "edges", "rank", "eigengap"),
    [("covertype45", 104, 92, 0.577), ("covertype67", 125, 112, 0.587)],
)
def test_covertype(
    name: str, edges: int, rank: int, eigengap: float, data_set: Callable[[str], Dataset]
) -> None:
    graph = Hypergraph.from_table(data_set(name).X, min_size=1)
    assert graph.n_hyperedges == edges
    spectrum = graph.spectrum()
    assert spectrum.rank == rank
    assert spectrum.eigengap == pytest.approx(eigengap, abs=1e-3)
    assert spectrum.residuals.max() < 1e-9


def test_rows_of_another_table_are_refused() -> None:
    spectrum = Hypergraph(attributes(20, (3, 4))).spectrum()
    with pytest.raises(DataError, match="7 hyperedges"):
        spectrum.extend(np.ones((2, 6)))
