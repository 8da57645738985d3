"""The normalised adjacency of a Gaussian graph by kernel products, and how far pairs are from its own.

A solver works with a series, a transform or a cut-off. ``measure`` compares what it returns with rows of the
exact matrix: all of them in a small graph, and a sample in a large one, where all pairs would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.kernels import ExactKernel, Kernel

ALL_ROWS = 3_000  # up to so many nodes every row is measured
PAIRS = 2_000_000  # kernel values that a sample of rows may cost
FEWEST = 24
SAFETY = 1.5  # a norm that is estimated from a sample of rows, times this, is hardly ever too small
CHUNK = 8_192
ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class KernelOperator:
    """N = D^(−1/2) (G − (1 − ℓ) I) D^(−1/2), the normalised adjacency of a Gaussian graph.

    ``smooth`` is Ĝ = D^(−1/2) G D^(−1/2), which differs from N by (1 − ℓ) D⁻¹ only. Rows of arrays are the
    nodes of this rank, sums go over those of all.
    """

    kernel: Kernel
    points: np.ndarray  # (n, d)
    degrees: np.ndarray  # (n,)
    missing_loop: float  # 1 − ℓ
    gathered: np.ndarray | None = None  # Σ_j φ(x_j), where the kernel has summed it before
    value_error: float = 0.0  # a bound on the error of one kernel value in the sums that the degrees are
    group: Group = ALONE
    start: int = field(init=False)  # of this rank's nodes among all
    total: int = field(init=False)  # n, the nodes of all ranks

    def __post_init__(self) -> None:
        start, total = self.group.offset(len(self.points))
        self.__dict__.update(start=start, total=total)

    def by(self, kernel: Kernel) -> KernelOperator:
        """The same graph by another kernel, degrees included."""
        ones = kernel.gather(self.points, np.ones((len(self.points), 1)))
        degrees = kernel.evaluate(self.points, ones, 1)[:, 0] - self.missing_loop
        error = kernel.value_error
        return KernelOperator(kernel, self.points, degrees, self.missing_loop, ones, error, self.group)

    @property
    def mine(self) -> slice:
        """The nodes of this rank among all."""
        return slice(self.start, self.start + len(self.points))

    def norms(self, X: np.ndarray) -> np.ndarray:
        """|x| of each column, over the nodes of all ranks."""
        return np.sqrt(self.group.sum((X**2).sum(axis=0)))

    @cached_property
    def volume(self) -> float:
        """Σ_j d_j"""
        return float(self.group.sum(self.degrees.sum()))

    @cached_property
    def degree_bound(self) -> float:
        """n ε/(d − n ε), d the smallest degree, ε the ``value_error``: the largest relative error.

        The kernel's own error counts as well: the vectors are divided by degrees that it evaluates.
        """
        error = self.total * max(self.value_error, self.kernel.value_error)
        least = self.group.smallest(float(self.degrees.min(initial=np.inf))) - error
        return error / least if least > 0 else float("inf")

    @cached_property
    def ones(self) -> np.ndarray:
        """Σ_j φ(x_j), of which degrees are made."""
        if self.gathered is not None:
            return self.gathered
        return self.kernel.gather(self.points, np.ones((len(self.points), 1)))

    @cached_property
    def noise(self) -> float:
        """The size under which an eigenvalue of Ĝ cannot be told from the kernel's error."""
        return 10 * self.kernel.precision * self.total / (self.volume / self.total)

    @property
    def null_vector(self) -> np.ndarray:
        """u₀ = √d / |√d|: (n, 1)."""
        root = np.sqrt(self.degrees)[:, None]
        return root / np.sqrt(self.group.sum(root[:, 0] @ root[:, 0]))

    def smooth(self, X: np.ndarray) -> np.ndarray:
        """Ĝ X: (n, q)."""
        scale = 1 / np.sqrt(self.degrees)[:, None]
        result = self.kernel.product(self.points, scale * X)
        result *= scale
        return result

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """N X: (n, q)."""
        result = self.smooth(X)
        if self.missing_loop:
            result -= self.missing_loop * X / self.degrees[:, None]
        return result


def degree_floor(n: int, precision: float) -> float:
    """A degree at or below this cannot be told from zero."""
    return max(1e-10, 10 * n * precision)


@dataclass(frozen=True)
class Known:
    """The residual N̂u − μu on the operator N̂ of a solver: its norms, and its entries at the sample's rows."""

    norms: np.ndarray  # (r,)
    entries: np.ndarray  # of all ranks: (m, r)


