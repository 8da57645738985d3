"""Spectra of Gaussian graphs against numpy's eigendecomposition of the whole matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import departure, eigenpairs, gaussian_adjacency, normalised, residuals, sine
from pinvgcn import GaussianGraph, Spectrum
from pinvgcn.datasets import Dataset
from pinvgcn.errors import PinvGCNWarning, RankWarning, ToleranceWarning
from pinvgcn.graphs import automatic_sigma
from pinvgcn.kernels import FourierKernel

every_loop = pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])
without_and_with_loops = pytest.mark.parametrize("loops", [0.0, 1.0])
every_solver = pytest.mark.parametrize("solver", ["dense", "krylov", "taylor", "fourier", "cutoff"])


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimension))


def check(spectrum: Spectrum, A: np.ndarray) -> None:
    """All that a spectrum promises, against numpy's eigendecomposition of the whole matrix."""
    N, r, k = normalised(A), spectrum.rank, spectrum.null_vectors.shape[1]
    mu, U = eigenpairs(N)
    lam = 1 - mu
    assert departure(spectrum.basis) < 1e-8
    true_residuals = residuals(N, spectrum.values, spectrum.vectors)
    np.testing.assert_allclose(spectrum.residuals, true_residuals, rtol=1e-3, atol=1e-9)
    worst = max(true_residuals.max(initial=0), 1e-11)
    excess = spectrum.values - lam[k : k + r]  # a Rayleigh quotient is never too small
    assert excess.min(initial=0) > -1e-10
    assert excess.max(initial=0) < 1e-10 + worst
    assert (np.diff(spectrum.values) >= 0).all()
    root = np.sqrt(A.sum(axis=1))
    if k == 1:
        np.testing.assert_allclose(spectrum.null_vectors[:, 0], root / np.linalg.norm(root), rtol=1e-9)
    assert np.linalg.norm(spectrum.null_vectors - N @ spectrum.null_vectors) < 1e-8
    # spaces of eigenvalues that nothing else is near: a residual ρ turns them by ρ/gap at most
    gaps = np.diff(lam[: k + r + 1])
    for end in range(k, min(k + r, len(A) - 1)):
        gap = min(gaps[end], gaps[k - 1])
        if gap > 100 * worst:
            assert sine(U[:, k : end + 1], spectrum.vectors[:, : end + 1 - k]) <= 10 * worst / gap


@pytest.mark.parametrize(
    ("solver", "n", "dimension", "sigma", "accuracy"),
    [
        *(("dense", 150, dimension, 2.0, 1e-9) for dimension in (1, 2, 3, 4, 6)),
        *(("krylov", 600, *of) for of in ((1, 0.5, 1e-3), (2, 1.5, 1e-8), (3, 2.0, 1e-3), (5, 3.0, 1e-3))),
        *(("taylor", 700, *of, 1e-3) for of in ((1, 6.0), (2, 6.0), (3, 20.0), (4, 100.0))),
    ],
)
@every_loop
def test_spectrum(solver: str, n: int, dimension: int, sigma: float, accuracy: float, loops: float) -> None:
    points = cloud(n, dimension)
    rank, tolerance = (3, None) if solver == "taylor" else (8, None if accuracy == 1e-9 else accuracy)
    asked = "auto" if solver == "dense" else solver
    spectrum = GaussianGraph(points, sigma, loops=loops).spectrum(rank, solver=asked, tolerance=tolerance)
    assert (spectrum.solver, spectrum.rank) == (solver, rank)
    assert spectrum.residuals.max() <= accuracy
    check(spectrum, gaussian_adjacency(points, sigma, loops))


