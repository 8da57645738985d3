"""The largest eigenpairs of any symmetric matrix.

``krylov_eigenpairs`` needs products alone: the method of Wu and Simon (thick-restarted Lanczos) with
deflation, blocks and full orthogonalisation. Blocks let the product work on many vectors at once, which
batched transforms and sparse products reward, and a block may start from vectors that are already known.

Where products cost little, ``heat_eigenpairs`` iterates on the heat kernel exp(−tL). The small eigenvalues of
a sparse graph crowd near zero. To tell them apart a Krylov space needs many vectors, and making each
to all others is a hundred times the work of a sparse product. exp(−tL) has the same eigenvectors in the same
order and spreads the small λ out, so that few vectors suffice; as a Chebyshev series in N = I − L it costs
about √(50 t) sparse products.

``dense_eigenpairs`` has all of a small matrix: the oracle of every other solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
import scipy.special

from pinvgcn.compute.parallel import ranges
from pinvgcn.distributed.group import ALONE, Group

BLOCK = 16
CHUNK = 65_536  # nodes whose random numbers are drawn at a time
LONGEST = 50.0  # the largest t of a heat kernel
SERIES = 1e-11  # terms of the Chebyshev series below this are left out
VISIBLE = 1e-6  # an eigenvalue of exp(−tL) below this is too close to what the series leaves out


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
    tolerance: float | Callable[[np.ndarray], np.ndarray],
    start: np.ndarray | None = None,
    max_products: int | None = None,
    random_state: int = 0,
    group: Group = ALONE,
) -> KrylovResult:
    """The ``rank`` largest eigenpairs of P M P, P = I − QQᵀ with Q = ``deflate`` (n, k).

    ``product`` maps a block (n, b) to M times it. A pair (θ, u) has converged when its residual is at
    most ``tolerance``, or ``tolerance(θ)``. ``start`` (n, b) begins the iteration from known vectors instead
    of random ones.

    A Krylov space holds at most b vectors of an eigenvalue, b the size of the block. Where one was found
    as often as that, the rest of the space is searched for more of them.

    Over several ranks n are the rows of this one, of which ``product`` sees blocks on all ranks at once.
    """
    goal = tolerance if callable(tolerance) else partial(np.full_like, fill_value=tolerance)
    rows = RowProducts(group, n)
    free = rows.total - deflate.shape[1]
    rank = min(rank, free)
    block = BLOCK if start is None else start.shape[1]
    if fills_space(free, rank, block):
        return _whole_space(product, rows, rank, deflate=deflate)
    budget = max_products or 40 * (rank + 4 * block)
    rng = np.random.default_rng(random_state)
    first = rows.normal(rng, block) if start is None else start
    iterate = partial(_iterate, product, rows, tolerance=goal, budget=budget, rng=rng)
    found = iterate(first, rank, deflate=deflate)
    while _is_crowded(found.values, goal, block):
        known = np.hstack([deflate, found.vectors])
        count = min(BLOCK, rank)
        if fills_space(rows.total - known.shape[1], count, BLOCK):
            return _whole_space(product, rows, rank, deflate=deflate)
        more = iterate(rows.normal(rng, BLOCK), count, deflate=known)
        last = found.values[-1]
        found = _largest(rank, found, more)
        if more.values[0] <= last + _same(last, goal):
            break
    return found


class RowProducts:
    """The rows of vectors that this rank has of all: inner products go over all of them."""

    def __init__(self, group: Group, count: int) -> None:
        self.group, self.count = group, count
        self.start, self.total = group.offset(count)

    def normal(self, rng: np.random.Generator, columns: int) -> np.ndarray:
        """Random numbers (n, columns), those of the same node for any number of ranks."""
        if self.group.alone:
            return rng.standard_normal((self.count, columns))
        mine = [np.empty((0, columns))]
        for rows in ranges(self.total, CHUNK):
            drawn = rng.standard_normal((rows.stop - rows.start, columns))
            low, high = self.start - rows.start, self.start + self.count - rows.start
            mine.append(drawn[max(low, 0) : max(high, 0)])
        return np.concatenate(mine)

    def inner(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """XᵀY"""
        return self.group.sum(X.T @ Y)

    def norm(self, X: np.ndarray) -> float:
        return float(np.sqrt(self.group.sum(float(np.linalg.norm(X)) ** 2)))

    def qr(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Orthonormal columns and R, by a QR of the R of each rank."""
        Q, R = np.linalg.qr(X)
        if self.group.alone:
            return Q, R
        parts = self.group.parts(R)
        stacked, R = (self.group.first(array) for array in np.linalg.qr(np.vstack(parts)))
        before = sum(len(part) for part in parts[: self.group.rank])
        return Q @ stacked[before : before + len(parts[self.group.rank])], R


