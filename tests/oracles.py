"""What the package must compute, by numpy alone: formulas that anyone can check by eye."""

from __future__ import annotations

import numpy as np


def gaussian_kernel(x: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    """exp(−|x_i − y_j|²/σ²), from differences: (m, n)."""
    return np.exp(-(((x[:, None] - y[None]) / sigma) ** 2).sum(axis=2))


def gaussian_adjacency(points: np.ndarray, sigma: float, loops: float) -> np.ndarray:
    """A of a Gaussian graph: (n, n)."""
    A = gaussian_kernel(points, points, sigma)
    np.fill_diagonal(A, loops)
    return A


def normalised(A: np.ndarray) -> np.ndarray:
    """D^(−1/2) A D^(−1/2)."""
    scale = 1 / np.sqrt(A.sum(axis=1))
    return scale[:, None] * A * scale


def eigenpairs(N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues μ of N, largest first, and their vectors."""
    mu, U = np.linalg.eigh(N)
    return mu[::-1], U[:, ::-1]


def sine(U: np.ndarray, V: np.ndarray) -> float:
    """Sine of the largest angle between the spans of orthonormal U and V."""
    assert U.shape == V.shape
    return float(np.linalg.norm(V - U @ (U.T @ V), 2)) if U.size else 0.0


def departure(V: np.ndarray) -> float:
    """How far the columns are from orthonormal."""
    return float(np.abs(V.T @ V - np.eye(V.shape[1])).max(initial=0))


def residuals(N: np.ndarray, lam: np.ndarray, U: np.ndarray) -> np.ndarray:
    """|L u − λ u| for L = I − N."""
    return np.linalg.norm(U - N @ U - U * lam, axis=0)
