"""Points, and rows of a table, as values of the smoothest functions on all of them."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pinvgcn.checks import as_points, check_columns, check_count
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import ModelFileError, RankWarning
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph, TableEncoder
from pinvgcn.graphs.table import warn_of_unseen
from pinvgcn.io.tensors import load_tensors, plain, reading, save_tensors
from pinvgcn.spectra import Spectrum

RANK = 10


class Eigenmap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """√n u_i(x): the eigenvectors of a graph of n rows, as functions of a row with a mean square of 1.

    ``GaussianEigenmap`` and ``HypergraphEigenmap`` say which graph. The ``rank`` is 10 by default, or as
    many as there are. Where fewer exist than the number that was asked for there are fewer columns, and a
    ``RankWarning``.

    Attributes
    ----------
    eigenvalues_ : (r,) array
        λ, ascending.
    residuals_ : (r,) array
        |L u − λ u| of each.
    certificate_ : dict
        What is known of their exactness: ``Spectrum.certificate``.
    spectrum_ : Spectrum
        The eigenvectors as functions. It does not keep their values at the fitted rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    rank: int | None
    solver: str
    random_state: int
    spectrum_: Spectrum
    eigenvalues_: np.ndarray
    residuals_: np.ndarray
    certificate_: dict[str, Any]
    feature_names_in_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def _find(self, X: Any) -> Spectrum:
        """The spectrum of the graph of these rows."""

    @abstractmethod
    def _extend(self, X: Any) -> np.ndarray:
        """Its eigenvectors at any rows: (m, r)."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """What was found beside the spectrum, for JSON."""

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """The inverse of ``_state``."""

    def _wanted(self) -> int:
        return RANK if self.rank is None else check_count("rank", self.rank)

    def _spectrum(self, graph: Graph, tolerance: float) -> Spectrum:
        """Of this graph, with a warning of a short one where a rank was asked for."""
        options: dict[str, Any] = {"tolerance": tolerance, "random_state": self.random_state}
        with warnings.catch_warnings():
            if self.rank is None:  # nobody asked for so many
                warnings.simplefilter("ignore", RankWarning)
            return graph.spectrum(self._wanted(), solver=self.solver, **options)

    @property
    def _n_features_out(self) -> int:
        return self.spectrum_.rank

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the eigenvectors of the graph of the rows of X; y is not used."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """``fit``, and the features of the rows of X: (n, r). Nothing is computed twice."""
        vectors = self._learn(X).vectors
        vectors *= np.sqrt(len(vectors))  # in place: nobody else has them
        return vectors

    def transform(self, X: Any) -> np.ndarray:
        """The features of any rows, seen or not: (m, r)."""
        check_is_fitted(self, "spectrum_")
        check_columns(self, X, reset=False)
        vectors = self._extend(X)
        vectors *= np.sqrt(self.spectrum_.n_nodes)
        return vectors

    def _learn(self, X: Any) -> Spectrum:
        """Fit, and the spectrum with its rows, which are not kept."""
        spectrum = self._find(X)
        check_columns(self, X, reset=True)
        self._adopt(spectrum.without_rows(), spectrum.certificate)
        return spectrum

    def _adopt(self, spectrum: Spectrum, certificate: dict[str, Any]) -> None:
        self.spectrum_ = spectrum
        self.eigenvalues_, self.residuals_ = spectrum.values, spectrum.residuals
        self.certificate_ = certificate

    def save(self, path: str | Path) -> None:
        """Write a safetensors file (docs/file_format.md)."""
        check_is_fitted(self, "spectrum_")
        spectrum, arrays = self.spectrum_.state()
        description = {
            "map": type(self).__name__,
            "parameters": {name: plain(name, value) for name, value in self.get_params(deep=False).items()},
            "columns": getattr(self, "feature_names_in_", np.array([])).tolist(),
            "n_features_in": self.n_features_in_,
            "found": self._state(),
            "certificate": self.certificate_,
            "spectrum": spectrum,
        }
        save_tensors(path, "eigenmap", description, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        description, arrays = load_tensors(path, "eigenmap")
        if description.get("map") != cls.__name__:
            raise ModelFileError(
                f"{path} must hold a {cls.__name__}. Got a {description.get('map')!r} instead."
            )
        with reading(path):
            eigenmap = cls(**description["parameters"])
            eigenmap._adopt(Spectrum.from_state(description["spectrum"], arrays), description["certificate"])
            eigenmap._restore(description["found"])
            eigenmap.n_features_in_ = int(description["n_features_in"])
            if description["columns"]:
                eigenmap.feature_names_in_ = np.array(description["columns"], dtype=object)
        return eigenmap


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
    return sums / (m - 1)


class HypergraphEigenmap(Eigenmap):
    """Laplacian eigenvectors of the hypergraph of a table, as features of any rows.

    Rows that share a value share a hyperedge: text, categories and truth values as they are, numbers by bins.
    The features are the eigenvectors of the ``rank`` smallest λ > 0, smoothest first, with a mean square of
    1 over the fitted rows. New rows are placed by the values that they share with these; values never seen
    are ignored, with an ``UnseenValueWarning``, and a row that has none but such values is an error.

    Parameters
    ----------
    rank : int, optional
        How many eigenvectors; by default 10, or as many as there are.
    bins, binning, missing, min_size
        How a table becomes a hypergraph; see ``Hypergraph.from_table``. By default bins hold equally many
        rows (``binning="quantile"``).
    solver, tolerance, random_state
        See ``Hypergraph.spectrum``.

    Attributes
    ----------
    eigenvalues_, residuals_, certificate_, spectrum_, n_features_in_, feature_names_in_
        See ``Eigenmap``.
    encoder_ : TableEncoder
        The hyperedges: which values they stand for.

    Examples
    --------
    >>> from pinvgcn import HypergraphEigenmap
    >>> from pinvgcn.datasets import load_dataset
    >>> mushrooms = load_dataset("mushroom")
    >>> HypergraphEigenmap(5).fit_transform(mushrooms.X).shape
    (8124, 5)
    """

    encoder_: TableEncoder

    def __init__(
        self,
        rank: int | None = None,
        bins: int = 10,
        *,
        binning: str = "quantile",
        missing: str = "ignore",
        min_size: int = 2,
        solver: str = "auto",
        tolerance: float = 1e-8,
        random_state: int = 0,
    ) -> None:
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _find(self, X: Any) -> Spectrum:
        graph = Hypergraph.from_table(
            X, bins=self.bins, binning=self.binning, missing=self.missing, min_size=self.min_size
        )
        assert graph.encoder is not None
        self.encoder_ = graph.encoder
        return self._spectrum(graph, self.tolerance)

    def _extend(self, X: Any) -> np.ndarray:
        incidence, unseen = self.encoder_.transform(X)
        warn_of_unseen(unseen, stacklevel=4)
        return self.spectrum_.extend(incidence)

    def _state(self) -> dict[str, Any]:
        return {"encoder": self.encoder_.to_dict()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.encoder_ = TableEncoder.from_dict(state["encoder"])
