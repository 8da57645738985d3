"""σ without labels: the width at which the eigenvectors that are asked for are there, and smooth."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import pdist

from pinvgcn.distributed.rows import in_subsample

FEWEST, MOST = 1_024, 4_096  # points that are looked at
EACH = 16  # of them for an eigenvector
SHARE = 0.25  # of the rank, that 1 − λ sums to
PRECISION = 1e-3  # of log σ


def sigma_for_rank(points: np.ndarray, rank: int) -> float:
    """The σ at which 1 − λ, summed over all eigenvalues λ > 0, is ``rank``/4 (docs/maths.md, 6.5).

    With loops of weight 1 that sum is Σ_i 1/d_i − 1: from n − 1 where each point sees itself alone to 0 where
    each sees all others. It is estimated from up to 4,096 points, always the same. Where points coincide and
    no σ gives so large a sum, σ is the smallest distance; where all do, 1.
    """
    n = len(points)
    some = points[in_subsample(0, n, n, most=min(max(FEWEST, EACH * rank), MOST))]
    squares = pdist(some, "sqeuclidean")
    apart = squares[squares > 0]
    if not len(apart):
        return 1.0

    def excess(log_sigma: float) -> float:
        """Σ_i 1/d_i − 1 − ``rank``/4, the degrees among all n points by those among some."""
        weights = np.exp(-squares * math.exp(-2 * log_sigma))
        degrees = 1 + (n - 1) * _row_means(weights, len(some))
        return n * float(np.mean(1 / degrees)) - 1 - SHARE * rank

    # at three times the largest distance each weight is above 0.89: the sum is below 1/8
    low, high = (0.5 * math.log(square) for square in (float(apart.min()), 9 * float(apart.max())))
    if excess(low) <= 0:
        return math.exp(low)
    return math.exp(brentq(excess, low, high, xtol=PRECISION))


def _row_means(pairs: np.ndarray, m: int) -> np.ndarray:
    """The mean over each point's m − 1 pairs, from those of ``pdist``: (m,)."""
    sums, start = np.zeros(m), 0
    for row in range(m - 1):
        own = pairs[start : start + m - 1 - row]
        sums[row] += own.sum()
        sums[row + 1 :] += own
        start += m - 1 - row
    means: np.ndarray = sums / (m - 1)
    return means
