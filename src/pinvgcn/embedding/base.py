"""What the transformers share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pinvgcn.checks import check_columns, check_count
from pinvgcn.errors import ModelFileError, RankWarning
from pinvgcn.graphs import Graph
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
        """Read a file that ``save`` wrote."""
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
