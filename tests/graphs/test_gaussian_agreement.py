"""Every solver against numpy's eigendecomposition, wherever it accepts the case; ``auto`` accepts them all.

Over σ from a hundredth to twice the diameter of a cloud, with and without loops, in one to three
dimensions and on degenerate clouds. What is promised: values to 1e-6, spaces as their gaps allow, residuals
between 1 and 3 times the true ones, orthonormal vectors, an extension that returns them, and no dependence
on order or place.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from oracles import departure, eigenpairs, gaussian_adjacency, normalised, residuals, sine
from pinvgcn import GaussianGraph, Spectrum
from pinvgcn.errors import ParameterError, PinvGCNWarning
from pinvgcn.kernels import ExactKernel

N, RANK = 300, 12
SIGMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0)  # beside the diameter
SOLVERS = ("auto", "taylor", "fourier", "cutoff", "krylov", "dense")
CROWDED = 1e-6  # a Krylov iteration over products takes seconds where λ₁ is below this
without_and_with_loops = pytest.mark.parametrize("loops", [0.0, 1.0])


@pytest.fixture(autouse=True)
def only_short_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three thousand features take seconds; a thousand show the same."""
    monkeypatch.setattr("pinvgcn.graphs.choice.MOST_FEATURES", 1_000)
    monkeypatch.setattr("pinvgcn.spectra.kernel_solvers.MOST_FEATURES", 1_000)


