"""Small problems over features against the eigenpairs of P Ĝ P, all n² entries of it."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import eigenpairs, gaussian_kernel, sine
from pinvgcn.kernels import Box, FourierKernel, Kernel, TaylorKernel
from pinvgcn.spectra import kernel_solvers
from pinvgcn.spectra.kernel_solvers import SmoothPairs, fourier_pairs, taylor_pairs
from pinvgcn.spectra.operator import KernelOperator, degree_floor

without_and_with_loops = pytest.mark.parametrize("loops", [0.0, 1.0])


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimension))


def operator_of(kernel: Kernel, points: np.ndarray, loops: float) -> KernelOperator:
    degrees = gaussian_kernel(points, points, kernel.sigma).sum(axis=1) - (1 - loops)
    return KernelOperator(kernel, points, degrees, 1 - loops)


def taylor(points: np.ndarray, sigma: float, loops: float = 1.0, precision: float = 1e-12) -> KernelOperator:
    return operator_of(TaylorKernel(Box.around(points), sigma, precision), points, loops)


def fourier(points: np.ndarray, sigma: float, loops: float = 1.0, precision: float = 1e-12) -> KernelOperator:
    return operator_of(FourierKernel(Box.around(points), sigma, precision), points, loops)


def smooth_truth(operator: KernelOperator) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of P Ĝ P, largest first."""
    scale = 1 / np.sqrt(operator.degrees)
    G = scale[:, None] * gaussian_kernel(operator.points, operator.points, operator.kernel.sigma) * scale
    u0 = operator.null_vector
    P = np.eye(len(u0)) - u0 @ u0.T
    return eigenpairs(P @ G @ P)


def vectors(operator: KernelOperator, pairs: SmoothPairs) -> np.ndarray:
    """u = f/√d at the nodes, without √d itself."""
    values = operator.kernel.evaluate(operator.points, pairs.coefficients, 1 + len(pairs.theta))
    np.testing.assert_allclose(values[:, 0], operator.degrees + operator.missing_loop, rtol=1e-5)
    u0 = operator.null_vector
    U = values[:, 1:] / np.sqrt(operator.degrees)[:, None]
    return U - u0 @ (u0.T @ U)


def check(operator: KernelOperator, pairs: SmoothPairs, rank: int) -> None:
    theta, U = smooth_truth(operator)
    assert len(pairs.theta) == rank
    assert (np.diff(pairs.theta) <= 0).all()
    # the noise is a bound, and no empty one
    assert (np.abs(pairs.theta - theta[:rank]) <= pairs.noise + 1e-15).all()
    assert (pairs.noise < 1e-2 * pairs.theta[0]).all()
    found = vectors(operator, pairs)
    for end in range(1, rank + 1):
        gap = theta[end - 1] - theta[end]
        if gap > 1e-5:
            Q, _ = np.linalg.qr(found[:, :end])
            assert sine(U[:, :end], Q) < 1e-9 / gap


@pytest.mark.parametrize(("dimension", "sigma"), [(1, 3.0), (2, 4.0), (3, 8.0)])
@without_and_with_loops
def test_taylor_pairs(dimension: int, sigma: float, loops: float) -> None:
    operator = taylor(cloud(300, dimension), sigma, loops)
    check(operator, taylor_pairs(operator, 5), 5)


@pytest.mark.parametrize("n_chunks", [1, 2])
def test_small_eigenvalues_by_qr_where_the_gram_matrix_has_no_digits(
    n_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """θ down to 1e-16 of the largest, to a few digits: σ_i² of S = P D^(−1/2) Φ, the truth by its SVD."""
    if n_chunks > 1:
        monkeypatch.setattr("pinvgcn.kernels.taylor.CHUNK_ENTRIES", 1)
    points = cloud(500, 1)
    operator = taylor(points, 6.0, precision=1e-19)
    assert isinstance(operator.kernel, TaylorKernel)
    scaled = operator.kernel.features(points, 1 / np.sqrt(operator.degrees)).T
    u0 = operator.null_vector
    S = scaled - u0 @ (u0.T @ scaled)
    theta = np.linalg.svd(S, compute_uv=False) ** 2
    rank = int((theta > 1e-16 * theta[0]).sum())
    pairs = taylor_pairs(operator, rank)
    assert pairs.theta[-1] < kernel_solvers.GRAM_DIGITS * pairs.theta[0]
    np.testing.assert_allclose(pairs.theta, theta[:rank], rtol=1e-4)
    assert (np.abs(pairs.theta - theta[:rank]) <= pairs.noise).all()
    assert (pairs.noise - pairs.cut < pairs.theta).all()  # what would drown in its noise is not returned
    # made orthonormal by nothing but the small problem
    U = vectors(operator, pairs)
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), 1, rtol=1e-4)


def test_gram_and_qr_find_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = taylor(cloud(400, 2), 4.0)
    gram = taylor_pairs(operator, 9)
    monkeypatch.setattr(kernel_solvers, "GRAM_DIGITS", np.inf)
    qr = taylor_pairs(operator, 9)
    np.testing.assert_allclose(qr.theta, gram.theta, rtol=0, atol=1e-14)
    assert (qr.noise <= gram.noise + 1e-15)[gram.theta < 1e-3].all()
    one, two = vectors(operator, gram), vectors(operator, qr)
    signs = np.sign((one * two).sum(axis=0))
    np.testing.assert_allclose(two * signs, one, rtol=0, atol=1e-8)