@dataclass(frozen=True)
class RowSample:
    """Rows of this rank that are compared with the exact matrix, and weights with Σ_i w_i ρ_i² ≈ |ρ|²."""

    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, operator: KernelOperator) -> RowSample:
        """All rows of a small graph, else at least 24, drawn with probability (1/n + d⁻¹/Σd⁻¹)/2.

        An error of the kernel weighs as 1/√d at a node: drawn evenly, the few nodes with small degrees that
        may have most of the residual would be missed. Whatever the ranks, the same rows of all are drawn.
        """
        degrees, group = operator.degrees, operator.group
        own, n = len(degrees), operator.total
        if n <= ALL_ROWS:
            return cls(np.arange(own), np.ones(own))
        probability = 0.5 / n + 0.5 / degrees / group.sum((1 / degrees).sum())
        draws = max(FEWEST, PAIRS // n)
        reached = np.cumsum(probability / group.sum(probability.sum()))
        ends = np.cumsum(group.rows(np.array([reached[-1] if own else 0.0])))
        if group.rank:
            reached += ends[group.rank - 1]
        # as numpy draws: where uniform numbers fall among the sums of all probabilities
        uniform = np.random.default_rng(0).random(draws)
        owner = np.searchsorted(ends / ends[-1], uniform, side="right")
        drawn = np.searchsorted(reached / ends[-1], uniform[owner == group.rank], side="right")
        rows, counts = np.unique(drawn, return_counts=True)
        return cls(rows, counts / (draws * probability[rows]))


def measure(
    operator: KernelOperator, mu: np.ndarray, U: np.ndarray, known: Known | None
) -> tuple[np.ndarray, float]:
    """|N u − μ u| of each pair on the true N, not too small (r,); and the largest relative error of a degree.

    ``known`` is the part of the residual that the solver knows at every node, None where it vanishes. The
    sample of rows then has to find N − N̂ only.
    """
    group = operator.group
    if operator.total <= ALL_ROWS:
        G = ExactKernel(group.rows(operator.points), operator.kernel.sigma).matrix(operator.points)
        degrees = G.sum(axis=1) - operator.missing_loop
        sums = G @ group.rows(U / np.sqrt(degrees)[:, None])
        defect = _defect(operator, mu, U, sums, degrees, degrees)
        residuals = 1.001 * operator.norms(defect) + ROUNDING
        error = float(np.abs(operator.degrees / degrees - 1).max(initial=0))
        return residuals, group.largest(error)
    kernel = ExactKernel(operator.points, operator.kernel.sigma)
    sample = RowSample.of(operator)
    rows = sample.rows
    at, weights = group.rows(operator.points[rows]), group.rows(sample.weights)

    def work(sources: slice) -> tuple[np.ndarray, np.ndarray]:
        G = kernel.matrix(at, sources)
        own = G.sum(axis=1)
        G *= 1 / np.sqrt(operator.degrees[sources])
        return own, G @ U[sources]

    degrees, sums = np.zeros(len(at)), np.zeros((len(at), len(mu)))
    if group.rank == 0:
        degrees -= operator.missing_loop
    for own, part in share_out(work, ranges(len(operator.points), CHUNK)):
        degrees += own
        sums += part
    degrees, sums = group.sum(degrees), group.sum(sums)
    known_degrees = group.rows(operator.degrees[rows])
    defect = _defect(operator, mu, group.rows(U[rows]), sums, degrees, known_degrees)
    residuals = np.full(len(mu), ROUNDING)
    if known is not None:
        defect -= known.entries
        residuals += known.norms
    residuals += SAFETY * np.sqrt(weights @ defect**2)
    return residuals, float(np.abs(known_degrees / degrees - 1).max())


def _defect(
    operator: KernelOperator,
    mu: np.ndarray,
    U: np.ndarray,
    sums: np.ndarray,
    degrees: np.ndarray,
    divided_by: np.ndarray,
) -> np.ndarray:
    """(N u − μ u) at some rows, from their entries of u and their Σ_j k(x_i, x_j) u_j/√d_j: (m, r).

    ``divided_by`` are the degrees in that sum, whose term j = i is too large by 1 − ℓ.
    """
    others = sums - operator.missing_loop * U / np.sqrt(divided_by)[:, None]
    return others / np.sqrt(degrees)[:, None] - mu * U
