"""All of a small symmetric matrix: the oracle of every other solver."""

from __future__ import annotations

import numpy as np
import scipy.linalg


def dense_eigenpairs(matrix: np.ndarray, rank: int, *, deflate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ``rank`` largest eigenpairs of P M P, P = I − QQᵀ with Q = ``deflate`` (n, k).

    O(n³). Use it up to a few thousand nodes. The space of Q itself is moved to −2, below every
    eigenvalue of a normalised adjacency.
    """
    projected = matrix - deflate @ (deflate.T @ matrix)
    projected -= (projected @ deflate) @ deflate.T
    projected -= 2 * deflate @ deflate.T
    return largest_eigenpairs((projected + projected.T) / 2, rank)


def largest_eigenpairs(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``rank`` largest eigenpairs of a symmetric matrix, largest first."""
    n = len(matrix)
    try:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - rank, n - 1])
        complete = len(values) == rank
    except np.linalg.LinAlgError:
        complete = False
    if not complete:  # asked for a part of the spectrum, LAPACK fails or loses some of a multiple eigenvalue
        values, vectors = (part[..., n - rank :] for part in scipy.linalg.eigh(matrix, driver="evd"))
    return values[::-1].copy(), vectors[:, ::-1].copy()
