"""Rows of a table as values of the smoothest functions on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.embedding.base import Eigenmap
from pinvgcn.graphs import Hypergraph, TableEncoder
from pinvgcn.graphs.table import warn_of_unseen
from pinvgcn.spectra import Spectrum


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
