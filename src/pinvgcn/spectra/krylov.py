"""Thick-restarted block Lanczos iteration with deflation: the largest eigenpairs from products alone.

The method of Wu and Simon (thick restart) with blocks and full orthogonalisation. Blocks let the product
work on many vectors at once, which batched transforms and sparse products reward, and a block may
start from vectors that are already known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pinvgcn.spectra.dense import dense_eigenpairs

BLOCK = 16


@dataclass(frozen=True)
class KrylovResult:
    """``residuals`` are |M u − θ u|; ``converged`` says for each pair whether they were small enough."""

    values: np.ndarray  # (r,), largest first
    vectors: np.ndarray  # (n, r)
    residuals: np.ndarray  # (r,)
    converged: np.ndarray  # (r,)
    products: int  # vectors multiplied


def krylov_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    rank: int,
    *,
    deflate: np.ndarray,
    tolerance: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray | None = None,
    max_products: int | None = None,
    random_state: int = 0,
) -> KrylovResult:
    """The ``rank`` largest eigenpairs of P M P, P = I − QQᵀ with Q = ``deflate`` (n, k).

    ``product`` maps a block (n, b) to M times it. A pair (θ, u) has converged when its residual is at
    most ``tolerance(θ)``. ``start`` (n, b) begins the iteration from known vectors instead of random ones.

    A Krylov space holds at most b vectors of an eigenvalue, b the size of the block. Where one was found
    as often as that, the rest of the space is searched for more of them.
    """
    rank = min(rank, n - deflate.shape[1])
    block = BLOCK if start is None else start.shape[1]
    if fills_space(n - deflate.shape[1], rank, block):
        return _whole_space(product, n, rank, deflate=deflate)
    budget = max_products or 40 * (rank + 4 * block)
    rng = np.random.default_rng(random_state)
    first = rng.standard_normal((n, block)) if start is None else start
    found = _iterate(product, first, rank, deflate=deflate, tolerance=tolerance, budget=budget, rng=rng)
    while _is_crowded(found.values, tolerance, block):
        known = np.hstack([deflate, found.vectors])
        count = min(BLOCK, rank)
        if fills_space(n - known.shape[1], count, BLOCK):
            return _whole_space(product, n, rank, deflate=deflate)
        first = rng.standard_normal((n, BLOCK))
        more = _iterate(product, first, count, deflate=known, tolerance=tolerance, budget=budget, rng=rng)
        last = found.values[-1]
        found = _largest(rank, found, more)
        if more.values[0] <= last + _same(last, tolerance):
            break
    return found


def fills_space(free: int, rank: int, block: int = BLOCK) -> bool:
    """Whether the Krylov space would be most of a space of ``free`` dimensions: all of it costs less."""
    return 2 * space_size(rank, block) >= free


def space_size(rank: int, block: int = BLOCK) -> int:
    """The largest dimension of the Krylov space, a multiple of the block."""
    size = max(2 * rank, rank + 4 * block)
    return size + -size % block


def _iterate(
    product: Callable[[np.ndarray], np.ndarray],
    first: np.ndarray,
    rank: int,
    *,
    deflate: np.ndarray,
    tolerance: Callable[[np.ndarray], np.ndarray],
    budget: int,
    rng: np.random.Generator,
) -> KrylovResult:
    """The iteration itself, from the block ``first`` (n, b)."""
    n, block = first.shape
    size = space_size(rank, block)
    keep = min(rank + max(block, rank // 4), size - 2 * block)
    Q = np.zeros((n, size + block), order="F")  # the basis
    T = np.zeros((size + block, size + block))  # QᵀMQ
    Q[:, :block], _ = _orthonormal(first, Q[:, :0], deflate, rng)
    done, products = 0, 0  # columns of Q whose product is known; vectors multiplied
    next_check = rank
    while True:
        filled = done + block
        W, H = _project(product(Q[:, done:filled]), Q[:, :filled], deflate)
        products += block
        W, correction = _project(W, Q[:, :filled], deflate)  # twice is enough
        H += correction
        T[:filled, done:filled] = H
        T[done:filled, :done] = H[:done].T
        done = filled
        full = done + block > size
        Q[:, done : done + block], R = _orthonormal(W, Q[:, :done], deflate, rng)
        if done < next_check and not full:
            continue
        next_check = done + max(block, rank // 4)
        theta, S = scipy.linalg.eigh((T[:done, :done] + T[:done, :done].T) / 2)
        theta, S = theta[::-1], S[:, ::-1]
        residuals = np.linalg.norm(R @ S[done - block : done], axis=0)
        converged = residuals[:rank] <= tolerance(theta[:rank])
        if len(converged) == rank and (converged.all() or products >= budget):
            vectors = Q[:, :done] @ S[:, :rank]
            return KrylovResult(theta[:rank].copy(), vectors, residuals[:rank], converged, products)
        if full:  # restart: keep the best Ritz vectors and the block that continues them
            Q[:, :keep] = Q[:, :done] @ S[:, :keep]
            Q[:, keep : keep + block] = Q[:, done : done + block]
            T[:] = 0
            T[np.arange(keep), np.arange(keep)] = theta[:keep]
            done = keep
            next_check = done + block


def _project(W: np.ndarray, Q: np.ndarray, deflate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W minus its parts in Q and in the deflated space, and QᵀW."""
    W = W - deflate @ (deflate.T @ W)
    H = Q.T @ W
    W -= Q @ H
    return W, H