@cache
def clouds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {f"normal-{d}": rng.normal(size=(N, d)) for d in (1, 2, 3)}
    found |= {f"box-{d}": rng.random((N, d)) * np.array([10, 3, 1])[:d] for d in (1, 2, 3)}
    found["plane"] = rng.normal(size=(N, 2)) @ rng.normal(size=(2, 3)) + 5
    found["line"] = rng.normal(size=(N, 1)) @ rng.normal(size=(1, 3))
    found["duplicates"] = np.tile(rng.normal(size=(N // 2, 3)), (2, 1))
    found["outlier"] = np.vstack([[12.0, 0, 0], rng.normal(size=(N - 1, 3))])
    found["map"] = (20 * rng.normal(size=(N, 3)) + [5e5, 5e6, 100]).astype(np.float32).astype(np.float64)
    return found


CLOUDS = [*(f"{kind}-{d}" for kind in ("normal", "box") for d in (1, 2, 3)), "plane", "line", "duplicates"]
CLOUDS += ["outlier", "map"]
every_cloud = pytest.mark.parametrize("name", CLOUDS)


class Truth(NamedTuple):
    sigma: float
    matrix: np.ndarray  # N
    mu: np.ndarray
    U: np.ndarray
    rounding: float  # of a residual


@cache
def truth(name: str, share: float, loops: float) -> Truth | None:
    """None where a degree vanishes."""
    points = clouds()[name]
    sigma = share * float(np.linalg.norm(np.ptp(points, axis=0)))
    A = gaussian_adjacency(points, sigma, loops)
    if (A.sum(axis=1) < 1e-8).any():
        return None
    matrix = normalised(A)
    # without loops d is Σ k − 1, exact to 1e-16 as a number and to 1e-16/d beside its size
    return Truth(sigma, matrix, *eigenpairs(matrix), 1e-12 + 1e-15 / A.sum(axis=1).min())


def solve(points: np.ndarray, sigma: float, loops: float, solver: str, rank: int = RANK) -> Spectrum | None:
    """None where the solver refuses, which it does in one line that says what to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PinvGCNWarning)  # fewer pairs exist above rounding
        try:
            return GaussianGraph(points, sigma, loops=loops).spectrum(rank, solver=solver)
        except ParameterError as error:
            refused = str(error)
    assert re.fullmatch(f"solver='{solver}' does not take this graph: .+; use solver='auto'\\.", refused)
    assert solver not in ("auto", "krylov", "dense")
    return None


def cases(name: str, loops: float) -> Iterator[Truth]:
    found = [case for share in SIGMAS if (case := truth(name, share, loops)) is not None]
    assert len(found) >= 2
    yield from found


def check_subspaces(spectrum: Spectrum, mu: np.ndarray, U: np.ndarray) -> None:
    """A residual ρ turns the space of the first eigenvectors by ρ/gap at most."""
    k = spectrum.components
    gap = mu[k - 1] - mu[k] if k < len(mu) else 0.0
    if gap > 1e-4:
        assert sine(U[:, :k], spectrum.null_vectors) < 1e-7
    for end in range(k, k + spectrum.rank):
        gap = min(mu[end] - mu[end + 1], mu[k - 1] - mu[k])
        if gap > 1e-4:
            angle = sine(U[:, k : end + 1], spectrum.vectors[:, : end + 1 - k])
            assert angle <= 2 * np.linalg.norm(spectrum.residuals) / gap + 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
@every_cloud
@without_and_with_loops
def test_agreement_with_the_dense_matrix(name: str, solver: str, loops: float) -> None:
    points, accepted = clouds()[name], 0
    for sigma, matrix, mu, U, rounding in cases(name, loops):
        if solver == "krylov" and mu[1] > 1 - CROWDED:
            continue
        spectrum = solve(points, sigma, loops, solver)
        if spectrum is None:
            continue
        accepted += 1
        k, r = spectrum.components, spectrum.rank
        np.testing.assert_allclose(1 - spectrum.values, mu[k : k + r], rtol=0, atol=1e-6, err_msg=f"{sigma=}")
        true = residuals(matrix, spectrum.values, spectrum.vectors)
        assert (spectrum.residuals >= true - rounding).all(), sigma
        assert (spectrum.residuals <= 3 * np.maximum(true, rounding)).all(), sigma
        assert departure(spectrum.basis) < 1e-8, sigma
        assert residuals(matrix, np.zeros(k), spectrum.null_vectors).max() < 1e-7, sigma
        np.testing.assert_allclose(spectrum.extend(points), spectrum.vectors, rtol=0, atol=1e-8)
        check_subspaces(spectrum, mu, U)
        # all above the noise is there; u = ±1 at two copies, with μ = −1/d, is no function of position
        noisy = loops == 1 or name == "duplicates"
        clear = int((mu[k : k + RANK] > 1e-8).sum()) if noisy else min(RANK, N - k)
        assert r >= clear, sigma
    assert accepted or solver in ("taylor", "fourier")


def test_krylov_where_eigenvalues_crowd_at_one() -> None:
    """What the loop above leaves out, once."""
    sigma, matrix, mu, _, rounding = truth("box-2", 0.01, 1.0)
    assert mu[1] > 1 - CROWDED
    spectrum = solve(clouds()["box-2"], sigma, 1.0, "krylov")
    k = spectrum.components
    np.testing.assert_allclose(1 - spectrum.values, mu[k : k + RANK], rtol=0, atol=1e-6)
    true = residuals(matrix, spectrum.values, spectrum.vectors)
    assert (spectrum.residuals >= true - rounding).all()
    assert (spectrum.residuals <= 3 * np.maximum(true, rounding)).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("name", "share"), [("normal-1", 0.1), ("box-2", 0.3), ("plane", 1.0), ("map", 1.0)])
@without_and_with_loops
def test_order_and_place_do_not_matter(name: str, share: float, solver: str, loops: float) -> None:
    """Signs included, where an eigenvalue is simple."""
    points = clouds()[name]
    case = truth(name, share, loops)
    one = solve(points, case.sigma, loops, solver, 6)
    order = np.random.default_rng(1).permutation(N)
    moved = points[order] + 1024.0  # exact but for the last digits
    two = solve(moved, case.sigma, loops, solver, 6)
    assert (one is None) == (two is None)
    if one is None:
        return
    np.testing.assert_allclose(two.values, one.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(two.null_vectors, one.null_vectors[order], rtol=0, atol=1e-9)
    lam = np.concatenate([[0], one.values, [1 - case.mu[one.components + one.rank]]])
    for i in range(one.rank):
        gap = min(lam[i + 1] - lam[i], lam[i + 2] - lam[i + 1])
        u, v = one.vectors[order, i], two.vectors[:, i]
        if gap > 1e-3 and abs((u**3).sum()) > 1e-3 * (np.abs(u) ** 3).sum():
            np.testing.assert_allclose(v, u, rtol=0, atol=1e-5)


def true_residuals(points: np.ndarray, sigma: float, loops: float, spectrum: Spectrum) -> np.ndarray:
    """|L u − λ u| with the exact kernel, some rows at a time."""
    kernel = ExactKernel(points, sigma)
    degrees = kernel.product(points, np.ones((len(points), 1))) - (1 - loops)
    U, scale = spectrum.vectors, 1 / np.sqrt(degrees)
    NU = scale * (kernel.product(points, scale * U) - (1 - loops) * scale * U)
    return np.linalg.norm(U - NU - U * spectrum.values, axis=0)


@pytest.mark.parametrize(
    ("n", "dimension", "sigma", "solver"),
    [
        (4_000, 2, 4.0, "taylor"),
        (6_000, 3, 12.0, "taylor"),
        (4_000, 2, 0.6, "fourier"),
        (6_000, 3, 2.5, "fourier"),
        (4_000, 2, 0.6, "krylov"),
        (4_000, 1, 0.03, "cutoff"),
    ],
)
@without_and_with_loops
def test_residuals_of_large_graphs(n: int, dimension: int, sigma: float, solver: str, loops: float) -> None:
    """Found from a sample of rows, yet hardly ever too small, and never far too large."""
    points = np.random.default_rng(2).uniform(-2, 2, size=(n, dimension))
    spectrum = solve(points, sigma, loops, solver, 8)
    assert spectrum.rank == 8
    true = true_residuals(points, sigma, loops, spectrum)
    assert (spectrum.residuals >= true - 1e-11).all()
    assert (spectrum.residuals <= 3 * np.maximum(true, 1e-11)).all()
    assert spectrum.residuals.max() <= 1e-3
    assert departure(spectrum.basis) < 1e-8
    np.testing.assert_allclose(spectrum.extend(points[::7]), spectrum.vectors[::7], rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", ["fourier", "krylov"])
def test_residuals_of_a_large_graph_with_an_outlier(solver: str) -> None:
    """Where a degree is small the error of a kernel is large: 1/√d of it."""
    points = np.random.default_rng(0).normal(size=(5_000, 3))
    points[0] = [9, 0, 0]
    spectrum = solve(points, 2.5, 1.0, solver, 8)
    true = true_residuals(points, 2.5, 1.0, spectrum)
    assert (spectrum.residuals >= true - 1e-11).all()
