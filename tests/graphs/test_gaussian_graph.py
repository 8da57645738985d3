"""Gaussian graphs against all n² weights."""

from __future__ import annotations

import re
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
from pinvgcn.errors import (
    DataError,
    GraphError,
    ParameterError,
    PinvGCNWarning,
    RankWarning,
    ToleranceWarning,
)
from pinvgcn.graphs import automatic_sigma
from pinvgcn.kernels import ExactKernel, FourierKernel, TaylorKernel

every_loop = pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])
without_and_with_loops = pytest.mark.parametrize("loops", [0.0, 1.0])


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


# --------------------------------------------------------------------------------- the graph itself


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 6])
@every_loop
def test_degrees_and_products(dimension: int, loops: float) -> None:
    points = cloud(300, dimension)
    A = gaussian_adjacency(points, 1.5, loops)
    graph = GaussianGraph(points, 1.5, loops=loops)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1), rtol=1e-9)
    N = normalised(A)
    operator = graph.normalized_adjacency
    assert operator.shape == (300, 300)
    np.testing.assert_allclose(operator @ np.eye(300), N, rtol=0, atol=1e-9)
    x = cloud(300, 1)[:, 0]
    np.testing.assert_allclose(operator @ x, N @ x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(operator.rmatvec(x), N @ x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(operator.T @ x, N @ x, rtol=0, atol=1e-9)
    assert len(graph) == graph.n_nodes == 300


@pytest.mark.parametrize(
    ("n", "dimension", "sigma", "kind"),
    [(800, 2, 30.0, TaylorKernel), (2_500, 2, 1.0, FourierKernel), (800, 4, 1.0, ExactKernel)],
)
@without_and_with_loops
def test_degrees_and_products_by_every_kernel(
    n: int, dimension: int, sigma: float, kind: type, loops: float
) -> None:
    points = cloud(n, dimension)
    graph = GaussianGraph(points, sigma, loops=loops)
    assert type(graph.kernel) is kind
    A = gaussian_adjacency(points, sigma, loops)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1), rtol=1e-9, atol=1e-9)
    x = cloud(n, 3, seed=1)
    np.testing.assert_allclose(graph.normalized_adjacency @ x, normalised(A) @ x, rtol=0, atol=1e-9)


def test_precision_is_not_given_away() -> None:
    """A less precise kernel serves where a better one would not fit, never to save a millisecond."""
    for n in (100, 300, 1_000, 2_000):
        for sigma in (0.5, 2.0, 6.0):
            kernel = GaussianGraph(cloud(n, 2), sigma).kernel
            assert kernel.precision <= 1e-11, (n, sigma, kernel)


# -------------------------------------------------------------------------------------- the spectrum


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 6])
@every_loop
def test_dense_spectrum(dimension: int, loops: float) -> None:
    points = cloud(150, dimension)
    graph = GaussianGraph(points, 2.0, loops=loops)
    spectrum = graph.spectrum(8)
    assert spectrum.solver == "dense"
    assert spectrum.rank == 8
    assert spectrum.residuals.max() < 1e-9
    check(spectrum, gaussian_adjacency(points, 2.0, loops))


@pytest.mark.parametrize(("dimension", "sigma"), [(1, 0.5), (2, 1.5), (3, 2.0), (5, 3.0)])
@without_and_with_loops
def test_krylov_spectrum(dimension: int, sigma: float, loops: float) -> None:
    points = cloud(600, dimension)
    spectrum = GaussianGraph(points, sigma, loops=loops).spectrum(8, solver="krylov")
    assert spectrum.solver == "krylov"
    assert spectrum.rank == 8
    assert spectrum.residuals.max() <= 1e-3
    check(spectrum, gaussian_adjacency(points, sigma, loops))


@every_loop
def test_krylov_spectrum_to_eight_digits(loops: float) -> None:
    points = cloud(600, 2)
    spectrum = GaussianGraph(points, 1.5, loops=loops).spectrum(8, solver="krylov", tolerance=1e-8)
    assert spectrum.residuals.max() <= 1e-8
    check(spectrum, gaussian_adjacency(points, 1.5, loops))


