"""Eigenvectors as functions: themselves at the nodes, the closed formula of the design elsewhere."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import eigenpairs, gaussian_adjacency, gaussian_kernel, normalised
from pinvgcn import GaussianGraph, Hypergraph, Spectrum
from pinvgcn.errors import DataError, PinvGCNWarning
from pinvgcn.spectra import KernelExtension

SIGMA, RANK = 6.0, 5
POINTS = np.random.default_rng(0).normal(size=(500, 2))
NEW = np.random.default_rng(1).normal(scale=1.5, size=(80, 2))
SOLVERS = ("dense", "krylov", "taylor", "fourier", "cutoff")
every_solver = pytest.mark.parametrize("solver", SOLVERS)
every_loop = pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])


def formula(new: np.ndarray, loops: float, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u₀(x), u(x) of design 4.3 from exact eigenpairs; and the exact vectors at the nodes."""
    A = gaussian_adjacency(POINTS, SIGMA, loops)
    d = A.sum(axis=1)
    mu, U = eigenpairs(normalised(A))
    mu, U = mu[1 : rank + 1], U[:, 1 : rank + 1]
    k = gaussian_kernel(new, POINTS, SIGMA)
    d_new = k.sum(axis=1) - (1 - loops)
    f = k @ (U / np.sqrt(d)[:, None])
    u = f / (np.sqrt(d_new)[:, None] * (mu + (1 - loops) / d_new[:, None]))
    return np.sqrt(d_new) / np.linalg.norm(np.sqrt(d)), u, U


@every_solver
@every_loop
def test_at_the_nodes_the_vectors_themselves(solver: str, loops: float) -> None:
    graph = GaussianGraph(POINTS, SIGMA, loops=loops)
    spectrum = graph.spectrum(RANK, solver=solver)
    np.testing.assert_allclose(spectrum.extend_basis(POINTS), spectrum.basis, rtol=0, atol=1e-10)
    np.testing.assert_allclose(spectrum.extend(POINTS), spectrum.vectors, rtol=0, atol=1e-10)
    # in any company
    np.testing.assert_allclose(spectrum.extend(POINTS[::-7]), spectrum.vectors[::-7], rtol=0, atol=1e-10)
    np.testing.assert_allclose(spectrum.extend(POINTS[3:4]), spectrum.vectors[3:4], rtol=0, atol=1e-10)


@every_solver
@pytest.mark.parametrize("sigma", [1.0, 6.0, 60.0])
@every_loop
def test_at_the_nodes_even_for_pairs_near_rounding(solver: str, sigma: float, loops: float) -> None:
    """Many pairs, some of them barely above rounding: extension and vectors are still one thing."""
    if solver == "taylor" and sigma < 6:
        pytest.skip("too many features")
    points = POINTS[:300]
    graph = GaussianGraph(points, sigma, loops=loops)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PinvGCNWarning)  # fewer exist, or the last ones are inexact
        spectrum = graph.spectrum(60, solver=solver)
    assert spectrum.rank > 5
    np.testing.assert_allclose(spectrum.extend(points), spectrum.vectors, rtol=0, atol=1e-10)
    np.testing.assert_allclose(spectrum.extend(points[:9]), spectrum.vectors[:9], rtol=0, atol=1e-4)


@pytest.mark.parametrize("sigma", [6.0, 60.0])
@every_loop
def test_one_product_is_the_same_as_two(sigma: float, loops: float) -> None:
    """φᵀ(C T) for (φᵀC) T; with loops, of many pairs, some of them barely above rounding."""
    rank = 60 if loops == 1 else 5  # without, so many pairs would be refined by other means
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PinvGCNWarning)
        spectrum = GaussianGraph(POINTS, sigma, loops=loops).spectrum(rank, solver="taylor", tolerance=0.1)
    extension = spectrum.extension
    assert isinstance(extension, KernelExtension)
    assert extension._turned is not None
    two = extension.functions(NEW) @ extension.transform
    off = np.abs(extension(NEW) - two).max(axis=0) / np.abs(two).max(axis=0)
    assert off.max() < 1e-10


@every_solver
@every_loop
def test_new_points_follow_the_closed_formula(solver: str, loops: float) -> None:
    u0, u, U = formula(NEW, loops, RANK)
    spectrum = GaussianGraph(POINTS, SIGMA, loops=loops).spectrum(RANK, solver=solver, tolerance=1e-8)
    basis = spectrum.extend_basis(NEW)
    assert spectrum.null_vectors.shape[1] == 1
    np.testing.assert_allclose(basis[:, 0], u0, rtol=1e-9)
    signs = np.sign((U * spectrum.vectors).sum(axis=0))
    # without loops the residual is divided by μ + (1 − ℓ)/d, which is small for the last of them
    assert (np.abs(basis[:, 1:] - u * signs).max(axis=0) / np.abs(u).max(axis=0)).max() < 1e-5