@pytest.mark.parametrize(
    ("dimension", "sigma", "loops"),
    [(1, 0.5, 0.0), (1, 0.5, 1.0), (2, 1.5, 0.0), (2, 1.5, 0.5), (2, 1.5, 1.0), (2, 1.5, 2.0), (3, 2.0, 1.0)],
)
def test_krylov_spectrum_from_nufft_products(
    dimension: int, sigma: float, loops: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's way, also where the graph would have taken all pairs."""
    monkeypatch.setattr("pinvgcn.graphs.choice.KernelProblem.by_transforms", True)
    points = cloud(300, dimension)
    graph = GaussianGraph(points, sigma, loops=loops)
    spectrum = graph.spectrum(5, solver="krylov", tolerance=1e-6)
    if loops == 1:  # else the small graph was refined by its whole matrix
        assert isinstance(spectrum.extension.kernel, FourierKernel)
    assert spectrum.rank == 5
    assert spectrum.residuals.max() <= 1e-6
    check(spectrum, gaussian_adjacency(points, sigma, loops))
    np.testing.assert_allclose(spectrum.extend_basis(points), spectrum.basis, rtol=0, atol=1e-10)


def test_every_solver_says_the_same() -> None:
    points = cloud(400, 2)
    graph = GaussianGraph(points, 8.0, loops=1.0)
    dense = graph.spectrum(9, solver="dense")
    for solver in ("krylov", "taylor", "fourier", "cutoff"):
        other = graph.spectrum(9, solver=solver, tolerance=1e-9)
        np.testing.assert_allclose(other.values, dense.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(other.vectors, dense.vectors, rtol=0, atol=1e-5)  # signs as well


@without_and_with_loops
@pytest.mark.parametrize(
    ("solver", "sigma"),
    [("dense", 1.0), ("krylov", 1.0), ("taylor", 8.0), ("fourier", 1.0), ("cutoff", 0.9)],
)
def test_same_bits_again(solver: str, sigma: float, loops: float) -> None:
    points = cloud(500, 2)
    one, two = (GaussianGraph(points, sigma, loops=loops).spectrum(6, solver=solver) for _ in range(2))
    assert one.basis.tobytes() == two.basis.tobytes()
    assert one.values.tobytes() == two.values.tobytes()


def test_default_rank() -> None:
    assert GaussianGraph(cloud(200, 4), 0.8).spectrum().rank == 60
    assert GaussianGraph(cloud(12, 4), 0.8).spectrum().rank == 11  # all there are, without a warning


# -------------------------------------------------------------------------------------- invariances

seeds = st.integers(0, 10**6)
sizes = st.tuples(st.integers(3, 40), st.integers(1, 4))


def compare(one: Spectrum, two: Spectrum, order: Any = slice(None), atol: float = 1e-7) -> None:
    """The same values, and where they are simple the same vectors, signs included."""
    np.testing.assert_allclose(two.values, one.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(two.null_vectors, one.null_vectors[order], rtol=0, atol=1e-9)
    lam = np.concatenate([[0], one.values, [np.inf]])
    for i in range(one.rank - 1):  # the last one may have a neighbour that was not computed
        u, v = one.vectors[order, i], two.vectors[:, i]
        gap = min(lam[i + 1] - lam[i], lam[i + 2] - lam[i + 1])
        if gap > 1e-4:
            sign = 1 if abs((u**3).sum()) > 1e-3 * (np.abs(u) ** 3).sum() else np.sign(u @ v)
            np.testing.assert_allclose(v, sign * u, rtol=0, atol=atol)


def spectrum_of(points: np.ndarray, sigma: float, loops: float, solver: str) -> Spectrum:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return GaussianGraph(points, sigma, loops=loops).spectrum(6, solver=solver, tolerance=1e-9)


@given(seeds, sizes, st.sampled_from([0.0, 1.0, 0.3]), st.sampled_from(["dense", "krylov"]))
def test_order_of_nodes_does_not_matter(seed: int, size: tuple[int, int], loops: float, solver: str) -> None:
    points = cloud(*size, seed)
    order = np.random.default_rng(seed).permutation(len(points))
    one = spectrum_of(points, 1.7, loops, solver)
    compare(one, spectrum_of(points[order], 1.7, loops, solver), order)


@given(seeds, sizes, st.sampled_from([0.0, 1.0]), st.floats(-1e4, 1e4))
def test_place_does_not_matter(seed: int, size: tuple[int, int], loops: float, shift: float) -> None:
    points = cloud(*size, seed)
    one = spectrum_of(points, 1.7, loops, "dense")
    compare(one, spectrum_of(points + shift, 1.7, loops, "dense"))


@given(seeds, sizes, st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1e6))
def test_unit_of_length_does_not_matter(seed: int, size: tuple[int, int], loops: float, unit: float) -> None:
    points = cloud(*size, seed)
    one = spectrum_of(points, 1.7, loops, "dense")
    compare(one, spectrum_of(points * unit, 1.7 * unit, loops, "dense"))
    assert automatic_sigma(points * unit) == pytest.approx(unit * automatic_sigma(points))


@given(seeds, st.sampled_from([0.0, 1.0]))
def test_rotation_does_not_matter(seed: int, loops: float) -> None:
    points = cloud(30, 3, seed)
    rotation, _ = np.linalg.qr(cloud(3, 3, seed + 1))
    compare(spectrum_of(points, 1.7, loops, "dense"), spectrum_of(points @ rotation, 1.7, loops, "dense"))


@pytest.mark.parametrize(
    ("solver", "sigma"), [("krylov", 1.5), ("taylor", 8.0), ("fourier", 1.5), ("cutoff", 0.9)]
)
def test_invariances_of_the_fast_solvers(solver: str, sigma: float) -> None:
    points = cloud(500, 2)
    order = np.random.default_rng(1).permutation(500)
    one = spectrum_of(points, sigma, 1.0, solver)
    compare(one, spectrum_of(points[order], sigma, 1.0, solver), order, atol=1e-5)
    compare(one, spectrum_of(points + 1e6, sigma, 1.0, solver), atol=1e-5)
    compare(one, spectrum_of(points * 1e3, sigma * 1e3, 1.0, solver), atol=1e-5)


# -------------------------------------------------------------------------- ranks that do not exist


@pytest.mark.parametrize("loops", [0.0, 1.0])
@every_solver
def test_a_huge_sigma_has_few_eigenvectors(solver: str, loops: float) -> None:
    """At σ = 10⁶ radii the kernel is a constant, plus a linear function at the level of rounding."""
    graph = GaussianGraph(cloud(400, 2), 1e6, loops=loops)
    with pytest.warns(RankWarning, match=r"rank=30 was asked for and (\d+) eigenvectors exist"):
        spectrum = graph.spectrum(30, solver=solver)
    assert spectrum.rank < 10
    assert departure(spectrum.basis) < 1e-8
    assert np.abs(spectrum.values - 1).max(initial=0) < 0.01


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_more_than_there_are_nodes(solver: str) -> None:
    graph = GaussianGraph(cloud(20, 3), 1.0)
    with pytest.warns(RankWarning, match="rank=20 was asked for and 19 eigenvectors exist"):
        spectrum = graph.spectrum(20, solver=solver)
    check(spectrum, gaussian_adjacency(cloud(20, 3), 1.0, 0.0))


def test_the_warning_points_at_the_caller() -> None:
    with pytest.warns(RankWarning) as caught:
        GaussianGraph(cloud(20, 3), 1.0).spectrum(20)
    assert caught[0].filename == __file__


def test_pairs_that_miss_the_tolerance_are_announced() -> None:
    """Without loops and with a large σ the high pairs are noise that no function of position follows."""
    graph = GaussianGraph(cloud(300, 2), 6.0)
    with pytest.warns(ToleranceWarning, match="miss the tolerance 1e-14") as caught:
        spectrum = graph.spectrum(12, solver="krylov", tolerance=1e-14)
    assert caught[0].filename == __file__
    N = normalised(gaussian_adjacency(cloud(300, 2), 6.0, 0.0))
    np.testing.assert_allclose(
        spectrum.residuals, residuals(N, spectrum.values, spectrum.vectors), rtol=1e-3, atol=1e-9
    )


# ---------------------------------------------------------------------------------- strange clouds


@every_loop
@every_solver
def test_two_points(loops: float, solver: str) -> None:
    points = np.array([[0.0], [1.2]])
    k = np.exp(-(1.2**2))
    spectrum = GaussianGraph(points, 1.0, loops=loops).spectrum(1, solver=solver)
    assert spectrum.values == pytest.approx([1 - (loops - k) / (loops + k)])
    np.testing.assert_allclose(np.abs(spectrum.vectors[:, 0]), np.sqrt(0.5))


@every_loop
@every_solver
@pytest.mark.parametrize("n", [2, 6, 200])
def test_all_points_equal(n: int, loops: float, solver: str) -> None:
    graph = GaussianGraph(np.full((n, 3), 4.2), loops=loops)
    assert graph.sigma == 1.0
    with pytest.warns(RankWarning):
        spectrum = graph.spectrum(5, solver=solver)
    assert spectrum.rank == 0  # one position: nothing to tell apart
    np.testing.assert_allclose(spectrum.null_vectors, np.sqrt(1 / n), rtol=1e-12)
    assert spectrum.extend_basis(np.full((1, 3), 4.2)) == pytest.approx(np.sqrt(1 / n))


@every_loop
@every_solver
def test_duplicates(loops: float, solver: str) -> None:
    """Copies of a point have equal entries, and there are as many eigenvectors as places, minus one."""
    places = cloud(7, 2)
    points = np.repeat(places, 30, axis=0)
    with pytest.warns(RankWarning):
        spectrum = GaussianGraph(points, 1.0, loops=loops).spectrum(20, solver=solver)
    assert spectrum.rank == 6
    np.testing.assert_allclose(spectrum.vectors, np.repeat(spectrum.vectors[::30], 30, axis=0), atol=1e-7)
    A = gaussian_adjacency(points, 1.0, loops)
    true_residuals = residuals(normalised(A), spectrum.values, spectrum.vectors)
    np.testing.assert_allclose(spectrum.residuals, true_residuals, rtol=1e-3, atol=1e-9)
    assert true_residuals.max() < 1e-3
    assert departure(spectrum.basis) < 1e-8


@pytest.mark.parametrize("loops", [0.0, 1.0])
@every_solver
@pytest.mark.parametrize("span", [1, 2])
def test_points_on_a_line_or_plane(span: int, solver: str, loops: float) -> None:
    flat = cloud(300, span)
    points = flat @ cloud(span, 3, seed=1) + 5
    A = gaussian_adjacency(points, 2.0, loops)
    check(GaussianGraph(points, 2.0, loops=loops).spectrum(4, solver=solver), A)


def pieces(n: int, count: int, dimension: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A cloud in pieces so far apart that no weight between them is a number."""
    rng = np.random.default_rng(0)
    member = np.arange(n) % count
    return rng.normal(size=(n, dimension)) * 0.4 + 100.0 * member[:, None], member


@without_and_with_loops
@pytest.mark.parametrize(
    ("n", "count", "solver"),
    [
        (60, 2, "dense"),
        (60, 7, "dense"),
        (500, 2, "krylov"),
        (500, 3, "krylov"),
        (500, 12, "krylov"),
        (60, 7, "cutoff"),
        (500, 3, "cutoff"),
    ],
)
def test_pieces_far_apart(n: int, count: int, solver: str, loops: float) -> None:
    """One null vector a piece, and the rank that was asked for besides."""
    points, member = pieces(n, count)
    spectrum = GaussianGraph(points, 0.8, loops=loops).spectrum(6, solver=solver)
    assert spectrum.null_vectors.shape[1] == count
    assert spectrum.rank == 6
    A = gaussian_adjacency(points, 0.8, loops)
    expected = np.sqrt(A.sum(axis=1))[:, None] * (member[:, None] == np.arange(count))
    expected /= np.linalg.norm(expected, axis=0)
    accuracy = 1e-8 if solver == "dense" else 1e-3  # the default tolerance
    assert sine(expected, spectrum.null_vectors) < accuracy
    overlap = expected.T @ spectrum.null_vectors  # each lives on one piece, and is positive there
    np.testing.assert_allclose(np.sort(overlap, axis=1)[:, -1], 1, atol=accuracy)
    assert spectrum.eigengap > 0.05
    assert departure(spectrum.basis) < 1e-8
    lam = 1 - eigenpairs(normalised(A))[0]
    np.testing.assert_allclose(spectrum.values, lam[count : count + 6], rtol=0, atol=1e-5)
    np.testing.assert_allclose(spectrum.extend_basis(points), spectrum.basis, rtol=0, atol=1e-10)


def test_every_point_alone_with_loops() -> None:
    points = 1e3 * np.arange(12.0)[:, None]
    with pytest.warns(RankWarning, match="in 12 pieces"):
        spectrum = GaussianGraph(points, 1.0, loops=1.0).spectrum(5)
    assert spectrum.null_vectors.shape == (12, 12)
    assert departure(spectrum.null_vectors) < 1e-12
    assert spectrum.rank == 0


def test_a_weak_link_is_no_null_vector() -> None:
    """Two pieces that do see each other: a small eigenvalue, not a second null vector."""
    points = np.concatenate([cloud(40, 2) * 0.3, cloud(40, 2, 1) * 0.3 + [4.0, 0]])
    spectrum = GaussianGraph(points, 1.0, loops=1.0).spectrum(3)
    assert spectrum.null_vectors.shape[1] == 1
    assert 1e-7 < spectrum.eigengap < 1e-2
    check(spectrum, gaussian_adjacency(points, 1.0, 1.0))


@pytest.mark.parametrize("sigma", [1e-300, 1e-12, 1e12, 1e300])
def test_absurd_sigmas_do_not_crash(sigma: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PinvGCNWarning)
        spectrum = GaussianGraph(cloud(40, 2), sigma, loops=1.0).spectrum(3)
    assert np.isfinite(spectrum.basis).all()
    assert departure(spectrum.basis) < 1e-8
    assert spectrum.null_vectors.shape[1] == (40 if sigma < 1 else 1)


# ---------------------------------------------------------------------------------------- real scans


@pytest.mark.parametrize(
    ("name", "n", "eigengap"), [("oakland1", 36_932, 0.929), ("oakland2", 91_515, 0.872)]
)
def test_oakland(name: str, n: int, eigengap: float, data_set: Callable[[str], Dataset]) -> None:
    graph = GaussianGraph(data_set(name).X, 100.0)
    spectrum = graph.spectrum(2)
    assert graph.n_nodes == n
    assert spectrum.eigengap == pytest.approx(eigengap, abs=1e-3)
    assert spectrum.residuals.max() < 1e-3
    # some degrees, by all their weights
    points = graph.points
    for i in (0, n // 2, n - 1):
        direct = np.exp(-(((points - points[i]) / 100.0) ** 2).sum(axis=1)).sum() - 1
        assert graph.degrees[i] == pytest.approx(direct, rel=1e-9)


def test_oakland_the_paper_s_way(data_set: Callable[[str], Dataset]) -> None:
    """NUFFT products in a Krylov iteration give what the features give."""
    graph = GaussianGraph(data_set("oakland1").X, 100.0)
    krylov, taylor = (graph.spectrum(2, solver=solver) for solver in ("krylov", "taylor"))
    assert krylov.eigengap == pytest.approx(0.929, abs=1e-3)
    np.testing.assert_allclose(krylov.values, taylor.values, rtol=0, atol=1e-5)
    np.testing.assert_allclose(krylov.vectors, taylor.vectors, rtol=0, atol=1e-4)


def test_a_long_corridor_is_one_piece() -> None:
    """Small eigenvalues above the kernel's error are eigenvalues, not further components."""
    points = np.random.default_rng(0).random((6_000, 1))
    spectrum = GaussianGraph(points, 1 / 200, loops=1.0).spectrum(6)
    assert spectrum.components == 1
    exact = GaussianGraph(points, 1 / 200, loops=1.0).spectrum(6, solver="cutoff", tolerance=1e-6)
    np.testing.assert_allclose(spectrum.values, exact.values, rtol=0, atol=1e-6)


def test_krylov_makes_its_series_longer_where_pairs_drown() -> None:
    """At the precision of its first products some of the pairs are below the error of the kernel."""
    points = cloud(3_200, 2)
    graph = GaussianGraph(points, 8.0, loops=1.0)
    spectrum = graph.spectrum(24, solver="krylov")
    truth = graph.spectrum(24, solver="taylor")
    assert spectrum.rank == 24
    assert truth.mu[-1] < 1e-8  # ten times the error of products that are precise to a millionth of 1e-3
    assert (np.abs(spectrum.mu / truth.mu - 1) < 1e-2).all()
    assert spectrum.degree_error <= spectrum.degree_bound < 1e-6


def test_taylor_makes_its_series_longer_for_pairs_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many features that takes, up to the most that the solver accepts."""
    monkeypatch.setattr("pinvgcn.spectra.kernel_solvers.MOST_BY_QR", 20)
    graph = GaussianGraph(cloud(1_100, 2), 8.0, loops=1.0)
    found = graph.spectrum(60, solver="taylor")
    assert found.rank == 60
    assert found.mu[-1] < 1e-12
    assert (found.noise < found.mu).all()
    monkeypatch.setattr("pinvgcn.spectra.kernel_solvers.MOST_FEATURES", 20)
    with pytest.warns(RankWarning):
        assert graph.spectrum(60, solver="taylor").rank < 60


@pytest.mark.parametrize("sigma", [1.5, 10.0])
def test_no_degree_of_a_large_graph_is_wrong_by_more_than_its_bound(sigma: float) -> None:
    """Beyond 3,000 nodes only some degrees are measured; the bound holds for all."""
    points = cloud(4_000, 3)
    points[0] = 4.5  # a node of small degree
    graph = GaussianGraph(points, sigma, loops=1.0)
    spectrum = graph.spectrum(5, solver="fourier")
    true = gaussian_adjacency(points, sigma, 1.0).sum(axis=1)
    kernel = spectrum.extension.kernel  # type: ignore[union-attr]
    found = kernel.product(points, np.ones((4_000, 1)))[:, 0]
    for degrees in (found, graph.degrees):
        assert np.abs(degrees / true - 1).max() <= spectrum.degree_bound < 0.1
