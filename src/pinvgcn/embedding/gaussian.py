"""Points as values of the smoothest functions on their cloud."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pinvgcn.checks import as_points, check_count
from pinvgcn.embedding.bandwidth import sigma_for_rank
from pinvgcn.embedding.base import Eigenmap
from pinvgcn.errors import RankWarning
from pinvgcn.graphs import GaussianGraph
from pinvgcn.spectra import Spectrum

RANK = 10
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
        How many eigenvectors; by default 10, or as many as there are. Where fewer exist than the number that
        was asked for there are fewer columns, and a ``RankWarning``.
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
    eigenvalues_ : (r,) array
        λ, ascending.
    residuals_ : (r,) array
        |L u − λ u| of each, measured with the exact kernel (docs/solvers.md).
    certificate_ : dict
        What is known of their exactness: ``Spectrum.certificate``.
    sigma_ : float
        The σ of the graph, chosen or given.
    spectrum_ : Spectrum
        The eigenvectors as functions. It does not keep their values at the fitted rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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
        self.rank = rank
        self.sigma = sigma
        self.loops = loops
        self.solver = solver
        self.tolerance = tolerance
        self.random_state = random_state

    def _find(self, X: Any) -> Spectrum:
        points = as_points(X, "X")
        rank = RANK if self.rank is None else check_count("rank", self.rank)
        automatic = isinstance(self.sigma, str) and self.sigma == "auto"
        sigma = sigma_for_rank(points, min(rank, len(points))) if automatic else self.sigma
        graph = GaussianGraph(points, sigma, loops=self.loops)
        self.sigma_ = graph.sigma
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = FINE if len(points) <= FEW else COARSE
        with warnings.catch_warnings():
            if self.rank is None:  # nobody asked for so many
                warnings.simplefilter("ignore", RankWarning)
            return graph.spectrum(
                rank, solver=self.solver, tolerance=tolerance, random_state=self.random_state
            )

    def _extend(self, X: Any) -> np.ndarray:
        return self.spectrum_.extend(as_points(X, "X"))

    def _state(self) -> dict[str, Any]:
        return {"sigma": self.sigma_}

    def _restore(self, state: dict[str, Any]) -> None:
        self.sigma_ = float(state["sigma"])