@pytest.mark.parametrize(
    ("dimension", "sigma", "loops"),
    [(1, 0.5, 0.0), (1, 0.5, 1.0), (2, 1.5, 0.0), (2, 1.5, 0.5), (2, 1.5, 1.0), (2, 1.5, 2.0), (3, 2.0, 1.0)],
)
def test_krylov_spectrum_from_nufft_products(
    dimension: int, sigma: float, loops: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's way, also where the graph would have taken all pairs."""
    monkeypatch.setattr("pinvgcn.graphs.choice.Problem.by_transforms", True)
    points = cloud(300, dimension)
    graph = GaussianGraph(points, sigma, loops=loops)
    spectrum = graph.spectrum(5, solver="krylov", tolerance=1e-6)
    if loops == 1:  # else the small graph was refined by its whole matrix
        assert isinstance(spectrum.extension.kernel, FourierKernel)
    assert spectrum.rank == 5
    assert spectrum.residuals.max() <= 1e-6
    check(spectrum, gaussian_adjacency(points, sigma, loops))
    np.testing.assert_allclose(spectrum.extend_basis(points), spectrum.basis, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("dimension", "sigma"), [(1, 6.0), (2, 6.0), (3, 20.0), (4, 100.0)])
@every_loop
def test_taylor_spectrum(dimension: int, sigma: float, loops: float) -> None:
    points = cloud(700, dimension)
    rank = 3
    spectrum = GaussianGraph(points, sigma, loops=loops).spectrum(rank, solver="taylor")
    assert spectrum.solver == "taylor"
    assert spectrum.rank == rank
    assert spectrum.residuals.max() <= 1e-3
    check(spectrum, gaussian_adjacency(points, sigma, loops))


def test_every_solver_says_the_same() -> None:
    points = cloud(400, 2)
    graph = GaussianGraph(points, 8.0, loops=1.0)
    dense = graph.spectrum(9, solver="dense")
    for solver in ("krylov", "taylor"):
        other = graph.spectrum(9, solver=solver, tolerance=1e-9)
        np.testing.assert_allclose(other.values, dense.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(other.vectors, dense.vectors, rtol=0, atol=1e-5)  # signs as well


@without_and_with_loops
@pytest.mark.parametrize(("solver", "sigma"), [("dense", 1.0), ("krylov", 1.0), ("taylor", 8.0)])
def test_same_bits_again(solver: str, sigma: float, loops: float) -> None:
    points = cloud(500, 2)
    one, two = (GaussianGraph(points, sigma, loops=loops).spectrum(6, solver=solver) for _ in range(2))
    assert one.basis.tobytes() == two.basis.tobytes()
    assert one.values.tobytes() == two.values.tobytes()


def test_auto_solver() -> None:
    assert GaussianGraph(cloud(900, 2), 1.0).spectrum(2).solver == "dense"
    assert GaussianGraph(cloud(1_200, 2), 20.0).spectrum(2).solver == "taylor"
    assert GaussianGraph(cloud(8_000, 2), 0.3, loops=1.0).spectrum(2).solver == "fourier"
    assert GaussianGraph(cloud(8_000, 2), 0.02, loops=1.0).spectrum(2).solver == "cutoff"
    assert GaussianGraph(cloud(1_200, 6), 1.0).spectrum(2).solver in ("dense", "krylov")


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


@pytest.mark.parametrize(("solver", "sigma"), [("krylov", 1.5), ("taylor", 8.0)])
def test_invariances_of_the_fast_solvers(solver: str, sigma: float) -> None:
    points = cloud(500, 2)
    order = np.random.default_rng(1).permutation(500)
    one = spectrum_of(points, sigma, 1.0, solver)
    compare(one, spectrum_of(points[order], sigma, 1.0, solver), order, atol=1e-5)
    compare(one, spectrum_of(points + 1e6, sigma, 1.0, solver), atol=1e-5)
    compare(one, spectrum_of(points * 1e3, sigma * 1e3, 1.0, solver), atol=1e-5)


# -------------------------------------------------------------------------- ranks that do not exist


@pytest.mark.parametrize("loops", [0.0, 1.0])
@pytest.mark.parametrize("solver", ["dense", "krylov", "taylor"])
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
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_two_points(loops: float, solver: str) -> None:
    points = np.array([[0.0], [1.2]])
    k = np.exp(-(1.2**2))
    spectrum = GaussianGraph(points, 1.0, loops=loops).spectrum(1, solver=solver)
    assert spectrum.values == pytest.approx([1 - (loops - k) / (loops + k)])
    np.testing.assert_allclose(np.abs(spectrum.vectors[:, 0]), np.sqrt(0.5))


@every_loop
@pytest.mark.parametrize("solver", ["dense", "krylov"])
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
@pytest.mark.parametrize("solver", ["dense", "krylov"])
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
@pytest.mark.parametrize("solver", ["dense", "krylov"])
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
    [(60, 2, "dense"), (60, 7, "dense"), (500, 2, "krylov"), (500, 3, "krylov"), (500, 12, "krylov")],
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


# ----------------------------------------------------------------------------------- isolated nodes


@pytest.mark.parametrize("n", [30, 1_200, 3_000])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_isolated_points_are_named_with_a_sigma_that_works(n: int, scale: float) -> None:
    points = cloud(n, 2) * scale
    points[7] = [1e3 * scale, 0]
    graph = GaussianGraph(points, 0.5 * scale)
    with pytest.raises(GraphError) as caught:
        graph.spectrum(2)
    message = str(caught.value)
    assert f"sigma={0.5 * scale:g}" in message
    if scale == 1:
        assert re.search(r"Got \d+ isolated nodes? \(first: node \d+\)", message)
    advised = float(re.search(r"Use sigma=(\S+) or more", message)[1])
    assert advised < 1e4 * scale
    assert (GaussianGraph(points, advised).degrees > 0).all()
    assert GaussianGraph(points, advised).spectrum(1, tolerance=0.1).rank == 1
    assert (GaussianGraph(points, 2 * advised).degrees > 0).all()
    assert (GaussianGraph(points, 0.5 * scale, loops=1.0).degrees >= 1 - 1e-9).all()


def test_no_isolated_point_hides_in_rounding() -> None:
    """Far from its centre a cloud's weights must still be 0 or 1: a loop of 1 − 1e-8 would be an edge."""
    points = np.concatenate([cloud(50, 2), [[1e5, 1e5], [1e5, -1e5]]])
    with pytest.raises(GraphError, match=r"Got 2 isolated nodes \(first: node 50\)"):
        _ = GaussianGraph(points, 1.0).degrees


def test_degrees_below_what_the_kernel_resolves() -> None:
    """Whatever is refused comes with advice that is larger than the sigma that failed."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 500, (2_000, 2))
    graph = GaussianGraph(points, 3.0)
    with pytest.raises(GraphError) as caught:
        _ = graph.degrees
    advised = float(re.search(r"Use sigma=(\S+) or more", str(caught.value))[1])
    assert advised > 3.0
    assert (GaussianGraph(points, advised).degrees > 0).all()


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("sigma", [0, 0.0, -1, -0.5, np.nan, np.inf, True, None, "wide", [1.0], 1j])
def test_sigma_that_is_none(sigma: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(repr(sigma))):
        GaussianGraph(cloud(5, 2), sigma)


@pytest.mark.parametrize("loops", [-1, np.nan, np.inf, True, None, "keep"])
def test_loops_that_are_none(loops: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(repr(loops))):
        GaussianGraph(cloud(5, 2), 1.0, loops=loops)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([[0.0, 1], [np.nan, 2], [3, 4]], "NaN in row 1"),
        ([[0.0, 1], [np.inf, 2], [-np.inf, 4]], "infinity in rows 1 and 2"),
        (np.zeros((0, 3)), r"0 sample\(s\)"),
        (np.zeros((3, 0)), r"0 feature\(s\)"),
        (np.zeros(5), r"shape \(5,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[1.0, 2]], "1 sample"),
        ([[1.0, 2], [3]], "must be numbers"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
        (np.eye(3) * 1j, "Complex"),
        ([[0.0, 1], [1.7976931348623157e308, 2]], r"1\.79769e\+308 .* missing data"),
    ],
)
def test_points_that_are_none(points: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        GaussianGraph(points, 1.0)


@pytest.mark.parametrize("rank", [0, -3, 2.5, True, "all", np.nan])
def test_rank_that_is_none(rank: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(f"Got {rank!r}")):
        GaussianGraph(cloud(5, 2), 1.0).spectrum(rank)


def test_solver_and_tolerance_that_are_none() -> None:
    graph = GaussianGraph(cloud(50, 2), 1.0)
    with pytest.raises(ParameterError, match="'lanczos'"):
        graph.spectrum(2, solver="lanczos")
    for tolerance in (0, -1e-3, np.nan, True):
        with pytest.raises(ParameterError, match="tolerance"):
            graph.spectrum(2, tolerance=tolerance)
    with pytest.raises(ParameterError, match=r"solver='taylor' .* sigma=0\.01 needs more than"):
        GaussianGraph(cloud(50, 2), 0.01, loops=1.0).spectrum(2, solver="taylor")


@pytest.mark.parametrize("sigma", [1e-300, 1e-12, 1e12, 1e300])
def test_absurd_sigmas_do_not_crash(sigma: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PinvGCNWarning)
        spectrum = GaussianGraph(cloud(40, 2), sigma, loops=1.0).spectrum(3)
    assert np.isfinite(spectrum.basis).all()
    assert departure(spectrum.basis) < 1e-8
    assert spectrum.null_vectors.shape[1] == (40 if sigma < 1 else 1)


def test_points_are_not_changed() -> None:
    points = cloud(200, 2)
    before = points.copy()
    GaussianGraph(points, 1.0).spectrum(3, solver="krylov")
    np.testing.assert_array_equal(points, before)


def test_automatic_sigma() -> None:
    points = np.array([[0.0, 0], [3, 4], [-3, -4], [6, 8], [-6, -8]])  # at 0, 5, 5, 10, 10 from the median
    assert GaussianGraph(points).sigma == automatic_sigma(points)
    ratio = automatic_sigma(points) / 5
    assert automatic_sigma(np.vstack([points, points, [[1e6, 1e6]]])) < 3 * ratio * 10  # outliers move little
    mostly_equal = np.vstack([np.zeros((9, 2)), [[10.0, 0]]])
    assert automatic_sigma(mostly_equal) == pytest.approx(ratio * 1.0)  # the mean distance
    assert automatic_sigma(np.ones((4, 2))) == 1.0
    assert (GaussianGraph(cloud(50, 3)).degrees > 0).all()


def test_repr() -> None:
    text = repr(GaussianGraph(cloud(5, 2), 100.0, loops=1.0))
    assert text == "GaussianGraph(5 points in 2 dimensions, sigma=100, loops=1)"


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