def test_the_cut_is_what_the_series_leaves_out() -> None:
    """A short series misses eigenvalues by no more than ``cut``."""
    points = cloud(300, 2)
    for precision in (1e-2, 1e-4, 1e-8):
        operator = taylor(points, 3.0, precision=precision)
        pairs = taylor_pairs(operator, 6)
        theta, _ = smooth_truth(operator)
        error = np.abs(pairs.theta - theta[:6])
        assert (error <= pairs.cut + 1e-14).all()
        assert pairs.cut <= precision * (1 / operator.degrees).sum() * (1 + 1e-9)
        assert error.max() > 1e-4 * pairs.cut


def test_more_pairs_than_features() -> None:
    operator = taylor(cloud(50, 1), 1e3)
    assert isinstance(operator.kernel, TaylorKernel)
    pairs = taylor_pairs(operator, 40)
    assert 1 <= len(pairs.theta) < operator.kernel.n_features <= 6


def test_all_points_equal_have_no_pairs() -> None:
    points = np.full((20, 3), 1.5)
    for operator, found in (
        (taylor(points, 1.0), taylor_pairs(taylor(points, 1.0), 3)),
        (fourier(points, 1.0), fourier_pairs(fourier(points, 1.0), 3, tolerance=1e-6, random_state=0)),
    ):
        assert len(found.theta) == 0
        sums = operator.kernel.evaluate(points, found.coefficients, 1)
        np.testing.assert_allclose(sums, 20, rtol=1e-9)


@pytest.mark.parametrize(("dimension", "sigma"), [(1, 0.3), (2, 1.0), (3, 8.0)])
@without_and_with_loops
@pytest.mark.parametrize("way", ["dense", "krylov"])
def test_fourier_pairs(
    dimension: int, sigma: float, loops: float, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The small problem whole, or by an iteration over FFTs."""
    monkeypatch.setattr(kernel_solvers, "DENSE_MODES", 0 if way == "krylov" else 10_000)
    points = cloud(200, dimension)
    operator = fourier(points, sigma, loops, precision=1e-12 if dimension < 3 else 1e-6)
    rank = 6 if dimension < 3 else 3
    pairs = fourier_pairs(operator, rank, tolerance=1e-9, random_state=0)
    theta, U = smooth_truth(operator)
    np.testing.assert_allclose(pairs.theta, theta[:rank], rtol=0, atol=operator.noise)
    assert (pairs.noise == operator.noise).all()
    Q, _ = np.linalg.qr(vectors(operator, pairs))
    assert sine(U[:, :rank], Q) < 10 * operator.noise / (theta[rank - 1] - theta[rank]) + 1e-7


def test_fourier_pairs_from_any_seed() -> None:
    operator = fourier(cloud(300, 2), 0.6)
    found = [fourier_pairs(operator, 5, tolerance=1e-8, random_state=seed) for seed in (0, 0, 1)]
    assert found[0].coefficients.tobytes() == found[1].coefficients.tobytes()
    np.testing.assert_allclose(found[2].theta, found[0].theta, rtol=0, atol=1e-9)


@pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])
def test_the_operator_itself(loops: float) -> None:
    """N = D^(−1/2) (G − (1 − ℓ) I) D^(−1/2), and Ĝ without the loops."""
    operator = taylor(cloud(80, 2), 3.0, loops)
    G = gaussian_kernel(operator.points, operator.points, 3.0)
    scale = 1 / np.sqrt(operator.degrees)
    X = cloud(80, 3, seed=1)
    smooth = scale[:, None] * G * scale
    np.testing.assert_allclose(operator.smooth(X), smooth @ X, rtol=0, atol=1e-10)
    N = scale[:, None] * (G - (1 - loops) * np.eye(80)) * scale
    np.testing.assert_allclose(operator(X), N @ X, rtol=0, atol=1e-10)
    np.testing.assert_allclose(operator(operator.null_vector), operator.null_vector, rtol=0, atol=1e-10)
    assert np.linalg.norm(operator.null_vector) == pytest.approx(1)


def test_the_floor_of_a_degree() -> None:
    assert degree_floor(100, 1e-15) == 1e-10
    assert degree_floor(10_000, 1e-9) == pytest.approx(1e-4)


def test_pairs_that_the_gram_matrix_loses_are_found_by_the_qr_of_any_number_of_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond MOST_BY_QR features digits are not worth a QR, but pairs are."""
    operator = taylor(cloud(300, 2), 15.0, precision=1e-18)
    few = taylor_pairs(operator, 34)
    assert len(few.theta) == 34
    assert few.theta[-1] < 2e-15 * few.theta[0]  # where a Gram matrix has rounding only
    monkeypatch.setattr(kernel_solvers, "MOST_BY_QR", 10)
    many = taylor_pairs(operator, 34)
    np.testing.assert_array_equal(many.theta, few.theta)
    few = taylor_pairs(operator, 12)  # nothing is lost: no QR, and fewer digits
    assert len(few.theta) == 12
    assert (few.theta != many.theta[:12]).any()
