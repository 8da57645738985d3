"""The oracle against numpy's own eigendecomposition, where a part of the spectrum is easily lost."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.spectra.dense import dense_eigenpairs, largest_eigenpairs


@pytest.mark.parametrize("n", [2, 7, 40, 150])
@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_all_pairs_of_a_multiple_eigenvalue(n: int, rank: int) -> None:
    """The graph of n pieces: N = I, whose eigenvalue 1 is there n times."""
    rank = min(rank, n - 1)
    u0 = np.full((n, 1), n**-0.5)
    mu, U = dense_eigenpairs(np.eye(n), rank, deflate=u0)
    np.testing.assert_allclose(mu, np.ones(rank), atol=1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(u0.T @ U, np.zeros((1, rank)), atol=1e-13)


def test_the_largest_of_a_random_matrix() -> None:
    A = np.random.default_rng(0).normal(size=(30, 30))
    A += A.T
    values, vectors = largest_eigenpairs(A, 4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:-5:-1], rtol=1e-12)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12)