def fills_space(free: int, rank: int, block: int = BLOCK) -> bool:
    """Whether the Krylov space would be most of a space of ``free`` dimensions: all of it costs less."""
    return 2 * space_size(rank, block) >= free


def space_size(rank: int, block: int = BLOCK) -> int:
    """The largest dimension of the Krylov space, a multiple of the block."""
    size = max(2 * rank, rank + 4 * block)
    return size + -size % block


def _iterate(
    product: Callable[[np.ndarray], np.ndarray],
    rows: RowProducts,
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
    Q[:, :block], _ = _orthonormal(rows, first, Q[:, :0], deflate, rng)
    done, products = 0, 0  # columns of Q whose product is known; vectors multiplied
    next_check = rank
    while True:
        filled = done + block
        W, H = _project(rows, product(Q[:, done:filled]), Q[:, :filled], deflate)
        products += block
        W, correction = _project(rows, W, Q[:, :filled], deflate)  # twice is enough
        H += correction
        T[:filled, done:filled] = H
        T[done:filled, :done] = H[:done].T
        done = filled
        full = done + block > size
        Q[:, done : done + block], R = _orthonormal(rows, W, Q[:, :done], deflate, rng)
        if done < next_check and not full:
            continue
        next_check = done + max(block, rank // 4)
        found = scipy.linalg.eigh((T[:done, :done] + T[:done, :done].T) / 2)
        theta, S = (rows.group.first(array) for array in found)
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


def _project(
    rows: RowProducts, W: np.ndarray, Q: np.ndarray, deflate: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """W minus its parts in Q and in the deflated space, and QᵀW."""
    W = W - deflate @ rows.inner(deflate, W)
    H = rows.inner(Q, W)
    W -= Q @ H
    return W, H


def _orthonormal(
    rows: RowProducts, W: np.ndarray, Q: np.ndarray, deflate: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """W = X R with X orthonormal and orthogonal to Q and the deflated space.

    Where W has lost its rank (an invariant subspace was found) X is filled up with random vectors and R
    has zero rows, so that the iteration goes on in the rest of the space.
    """
    size = rows.norm(W)
    X, R = rows.qr(W)
    lost = np.abs(np.diag(R)) <= 1e-14 * max(size, 1.0)
    if lost.any():
        X[:, lost] = rows.normal(rng, int(lost.sum()))
        R[lost] = 0
    for _ in range(2 if lost.any() else 1):  # the residual may be tiny beside the basis: clean it again
        X, _ = _project(rows, X, Q, deflate)
        X, correction = rows.qr(X)
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
    product: Callable[[np.ndarray], np.ndarray], rows: RowProducts, rank: int, *, deflate: np.ndarray
) -> KrylovResult:
    """The Krylov space would be most of the space: take all of it."""
    group, n, mine = rows.group, rows.total, slice(rows.start, rows.start + rows.count)
    matrix = group.rows(product(np.eye(n)[mine]))
    deflate = group.rows(deflate)
    found = dense_eigenpairs((matrix + matrix.T) / 2, rank, deflate=deflate)
    values, vectors = (group.first(array) for array in found)
    projected = matrix @ vectors
    projected -= deflate @ (deflate.T @ projected)
    residuals = np.linalg.norm(projected - vectors * values, axis=0)
    return KrylovResult(values, vectors[mine], residuals, np.ones(rank, dtype=bool), n)


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
            product, n, rank, deflate=deflate, tolerance=tolerance, random_state=random_state
        )
    goal = _goal(tolerance)
    while True:
        found = krylov_eigenpairs(
            _heat(product, time), n, rank, deflate=deflate, tolerance=goal, random_state=random_state
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
