"""How far eigenpairs are from those of the true operator, measured with the kernel itself.

A solver works with a series, a transform or a cut-off. What it returns is compared here with rows of the
exact matrix: all of them in a small graph, and a sample in a large one, where all pairs would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.kernels import ExactKernel
from pinvgcn.spectra.operator import KernelOperator

ALL_ROWS = 3_000  # up to so many nodes every row is measured
PAIRS = 2_000_000  # kernel values that a sample of rows may cost
FEWEST = 24
SAFETY = 1.5  # a norm that is estimated from a sample of rows, times this, is hardly ever too small
CHUNK = 8_192
ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Known:
    """The residual N̂u − μu on the operator N̂ of a solver: its norms, and its entries at the sample's rows."""

    norms: np.ndarray  # (r,)
    entries: np.ndarray  # of all ranks: (m, r)


@dataclass(frozen=True)
class Certificate:
    """``residuals`` of each pair, not below the true ones, and the largest relative error of a degree."""

    residuals: np.ndarray  # (r,)
    degree_error: float


@dataclass(frozen=True)
class RowSample:
    """Rows of this rank that are compared with the exact matrix, and weights with Σ_i w_i ρ_i² ≈ |ρ|²."""

    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, degrees: np.ndarray, group: Group = ALONE) -> RowSample:
        """All rows of a small graph, else at least 24, drawn with probability (1/n + d⁻¹/Σd⁻¹)/2.

        An error of the kernel weighs as 1/√d at a node: drawn evenly, the few nodes with small degrees that
        may have most of the residual would be missed. Whatever the ranks, the same rows of all are drawn.
        """
        own = len(degrees)
        n = group.sum(own)
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


def measure(operator: KernelOperator, mu: np.ndarray, U: np.ndarray, known: Known | None) -> Certificate:
    """|N u − μ u| of each pair on the true N.

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
        return Certificate(residuals, group.largest(error))
    kernel = ExactKernel(operator.points, operator.kernel.sigma)
    sample = RowSample.of(operator.degrees, group)
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
    return Certificate(residuals, float(np.abs(known_degrees / degrees - 1).max()))


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
