"""The iterations against numpy's eigendecomposition of the whole matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import departure, eigenpairs, sine
from pinvgcn.spectra import dense_eigenpairs, heat_eigenpairs, krylov_eigenpairs
from pinvgcn.spectra.eigenpairs import BLOCK, KrylovResult, _heat, space_size


def symmetric(spectrum: np.ndarray, seed: int = 0) -> np.ndarray:
    """A random symmetric matrix with these eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(spectrum), len(spectrum))))
    return (Q * spectrum) @ Q.T


def some_vectors(n: int, k: int, seed: int = 1) -> np.ndarray:
    """k orthonormal vectors."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, k)))[0]


def truth(matrix: np.ndarray, deflate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenpairs in the complement of the deflated space, from an orthonormal basis of it."""
    basis = scipy.linalg.null_space(deflate.T) if deflate.size else np.eye(len(matrix))
    mu, U = eigenpairs(basis.T @ matrix @ basis)
    return mu, basis @ U


def krylov(matrix: np.ndarray, rank: int, *, tolerance: float = 1e-10, **options: Any) -> KrylovResult:
    options.setdefault("deflate", np.zeros((len(matrix), 0)))
    return krylov_eigenpairs(
        matrix.__matmul__,
        len(matrix),
        rank,
        tolerance=lambda theta: np.full_like(theta, tolerance),
        **options,
    )


def check(
    found: KrylovResult, matrix: np.ndarray, rank: int, deflate: np.ndarray | None = None, atol: float = 1e-9
) -> None:
    """Right values and spaces, orthonormal vectors, residuals that are true."""
    deflate = np.zeros((len(matrix), 0)) if deflate is None else deflate
    mu, U = truth(matrix, deflate)
    np.testing.assert_allclose(found.values, mu[:rank], rtol=0, atol=atol)
    assert departure(np.hstack([deflate, found.vectors])) < 1e-10
    product = matrix @ found.vectors
    product -= deflate @ (deflate.T @ product)
    true_residuals = np.linalg.norm(product - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, true_residuals, rtol=1e-3, atol=1e-12)
    if rank < len(mu):
        gap = mu[rank - 1] - mu[rank]
        if gap > 1e-6:
            assert sine(U[:, :rank], found.vectors) < 10 * max(true_residuals.max() / gap, 1e-12)


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([0, 1, 7]))
def test_random_matrices_with_deflation(seed: int, rank: int, k: int) -> None:
    n = 200
    matrix = symmetric(np.random.default_rng(seed).uniform(-1, 1, n), seed)
    deflate = some_vectors(n, k, seed)
    found = krylov(matrix, rank, deflate=deflate)
    assert found.converged.all()
    check(found, matrix, rank, deflate)


def test_deflated_eigenvectors_are_not_found_again() -> None:
    spectrum = np.concatenate([[1.0, 1.0, 0.9], np.linspace(-0.5, 0.8, 297)])
    matrix = symmetric(spectrum)
    _, U = eigenpairs(matrix)
    found = krylov(matrix, 5, deflate=U[:, :3])
    np.testing.assert_allclose(found.values, np.sort(spectrum)[::-1][3:8], atol=1e-10)


def test_restarts() -> None:
    """A spectrum without gaps: one Krylov space of the largest size is far from enough."""
    n, rank = 600, 20
    matrix = symmetric(np.linspace(-1, 1, n) ** 3)
    found = krylov(matrix, rank, tolerance=1e-8)
    assert found.products > 3 * space_size(rank)
    assert found.converged.all()
    check(found, matrix, rank)


@pytest.mark.parametrize("multiplicity", [3, BLOCK, BLOCK + 1, 5 * BLOCK])
def test_multiple_eigenvalues(multiplicity: int) -> None:
    """A block Krylov space holds at most BLOCK vectors of an eigenvalue; the others must be found too."""
    n, rank = 500, 40
    spectrum = np.concatenate([np.full(multiplicity, 0.9), np.full(multiplicity, 0.7), [0.95, 0.8]])
    spectrum = np.concatenate([spectrum, np.random.default_rng(2).uniform(-1, 0.5, n - len(spectrum))])
    matrix = symmetric(spectrum)
    found = krylov(matrix, rank)
    assert found.converged.all()
    check(found, matrix, rank)


