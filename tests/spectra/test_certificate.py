"""Certificates: the true residual where all rows are seen, hardly less and never far more where some are."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import eigenpairs, gaussian_adjacency, gaussian_kernel, normalised, residuals
from pinvgcn.kernels import Box, ExactKernel, FourierKernel, Kernel
from pinvgcn.spectra import operator as certificate
from pinvgcn.spectra.operator import KernelOperator, measure

every_loop = pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])


def cloud(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 2))


def operator_of(points: np.ndarray, loops: float, kernel: Kernel | None = None) -> KernelOperator:
    kernel = kernel or ExactKernel(points, 1.5)
    sums = kernel.product(points, np.ones((len(points), 1)))[:, 0]
    return KernelOperator(kernel, points, sums - (1 - loops), 1 - loops)


def orthonormal(n: int, r: int, seed: int = 1) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, r)))[0]


@every_loop
def test_all_rows_of_a_small_graph(loops: float) -> None:
    """Of true pairs and of pairs that are deliberately wrong, by a little or altogether."""
    points = cloud(200)
    N = normalised(gaussian_adjacency(points, 1.5, loops))
    mu, U = eigenpairs(N)
    mu, U = mu[1:6].copy(), U[:, 1:6].copy()
    mu[1] += 1e-5
    U[:, 2] += 1e-7 * orthonormal(200, 1)[:, 0]
    U[:, 3] = orthonormal(200, 1, seed=2)[:, 0]
    found, degree_error = measure(operator_of(points, loops), mu, U, None)
    true = residuals(N, 1 - mu, U)
    assert true[0] < 1e-13 < true[2] < true[1] < true[3]
    assert (found >= true).all()
    np.testing.assert_allclose(found, true, rtol=2e-3, atol=5e-15)
    assert degree_error < 1e-12


@every_loop
def test_a_kernel_that_is_wrong_is_found_out(loops: float) -> None:
    """The pairs of a coarse kernel are measured with the exact one, degrees too."""
    points = cloud(200)
    coarse = operator_of(points, loops, FourierKernel(Box.around(points), 1.5, 1e-3))
    scale = 1 / np.sqrt(coarse.degrees)
    mu, U = eigenpairs(coarse(np.eye(200)))
    found, degree_error = measure(coarse, mu[1:5], U[:, 1:5], None)
    A = gaussian_adjacency(points, 1.5, loops)
    true = residuals(normalised(A), 1 - mu[1:5], U[:, 1:5])
    assert true.min() > 1e-6
    np.testing.assert_allclose(found, true, rtol=2e-3)
    assert degree_error == pytest.approx(np.abs(1 / scale**2 / A.sum(axis=1) - 1).max(), rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("loops", [0.0, 1.0])
def test_a_sample_of_rows(seed: int, loops: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 of 1,500 rows: an error that is spread over the nodes is seen within 1 to 3 times its size."""
    n = 1_500
    monkeypatch.setattr(certificate, "ALL_ROWS", 100)
    monkeypatch.setattr(certificate, "PAIRS", 400 * n)
    monkeypatch.setattr(certificate, "CHUNK", 333)
    points = cloud(n, seed)
    operator = operator_of(points, loops)
    U = orthonormal(n, 6, seed)
    mu = np.linspace(0.9, 0.1, 6)
    found, degree_error = measure(operator, mu, U, None)
    scale = 1 / np.sqrt(operator.degrees)
    NU = scale[:, None] * (gaussian_kernel(points, points, 1.5) @ (scale[:, None] * U))
    NU -= (1 - loops) * U / operator.degrees[:, None]
    true = np.linalg.norm(NU - U * mu, axis=0)
    assert (found >= true).all()
    assert (found <= 3 * true).all()
    assert degree_error < 1e-12


def test_no_pairs_have_no_residuals() -> None:
    for n in (50, certificate.ALL_ROWS + 100):
        found, degree_error = measure(operator_of(cloud(n), 1.0), np.zeros(0), np.zeros((n, 0)), None)
        assert found.shape == (0,)
        assert degree_error < 1e-12


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    n = certificate.ALL_ROWS + 100
    operator, U, mu = operator_of(cloud(n), 0.0), orthonormal(n, 3), np.array([0.5, 0.3, 0.1])
    monkeypatch.setattr(certificate, "CHUNK", 500)
    found = set()
    for threads in (1, 2, 5):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        found.add(measure(operator, mu, U, None)[0].tobytes())
    assert len(found) == 1
