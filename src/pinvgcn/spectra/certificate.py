"""How far eigenpairs are from those of the true operator, measured with the kernel itself.

A solver works with a series, a transform or a cut-off. What it returns is compared here with rows of the
exact matrix: all of them in a small graph, and a sample in a large one, where all pairs would take too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.kernels import ExactKernel
from pinvgcn.parallel import ranges, share_out
from pinvgcn.spectra.operator import KernelOperator

ALL_ROWS = 3_000  # up to so many nodes every row is measured
PAIRS = 3_000_000  # kernel values that a sample of rows may cost
FEWEST = 32
SAFETY = 1.5  # a norm that is estimated from a sample of rows, times this, is hardly ever too small
CHUNK = 8_192
ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Known:
    """The residual N̂u − μu on the operator N̂ of a solver: its norms, and its entries at some rows."""

    norms: np.ndarray  # (r,)
    entries: np.ndarray  # (len(sample_rows(n)), r)


@dataclass(frozen=True)
class Certificate:
    """``residuals`` of each pair, not below the true ones, and the largest relative error of a degree."""

    residuals: np.ndarray  # (r,)
    degree_error: float


def sample_rows(n: int) -> np.ndarray:
    """The rows that are compared with the exact matrix: all of a small graph, else at least 32, at random."""
    if n <= ALL_ROWS:
        return np.arange(n)
    return np.random.default_rng(0).choice(n, max(FEWEST, PAIRS // n), replace=False)


def measure(operator: KernelOperator, mu: np.ndarray, U: np.ndarray, known: Known | None) -> Certificate:
    """|N u − μ u| of each pair on the true N.

    ``known`` is the part of the residual that the solver knows at every node, None where it vanishes. The
    sample of rows then has to find N − N̂ only.
    """
    n = len(operator.points)
    kernel = ExactKernel(operator.points, operator.kernel.sigma)
    rows = sample_rows(n)
    if len(rows) == n:
        G = kernel.matrix(operator.points)
        degrees = G.sum(axis=1) - operator.missing_loop
        defect = _defect(operator, mu, U, G @ (U / np.sqrt(degrees)[:, None]), degrees)
        residuals = 1.001 * np.linalg.norm(defect, axis=0) + ROUNDING
        return Certificate(residuals, float(np.abs(operator.degrees / degrees - 1).max()))
    at = operator.points[rows]

    def work(sources: slice) -> np.ndarray:
        columns = np.empty((sources.stop - sources.start, 1 + U.shape[1]))
        columns[:, 0] = 1
        np.divide(U[sources], np.sqrt(operator.degrees[sources])[:, None], out=columns[:, 1:])
        return kernel.matrix(at, sources) @ columns

    sums = sum(share_out(work, ranges(n, CHUNK)), np.zeros((len(rows), 1 + U.shape[1])))
    degrees = sums[:, 0] - operator.missing_loop
    defect = _defect(operator, mu, U[rows], sums[:, 1:], degrees)
    residuals = np.full(len(mu), ROUNDING)
    if known is not None:
        defect -= known.entries
        residuals += known.norms
    residuals += SAFETY * np.sqrt(n / len(rows)) * np.linalg.norm(defect, axis=0)
    return Certificate(residuals, float(np.abs(operator.degrees[rows] / degrees - 1).max()))


def _defect(
    operator: KernelOperator, mu: np.ndarray, U: np.ndarray, sums: np.ndarray, degrees: np.ndarray
) -> np.ndarray:
    """(N u − μ u) at some rows, from their entries of u and their Σ_j k(x_i, x_j) u_j/√d_j: (m, r)."""
    here = degrees[:, None]
    return sums / np.sqrt(here) - (operator.missing_loop / here + mu) * U