def _orthonormal(
    W: np.ndarray, Q: np.ndarray, deflate: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """W = X R with X orthonormal and orthogonal to Q and the deflated space.

    Where W has lost its rank (an invariant subspace was found) X is filled up with random vectors and R
    has zero rows, so that the iteration goes on in the rest of the space.
    """
    size = float(np.linalg.norm(W))
    X, R = np.linalg.qr(W)
    lost = np.abs(np.diag(R)) <= 1e-14 * max(size, 1.0)
    if lost.any():
        X[:, lost] = rng.standard_normal((len(W), int(lost.sum())))
        R[lost] = 0
    for _ in range(2 if lost.any() else 1):  # the residual may be tiny beside the basis: clean it again
        X, _ = _project(X, Q, deflate)
        X, correction = np.linalg.qr(X)
        if not lost.any():
            R = correction @ R
    return X, R


def _same(theta: np.ndarray, tolerance: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Eigenvalues closer than this cannot be told apart: they are as exact as their residuals squared."""
    return tolerance(theta) ** 2 + 1e-12 * np.abs(theta)


def _is_crowded(theta: np.ndarray, tolerance: Callable[[np.ndarray], np.ndarray], block: int) -> bool:
    """Whether some eigenvalue was found at least ``block`` times."""
    highest, lowest = theta[: max(len(theta) - block + 1, 0)], theta[block - 1 :]
    return bool((highest - lowest <= _same(highest, tolerance)).any())


def _largest(rank: int, *results: KrylovResult) -> KrylovResult:
    """The ``rank`` largest pairs of several orthogonal results."""
    values = np.concatenate([result.values for result in results])
    order = np.argsort(-values, kind="stable")[:rank]
    return KrylovResult(
        values[order],
        np.hstack([result.vectors for result in results])[:, order],
        np.concatenate([result.residuals for result in results])[order],
        np.concatenate([result.converged for result in results])[order],
        sum(result.products for result in results),
    )


def _whole_space(
    product: Callable[[np.ndarray], np.ndarray], n: int, rank: int, *, deflate: np.ndarray
) -> KrylovResult:
    """The Krylov space would be most of the space: take all of it."""
    matrix = product(np.eye(n))
    values, vectors = dense_eigenpairs((matrix + matrix.T) / 2, rank, deflate=deflate)
    projected = matrix @ vectors
    projected -= deflate @ (deflate.T @ projected)
    residuals = np.linalg.norm(projected - vectors * values, axis=0)
    return KrylovResult(values, vectors, residuals, np.ones(rank, dtype=bool), n)