def test_a_matrix_with_few_eigenvalues() -> None:
    """The Krylov space is exhausted at once, and the iteration goes on in the rest of the space."""
    n = 400
    spectrum = np.repeat([1.0, 0.5, -0.25, 0.0], n // 4)
    found = krylov(symmetric(spectrum), 60)
    np.testing.assert_allclose(found.values, 1.0, atol=1e-12)
    assert departure(found.vectors) < 1e-10


def test_low_rank_matrix() -> None:
    """Less rank than was asked for: what is left over are zeros, and true eigenvectors of zero."""
    spectrum = np.zeros(400)
    spectrum[:5] = [1, 0.9, 0.5, 0.4, 0.1]
    matrix = symmetric(spectrum)
    found = krylov(matrix, 12)
    check(found, matrix, 12)


@pytest.mark.parametrize(("n", "rank", "k"), [(30, 29, 1), (30, 30, 0), (30, 40, 3), (100, 60, 2), (2, 1, 1)])
def test_rank_near_the_dimension(n: int, rank: int, k: int) -> None:
    matrix = symmetric(np.random.default_rng(3).uniform(-1, 1, n))
    deflate = some_vectors(n, k)
    found = krylov(matrix, rank, deflate=deflate)
    rank = min(rank, n - k)
    assert found.values.shape == (rank,)
    check(found, matrix, rank, deflate)


def test_warm_start_saves_products_and_changes_nothing() -> None:
    n, rank = 400, 10
    matrix = symmetric(np.linspace(-1, 1, n) ** 3)
    cold = krylov(matrix, rank)
    _, U = eigenpairs(matrix)
    exact = krylov(matrix, rank, start=U[:, :rank])
    check(exact, matrix, rank)
    assert exact.products == rank
    noise = np.random.default_rng(4).normal(size=(n, rank))
    near = krylov(matrix, rank, start=U[:, :rank] + 1e-6 * noise)
    check(near, matrix, rank)
    assert near.products < cold.products / 2
    few = krylov(matrix, rank, start=U[:, :3])  # fewer vectors than are wanted
    check(few, matrix, rank)


def test_what_has_not_converged_says_so() -> None:
    matrix = symmetric(np.linspace(-1, 1, 500) ** 3)
    found = krylov(matrix, 20, tolerance=1e-12, max_products=150)
    assert not found.converged.all()
    product = matrix @ found.vectors
    true_residuals = np.linalg.norm(product - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, true_residuals, rtol=1e-6, atol=1e-13)
    np.testing.assert_array_equal(found.converged, true_residuals <= 1e-12)


def test_same_seed_same_bits() -> None:
    matrix = symmetric(np.linspace(-1, 1, 400))
    one, two, other = (krylov(matrix, 8, random_state=seed) for seed in (0, 0, 1))
    assert one.vectors.tobytes() == two.vectors.tobytes()
    assert one.vectors.tobytes() != other.vectors.tobytes()
    np.testing.assert_allclose(one.values, other.values, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 4])
def test_dense_solver(k: int) -> None:
    matrix = symmetric(np.random.default_rng(5).uniform(-1, 1, 50))
    deflate = some_vectors(50, k)
    mu, U = dense_eigenpairs(matrix, 50 - k, deflate=deflate)
    expected, vectors = truth(matrix, deflate)
    np.testing.assert_allclose(mu, expected, atol=1e-13)
    np.testing.assert_allclose(np.abs((U * vectors).sum(axis=0)), 1, atol=1e-9)
    assert departure(np.hstack([deflate, U])) < 1e-12


@pytest.mark.parametrize("time", [1.0, 4.0, 12.5, 50.0])
def test_heat_is_the_exponential(time: float) -> None:
    N = symmetric(np.linspace(-1, 1, 40))
    truth = scipy.linalg.expm(-time * (np.eye(40) - N))
    np.testing.assert_allclose(_heat(N.__matmul__, time)(np.eye(40)), truth, rtol=0, atol=1e-10)


def sparse_normalised(n: int, degree: float, seed: int) -> sp.csr_array:
    """N of a random connected graph with about ``degree`` neighbours a node."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (2, int(n * degree / 2)))
    path = np.stack([np.arange(n - 1), np.arange(1, n)])
    i, j = np.hstack([edges, path])
    A = sp.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    A = A + A.T
    scale = sp.diags_array(1 / np.sqrt(A.sum(axis=1)))
    return sp.csr_array(scale @ A @ scale)


@pytest.mark.parametrize(("degree", "rank"), [(2, 10), (2, 120), (6, 3), (6, 60), (60, 10)])
def test_heat_eigenpairs(degree: float, rank: int) -> None:
    """Long and short times, one that must be shortened (rank 120), and graphs too dense for any."""
    n = 700
    N = sparse_normalised(n, degree, seed=rank)
    _, U = eigenpairs(N.toarray())
    found = heat_eigenpairs(
        N.__matmul__, n, rank, deflate=U[:, :1], tolerance=1e-8, neighbours=N.nnz / n, random_state=0
    )
    assert found.converged.all()
    assert found.residuals.max() <= 1e-8
    check(found, N.toarray(), rank, U[:, :1])