def test_new_points_through_any_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum = GaussianGraph(POINTS, SIGMA, loops=1.0).spectrum(RANK)
    whole = spectrum.extend_basis(NEW)
    monkeypatch.setattr("pinvgcn.spectra.extension.CHUNK", 7)
    np.testing.assert_allclose(spectrum.extend_basis(NEW), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("solver", "sigma"), [("taylor", 6.0), ("fourier", 1.0), ("dense", 6.0), ("cutoff", 0.9)]
)
@pytest.mark.alone
def test_memory_is_that_of_a_chunk(solver: str, sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the points take four times the result, and nothing else that grows."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("pinvgcn.spectra.extension.CHUNK", 2_000)
    spectrum = GaussianGraph(POINTS, sigma, loops=1.0).spectrum(RANK, solver=solver)
    beyond = []
    for count in (4_000, 16_000):
        new = np.random.default_rng(2).uniform(-1.5, 1.5, size=(count, 2))
        tracemalloc.start()
        result = spectrum.extend_basis(new)
        beyond.append(tracemalloc.get_traced_memory()[1] - result.nbytes)
        tracemalloc.stop()
    # 24 bytes a point are coordinates and marks of those too far away
    assert beyond[1] < beyond[0] + 24 * 12_000 + 2e5
    assert beyond[1] < 60e6


def test_an_extension_is_continuous() -> None:
    """A point beside a node has nearly the node's values; without loops just as with them."""
    for loops in (0.0, 1.0):
        spectrum = GaussianGraph(POINTS, SIGMA, loops=loops).spectrum(4)
        np.testing.assert_allclose(spectrum.extend(POINTS + 1e-7), spectrum.vectors, rtol=0, atol=1e-6)


# ------------------------------------------------------------------------------------------ tables


def table_spectrum(weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, Spectrum]:
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 4, (50, 3))
    H = np.hstack([groups[:, [j]] == np.arange(4) for j in range(3)]).astype(float)
    w = np.ones(12) if weights is None else weights
    return H, w, Hypergraph(H, weights=weights).spectrum(6)


@pytest.mark.parametrize("weighted", [False, True])
def test_new_rows_by_hand(weighted: bool) -> None:
    """d(h)^(−1/2) h W^(1/2) B^(−1/2) ṽ/σ̃, one entry after the other."""
    H, w, spectrum = table_spectrum(np.linspace(0.5, 2, 12) if weighted else None)
    np.testing.assert_allclose(spectrum.extend(H), spectrum.vectors, rtol=0, atol=1e-12)
    B, d = H.sum(axis=0), H @ w
    scaled = H * np.sqrt(w / B) / np.sqrt(d)[:, None]
    U, sizes, Vt = np.linalg.svd(scaled, full_matrices=False)
    row = np.zeros(12)
    row[[1, 7]] = 1  # two values, and a third that training never saw
    degree = w[1] + w[7]
    for i in range(6):
        v, size = Vt[i + 1], sizes[i + 1]
        by_hand = sum(np.sqrt(w[e] / B[e]) * v[e] / size for e in (1, 7)) / np.sqrt(degree)
        sign = np.sign(U[:, i + 1] @ spectrum.vectors[:, i])
        assert spectrum.extend(row[None])[0, i] == pytest.approx(sign * by_hand, abs=1e-10)
    expected = np.sqrt(degree / d.sum())
    assert spectrum.extend_basis(row[None])[0, 0] == pytest.approx(expected, abs=1e-12)


def test_rows_that_cannot_be_placed() -> None:
    _, _, spectrum = table_spectrum()
    rows = np.eye(12)[:3]
    rows[1] = 0
    with pytest.raises(DataError, match=r"1 of 3 rows have no value .* row 1"):
        spectrum.extend(rows)
    with pytest.raises(DataError, match=r"each of the 12 hyperedges .* shape \(2, 5\)"):
        spectrum.extend(np.ones((2, 5)))


@given(st.integers(0, 10**6))
def test_copies_of_training_rows_have_their_values(seed: int) -> None:
    H, _, spectrum = table_spectrum()
    chosen = np.random.default_rng(seed).integers(0, len(H), 7)
    np.testing.assert_allclose(spectrum.extend_basis(H[chosen]), spectrum.basis[chosen], rtol=0, atol=1e-12)
