"""Krylov iteration on the heat kernel exp(−tL), for products that cost little.

The small eigenvalues of a sparse graph crowd near zero. To tell them apart a Krylov space needs many
vectors, and making each orthogonal to all others is a hundred times the work of a sparse product.
exp(−tL) has the same eigenvectors in the same order and spreads the small λ out, so that few
vectors suffice; as a Chebyshev series in N = I − L it costs about √(50 t) sparse products.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.special

from pinvgcn.spectra.krylov import KrylovResult, fills_space, krylov_eigenpairs, space_size

LONGEST = 50.0  # the largest t
SERIES = 1e-11  # terms of the Chebyshev series below this are left out
VISIBLE = 1e-6  # an eigenvalue of exp(−tL) below this is too close to what the series leaves out


def heat_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    rank: int,
    *,
    deflate: np.ndarray,
    tolerance: float,
    neighbours: float,
    random_state: int = 0,
) -> KrylovResult:
    """The ``rank`` largest eigenpairs of P N P, P = I − QQᵀ with Q = ``deflate`` (n, k).

    The eigenvalues of N must lie in [−1, 1]. ``neighbours`` is the mean number of entries in a row of N:
    t is such that the products of a vector cost about as much as its orthogonalisation, here and in the
    restarts that it saves. Pairs have converged when |N u − μ u| ≤ ``tolerance``.
    """
    affordable = 4 * (space_size(rank) + deflate.shape[1]) / neighbours  # products a vector
    time = min(LONGEST, -(affordable**2) / (2 * math.log(SERIES)))
    if time < 1 or fills_space(n - deflate.shape[1], rank):
        return krylov_eigenpairs(
            product,
            n,
            rank,
            deflate=deflate,
            tolerance=lambda theta: np.full_like(theta, tolerance),
            random_state=random_state,
        )
    while True:
        found = krylov_eigenpairs(
            _heat(product, time),
            n,
            rank,
            deflate=deflate,
            tolerance=_goal(tolerance),
            random_state=random_state,
        )
        if found.values[-1] > VISIBLE or time < 4:  # e^(−2·4) is visible: 2 is the largest eigenvalue of L
            break
        time /= 4
    U = found.vectors
    H = U.T @ product(U)
    mu, S = scipy.linalg.eigh((H + H.T) / 2)
    mu, U = mu[::-1], U @ S[:, ::-1]
    residuals = np.linalg.norm(product(U) - U * mu, axis=0)
    return KrylovResult(mu, U, residuals, residuals <= tolerance, found.products)


def _goal(tolerance: float) -> Callable[[np.ndarray], np.ndarray]:
    """|N u − μ u| ≤ τ follows from |e^(−tL) u − θ u| ≤ τθ/2.

    Between two eigenvalues of L, which are at most 2 apart, e^(−tλ) falls with a slope of θ/2 or more.
    What is not visible needs few digits, because it will be computed again.
    """
    return lambda theta: np.where(theta > VISIBLE, tolerance / 2 * theta, VISIBLE)


def _heat(product: Callable[[np.ndarray], np.ndarray], time: float) -> Callable[[np.ndarray], np.ndarray]:
    """exp(−t(I − N)) = e^(−t) (I₀(t) + 2 Σ_k I_k(t) T_k(N)), with modified Bessel functions I_k."""
    orders = np.arange(4 + int(2 * math.sqrt(-2 * math.log(SERIES) * time)))
    terms = scipy.special.ive(orders, time)  # e^(−t) I_k(t)
    terms = terms[terms > SERIES]
    terms[1:] *= 2

    def apply(X: np.ndarray) -> np.ndarray:
        before, now = X, product(X)
        result = terms[0] * before + terms[1] * now
        for term in terms[2:]:
            before, now = now, 2 * product(now) - before
            result += term * now
        return result

    return apply
