"""Points as values of the smoothest functions on their cloud."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import pdist

from pinvgcn.checks import as_points
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.embedding.base import Eigenmap
from pinvgcn.graphs import GaussianGraph
from pinvgcn.spectra import Spectrum

FEW = 100_000  # points up to which six digits cost little
FINE, COARSE = 1e-6, 1e-4


class GaussianEigenmap(Eigenmap):
    """Laplacian eigenvectors of the fully connected graph of points, as features of any points.

    The graph joins all points by exp(−|x − y|²/σ²) and is never written down: in up to three dimensions all
    work is linear in the number of points. The features are the eigenvectors of the ``rank`` smallest λ > 0
    of L = I − D^(−1/2) A D^(−1/2), smoothest first, with a mean square of 1 over the fitted rows. At new rows
    they are the same functions (docs/maths.md, 5.2). No labels are needed.

    Parameters
    ----------
    rank : int, optional
        How many eigenvectors; by default 10, or as many as there are.
    sigma : float or "auto"
        The distance over which points see each other. "auto" takes the one at which 1 − λ sums to
        ``rank``/4 over all λ > 0: so many smooth eigenvectors are there (docs/maths.md, 6.5).
    loops : float
        The weight that joins each point to itself. With 1, as in diffusion maps and kernel methods, all
        eigenvectors are smooth functions of position; with 0 they are those of scikit-learn's
        ``SpectralEmbedding(affinity="rbf", gamma=1 / sigma**2)``, there divided by √d.
    solver : str
        See ``GaussianGraph.spectrum``.
    tolerance : float, optional
        The largest residual |L u − λ u| that is accepted; by default 1e-6 up to 100,000 points and 1e-4
        beyond.
    random_state : int
        Of the vectors that an iteration starts from; the same seed gives the same bits.

    Attributes
    ----------
    eigenvalues_, residuals_, certificate_, spectrum_, n_features_in_, feature_names_in_
        See ``Eigenmap``.
    sigma_ : float
        The σ of the graph, chosen or given.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from pinvgcn import GaussianEigenmap
    >>> from pinvgcn.datasets import generate_street
    >>> street = generate_street(2_000, random_state=0)
    >>> model = make_pipeline(GaussianEigenmap(40), LogisticRegression()).fit(street.X, street.y)
    >>> model[:-1].transform(street.X[:5]).shape
    (5, 40)
    """

    sigma_: float

    def __init__(
        self,
        rank: int | None = None,
        sigma: float | str = "auto",
        *,
        loops: float = 1.0,
        solver: str = "auto",
        tolerance: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def _find(self, X: Any) -> Spectrum:
        points = as_points(X, "X")
        automatic = isinstance(self.sigma, str) and self.sigma == "auto"
        sigma = sigma_for_rank(points, min(self._wanted(), len(points))) if automatic else self.sigma
        graph = GaussianGraph(points, sigma, loops=self.loops)
        self.sigma_ = graph.sigma
        usual = FINE if len(points) <= FEW else COARSE
        return self._spectrum(graph, usual if self.tolerance is None else self.tolerance)

    def _extend(self, X: Any) -> np.ndarray:
        return self.spectrum_.extend(as_points(X, "X"))

    def _state(self) -> dict[str, Any]:
        return {"sigma": self.sigma_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.sigma_ = float(state["sigma"])


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
