"""Monomial features: the kernel as a short Taylor series (docs/maths.md, 4.3)."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import for_all, ranges, share_out
from pinvgcn.kernels.base import ROUNDING, Box, Finish, SeriesKernel

CHUNK_ENTRIES = 1_000_000  # features held at a time by each core: 8 MB
FEW_ENTRIES = 262_144  # the same where nothing is summed: 2 MB, which stay in the cache
LANES = 128  # points at a time: what the next features are made of stays in the cache
OUTSIDE = 1e-4  # the error that is accepted at points outside the cloud, beside the largest kernel value
UNSEEN = 1e-4  # features with less than this share of the precision are not even counted
WIDEST = 12.0  # half a box in z, beyond which no series is tried
TOO_MANY = 5_000  # features that are no more of use, and are not counted to their end


class TaylorKernel(SeriesKernel):
    """k(x, y) ≈ Σ_{α ∈ A} φ_α(x) φ_α(y) with φ_α(x) = e^(−|z|²/2) ∏ z_i^α_i / √(α_i!), z = √2 Qᵀ(x − c)/σ.

    Summed over all α, Σ φ_α(x)² = k(x, x) = 1. So t(x) = 1 − Σ_{α ∈ A} φ_α(x)² is what a point loses to the
    cut, and √(t(x) t(y)) bounds the error of k(x, y). In the box of the cloud φ_α² is at most
    β_α = ∏ max_{|z_i| ≤ h_i} e^(−z_i²) z_i^(2α_i)/α_i!. A holds the largest β, so many that the sum of the
    others is below ``precision``: a flat cloud needs few powers along its thin side.

    Use it when σ is not far below the radius of the cloud, in any dimension that keeps M = |A| small. Only
    multiplications and matrix products.
    """

    kind = "taylor"

    def __init__(self, box: Box, sigma: float, precision: float) -> None:
        super().__init__(box, sigma, precision)
        self._unit = math.sqrt(2) / sigma
        self._others, self._counts = _exponents(self._unit * box.half, precision)

    @classmethod
    def size(cls, box: Box, sigma: float, precision: float) -> int:
        """M, or some number above 5,000."""
        half = math.sqrt(2) / sigma * box.half
        return 2 * TOO_MANY if half.max() > WIDEST else int(_exponents(half, precision)[1].sum())

    @property
    def n_features(self) -> int:
        """M"""
        return int(self._counts.sum())

    @property
    def value_error(self) -> float:
        # Σ |φ_α(x) φ_α(y)| ≤ 1, and each feature is wrong by some units in its last place
        return self.precision + ROUNDING + self.n_features * float(np.finfo(np.float64).eps)

    @cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray]:
        """How each feature but the first follows: feature ``parent`` times row ``factor`` of ``_powers``.

        The features with power a of the last axis are a block. The next block is made of the
        beginning of the one before, because both are sorted by β.
        """
        others = [tuple(exponents) for exponents in self._others.tolist()]
        index = {exponents: row for row, exponents in enumerate(others)}
        parents, factors = [0], [0]
        begins = np.cumsum([0, *self._highest])
        for exponents in others[1:]:
            axis = max(i for i, a in enumerate(exponents) if a)
            parents.append(index[tuple(a - (i == axis) for i, a in enumerate(exponents))])
            factors.append(begins[axis] + exponents[axis] - 1)
        before = 0
        for a, count in enumerate(self._counts[1:].tolist()):
            parents += range(before, before + count)
            factors += [begins[-2] + a] * count
            before += int(self._counts[a])
        return np.array(parents), np.array(factors)

    @cached_property
    def _highest(self) -> list[int]:
        """The highest power of each axis."""
        return [*self._others.max(axis=0, initial=0).tolist(), len(self._counts) - 1]

    def _powers(self, z: np.ndarray) -> np.ndarray:
        """z_i/√a for each power a ≥ 1 of each axis, one row each."""
        rows = [z[i] / math.sqrt(a) for i, top in enumerate(self._highest) for a in range(1, top + 1)]
        return np.stack(rows) if rows else np.empty((0, z.shape[1]))

    def features(self, points: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
        """φ(x) of each point as a column, times its ``scale``: (M, m)."""
        z = self.box.local(points) * self._unit  # (d, m)
        phi = np.empty((self.n_features, len(points)))
        np.exp(-0.5 * (z**2).sum(axis=0), out=phi[0])
        if scale is not None:
            phi[0] *= scale
        _multiply(*self._steps, self._powers(z), phi)
        return phi

    def _factors(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F, L with φ_{(α', a)}(x) = F_α'(x) L_a(x): all but the last axis, and its powers. Few rows both."""
        z = self.box.local(points) * self._unit
        first = np.empty((len(self._others), len(points)))
        np.exp(-0.5 * (z**2).sum(axis=0), out=first[0])
        _multiply(*self._steps, self._powers(z), first)
        last = np.ones((len(self._counts), len(points)))
        for a in range(1, len(last)):
            np.multiply(last[a - 1], z[-1] / math.sqrt(a), out=last[a])
        return first, last

    @cached_property
    def _used(self) -> np.ndarray:
        """Which (a, α') are in A: (powers, others), in the order of the features."""
        return np.arange(len(self._others)) < self._counts[:, None]

    def chunks(self, n: int, columns: int = 2) -> list[slice]:
        """Ranges of nodes whose features fit the memory that is set aside; a single column needs few."""
        rows = self.n_features if columns > 1 else len(self._others) + len(self._counts)
        return ranges(n, max(256, CHUNK_ENTRIES // rows))

    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j φ(x_j) w_j: (M, q). One column needs few features: c_{α'a} = Σ_j F_α'(x_j) w_j L_a(x_j)."""
        single = weights.shape[1] == 1

        def work(rows: slice) -> np.ndarray:
            if not single:
                return self.features(points[rows]) @ weights[rows]
            first, last = self._factors(points[rows])
            last *= weights[rows, 0]
            return last @ first.T

        none = np.zeros(self._used.shape if single else (self.n_features, weights.shape[1]))
        result = sum(share_out(work, self.chunks(len(points), weights.shape[1])), none)
        return self.group.sum(result[self._used][:, None] if single else result)

    def gathered_shape(self, columns: int) -> tuple[int, ...]:
        return self.n_features, columns

    def evaluate(
        self, points: np.ndarray, coefficients: np.ndarray, columns: int, finish: Finish | None = None
    ) -> np.ndarray:
        result = np.empty((len(points), columns))
        grid = np.zeros(self._used.shape)
        if columns == 1:
            grid[self._used] = coefficients[:, 0]

        def work(rows: slice) -> None:
            if columns == 1:
                first, last = self._factors(points[rows])
                np.einsum("aj,aj->j", grid.T @ last, first, out=result[rows, 0])
            else:
                np.matmul(self.features(points[rows]).T, coefficients, out=result[rows])
            if finish is not None:
                finish(rows, result[rows])

        few = ranges(len(points), max(256, FEW_ENTRIES // self.n_features))
        for_all(work, self.chunks(len(points), 1) if columns == 1 else few)
        return result

    def gram(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j w_j φ(x_j) φ(x_j)ᵀ for weights w ≥ 0, over the points of all ranks: (M, M)."""
        scale = np.sqrt(weights)

        def work(rows: slice) -> np.ndarray:
            S = self.features(points[rows], scale[rows])
            return S @ S.T

        result = np.zeros((self.n_features, self.n_features))
        for part in share_out(work, self.chunks(len(points))):
            result += part
        return self.group.sum(result)

    def inside(self, points: np.ndarray) -> np.ndarray:
        # the error is at most √(t(x) · precision), the largest value that of the nearest place in the box
        distance = self.box.distance(points)
        result: np.ndarray = distance <= 1e-9 * self.sigma
        outside = np.flatnonzero(~result)
        for rows in self.chunks(len(outside)):
            far = outside[rows]
            lost = np.maximum(1 - (self.features(points[far]) ** 2).sum(axis=0), 0)
            largest = np.exp(-((distance[far] / self.sigma) ** 2))
            result[far] = np.sqrt(lost * self.precision) <= OUTSIDE * largest
        return result


@compiled
def _multiply(parents: np.ndarray, factors: np.ndarray, powers: np.ndarray, out: np.ndarray) -> None:
    """Row k of ``out`` (M, m) from its parent, an earlier row; the first is there."""
    for begin in range(0, out.shape[1], LANES):
        end = min(begin + LANES, out.shape[1])
        for k in range(1, out.shape[0]):
            parent, power, row = out[parents[k]], powers[factors[k]], out[k]
            for j in range(begin, end):
                row[j] = parent[j] * power[j]


def _exponents(half: np.ndarray, precision: float) -> tuple[np.ndarray, np.ndarray]:
    """A for the box |z_i| ≤ h_i: exponents of all axes but the last, largest β first, (m, d − 1), and how
    many of them go with each power of the last.

    β is a product over axes, so those that go with a higher power are the first of those with a lower.
    """
    others, beta = np.zeros((1, 0), dtype=np.int64), np.ones(1)
    for side in half[:-1]:
        joint = beta[:, None] * _bounds(side)
        kept, power = np.nonzero(joint > UNSEEN * precision)
        others, beta = np.column_stack([others[kept], power]), joint[kept, power]
        if len(beta) > TOO_MANY:
            return others, np.array([len(beta)])
    order = np.argsort(-beta, kind="stable")
    joint = beta[order, None] * _bounds(half[-1])
    ascending = np.sort(joint, axis=None)
    cut = ascending[np.searchsorted(np.cumsum(ascending), precision)]
    counts = (joint >= cut).sum(axis=0)
    return others[order[: counts[0]]], counts[counts > 0]


def _bounds(side: float) -> np.ndarray:
    """max_{|z| ≤ h} e^(−z²) z^(2a)/a! for a = 0, 1, …"""
    a = np.arange(1, int(side**2 + 12 * side) + 60)  # beyond that the rest is below 1e-30
    z = np.minimum(side, np.sqrt(a))  # e^(−z²) z^(2a) is largest at z² = a
    with np.errstate(divide="ignore"):
        return np.concatenate([[1.0], np.exp(2 * a * np.log(z) - z**2 - gammaln(a + 1))])
