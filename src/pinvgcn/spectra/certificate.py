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
class Certificate:
    """``residuals`` of each pair, not below the true ones, and the largest relative error of a degree."""

    residuals: np.ndarray  # (r,)
    degree_error: float


def measure(operator: KernelOperator, mu: np.ndarray, U: np.ndarray, known: np.ndarray | None) -> Certificate:
    """|N u − μ u| of each pair on the true N.

    ``known`` (n, r) is N̂u − μu on the operator N̂ that the solver works with, None where it vanishes: the
    part of the residual that every node knows. A sample of rows then has to find N − N̂ only.
    """
    n = len(operator.points)
    kernel = ExactKernel(operator.points, operator.kernel.sigma)
    if n <= ALL_ROWS:
        G = kernel.matrix(operator.points)
        degrees = G.sum(axis=1) - operator.missing_loop
        defect = _defect(operator, mu, U, G @ (U / np.sqrt(degrees)[:, None]), degrees, np.arange(n))
        residuals = 1.001 * np.linalg.norm(defect, axis=0) + ROUNDING
        return Certificate(residuals, float(np.abs(operator.degrees / degrees - 1).max()))
    rows = np.random.default_rng(0).choice(n, min(n, max(FEWEST, PAIRS // n)), replace=False)
    at = operator.points[rows]

    def work(sources: slice) -> np.ndarray:
        columns = np.empty((sources.stop - sources.start, 1 + U.shape[1]))
        columns[:, 0] = 1
        np.divide(U[sources], np.sqrt(operator.degrees[sources])[:, None], out=columns[:, 1:])
        return kernel.matrix(at, sources) @ columns

    sums = np.zeros((len(rows), 1 + U.shape[1]))
    for part in share_out(work, ranges(n, CHUNK)):
        sums += part
    degrees = sums[:, 0] - operator.missing_loop
    defect = _defect(operator, mu, U, sums[:, 1:], degrees, rows)
    seen = np.zeros(len(mu))
    if known is not None:
        defect -= known[rows]
        seen = np.linalg.norm(known, axis=0)
    estimate = SAFETY * np.sqrt(n / len(rows)) * np.linalg.norm(defect, axis=0)
    return Certificate(
        seen + estimate + ROUNDING, float(np.abs(operator.degrees[rows] / degrees - 1).max())
    )


def _defect(
    operator: KernelOperator, mu: np.ndarray, U: np.ndarray, sums: np.ndarray, degrees: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """(N u − μ u) at some rows, from their Σ_j k(x_i, x_j) u_j/√d_j: (m, r)."""
    here = degrees[:, None]
    return sums / np.sqrt(here) - (operator.missing_loop / here + mu) * U[rows]
