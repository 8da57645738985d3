"""How the rows that a user hands in become nodes of a graph, in training and ever after.

Three kinds: points of a cloud, rows of a table, nodes of a graph that is given. Each makes the graph
and the features of the training nodes, and places new rows: what a spectrum's extension needs to
evaluate its basis there, and their features.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import as_matrix, as_points, check_rows
from pinvgcn.errors import ColumnError, DataError, ExtrapolationWarning, ParameterError, UnseenValueWarning
from pinvgcn.features import geometry_names, local_geometry
from pinvgcn.features.spread import geometry_over_ranks
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph, TableEncoder
from pinvgcn.group import ALONE, Group, together
from pinvgcn.nn import Basis
from pinvgcn.shares import as_shared_matrix
from pinvgcn.spectra import IncidenceExtension, Spectrum

SCAN = 2_000  # points in space, from which on neighbourhoods of up to 300 are local
ROUNDING = 1e-6  # of degrees: that of a training point, computed anew, is not below itself
FAR = 4.0  # times the largest entry of an eigenvector in training, or that part of the smallest √degree


class Nodes(ABC):
    """The training nodes: their ``graph`` (None in a loaded model) and their own ``features`` (n, N₀)."""

    kind: ClassVar[str]
    graph: Graph | None
    features: Any  # array, or scipy sparse array for incidences
    coordinates: int = 0  # how many of the first features are coordinates of points

    @abstractmethod
    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        """Basis values (m, k + r) and features (m, N₀) of the rows of X, points ``among`` those of training
        or their "own": that is where neighbourhoods are taken."""

    def state(self) -> dict[str, Any]:
        """What JSON keeps of it, for ``place``."""
        return {}


class CloudNodes(Nodes):
    """Points joined by Gaussian weights; their features are coordinates and, of a scan, local shapes."""

    kind = "gaussian"

    def __init__(
        self,
        X: Any,
        *,
        sigma: float | str,
        loops: float,
        geometry: bool | str = False,
        shapes: Any = None,
        group: Group = ALONE,
    ) -> None:
        points = as_shared_matrix(X, "X", group)
        self.graph = GaussianGraph(points, sigma, loops=loops, process_group=group)
        self.points = points
        self.coordinates = points.shape[1]
        self.geometry = _with_geometry(geometry if shapes is None else True, points, self.graph.n_total)
        if shapes is not None:
            self.features = np.hstack([points, _given_shapes(shapes, len(points), group)])
        elif self.geometry and not group.alone:
            self.features = np.hstack([points, geometry_over_ranks(points, group=group)])
        else:
            self.features = self._features(points, points)

    def with_sigma(self, sigma: float) -> CloudNodes:
        """The same points, joined over another distance."""
        assert isinstance(self.graph, GaussianGraph)
        other = copy.copy(self)
        other.graph = GaussianGraph(self.points, sigma, loops=self.graph.loops)
        return other

    def _features(self, points: np.ndarray, cloud: np.ndarray) -> np.ndarray:
        return np.hstack([points, local_geometry(points, cloud)]) if self.geometry else points

    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        points = as_points(X, "X")
        V = spectrum.extend_basis(points)
        far = _count_far(V, spectrum)
        if far:
            warnings.warn(
                f"{far} of {len(points)} points lie far outside the training cloud: nothing supports the "
                "prediction there, and its probabilities mean little.",
                ExtrapolationWarning,
                stacklevel=5,  # the caller of predict
            )
        return Basis(V), self._features(points, points if among == "own" else self.points)

    def state(self) -> dict[str, Any]:
        return {"geometry": self.geometry}

    def is_local(self, neighbours: int | None) -> bool:
        """Whether new points have neighbours in the cloud that count."""
        return self.geometry or neighbours is not None


def _with_geometry(geometry: bool | str, points: np.ndarray, total: int) -> bool:
    """Whether these points, some of ``total``, get local shapes."""
    if isinstance(geometry, str) and geometry == "auto":
        return points.shape[1] == 3 and total >= SCAN
    if not isinstance(geometry, bool | np.bool_):
        raise ParameterError(f"geometry must be True, False or 'auto'. Got {geometry!r} instead.")
    if geometry and points.shape[1] != 3:
        raise ParameterError(
            f"geometry=True needs points with x, y and z. Got {points.shape[1]} columns; leave it 'auto'."
        )
    return bool(geometry)


def _count_far(V: np.ndarray, spectrum: Spectrum) -> int:
    """How many points with basis values V (m, k + r) lie outside: away from the cloud eigenvectors first grow
    beyond what they are in it, and then die out with √degree, of which the null vectors are made."""
    k = spectrum.null_vectors.shape[1]
    grown = np.abs(V).max(axis=1) > FAR * spectrum.largest
    lost = np.linalg.norm(V[:, :k], axis=1) < spectrum.smallest / FAR
    return int((grown | lost).sum())


def outside(V: np.ndarray, spectrum: Spectrum) -> np.ndarray:
    """Which points with basis values V (m, k + r) the training cloud does not support: their degree is below
    the smallest there, or an eigenvector is far beyond what it is there. A mask (m,)."""
    k = spectrum.null_vectors.shape[1]
    grown = np.abs(V).max(axis=1) > FAR * spectrum.largest
    lost = np.linalg.norm(V[:, :k], axis=1) < spectrum.smallest * (1 - ROUNDING)
    mask: np.ndarray = grown | lost
    return mask


class PlacedNodes(CloudNodes):
    """Points whose basis values and local shapes are known: ``place`` computes nothing."""

    def __init__(self, nodes: CloudNodes, V: np.ndarray, shapes: np.ndarray | None) -> None:
        self.graph, self.points, self.geometry = None, nodes.points, nodes.geometry
        self.V, self.shapes = V, shapes

    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        return Basis(self.V), X if self.shapes is None else np.hstack([X, self.shapes])


def _given_shapes(shapes: Any, n: int, group: Group) -> np.ndarray:
    """Local shapes that were computed elsewhere, one row a point."""
    given = as_shared_matrix(shapes, "shapes", group)
    with together(group):
        check_rows(given, n, "shapes", "rows of X")
    names = geometry_names()
    if given.shape[1] != len(names):
        raise DataError(
            f"shapes must have the {len(names)} columns of local_geometry. Got {given.shape[1]} instead."
        )
    return given


class TableNodes(Nodes):
    """Rows joined by the values that they share; their features are these values, one-hot."""

    kind = "categorical"

    def __init__(
        self, X: Any, *, bins: int, binning: str, missing: str, min_size: int, group: Group = ALONE
    ) -> None:
        graph = Hypergraph.from_table(
            X, bins=bins, binning=binning, missing=missing, min_size=min_size, process_group=group
        )
        assert graph.encoder is not None
        self.graph = graph
        self.encoder: TableEncoder = graph.encoder
        self.features = graph.incidence

    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        H, unseen = self.encoder.transform(X)
        met = {column: count for column, count in unseen.items() if count}
        if met:
            listed = ", ".join(f"{column!r} ({count} rows)" for column, count in list(met.items())[:5])
            warnings.warn(
                f"Values that training never saw were ignored in {len(met)} columns: {listed}"
                f"{' and others' if len(met) > 5 else ''}.",
                UnseenValueWarning,
                stacklevel=5,  # the caller of predict
            )
        extension = spectrum.extension
        assert isinstance(extension, IncidenceExtension)
        return Basis(extension.factor(H), extension.coefficients), sp.csr_array(H)

    def state(self) -> dict[str, Any]:
        return {"encoder": self.encoder.to_dict()}


class GraphNodes(Nodes):
    """The nodes of a graph that was handed in; without X, what the graph is made of are the features."""

    kind = "given"

    def __init__(self, graph: Graph, X: Any) -> None:
        self.graph = graph
        if X is not None:
            with together(graph.group):
                self.features = _given_features(X, graph.n_nodes, least=1 if graph.group.alone else 0)
        elif isinstance(graph, Hypergraph):
            self.features = graph.incidence
        elif isinstance(graph, GaussianGraph):
            self.features = graph.points
        else:
            raise DataError(
                "X must hold a row of features for each node of a sparse graph. Got None instead; "
                "without features pass numpy.eye(n)."
            )

    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        features = self.features if X is None else _given_features(X, spectrum.n_nodes)
        if features.shape[1] != self.features.shape[1]:
            raise ColumnError(
                f"X must have {self.features.shape[1]} columns as in fit. Got {features.shape[1]} instead."
            )
        return Basis(spectrum.basis), features

    def state(self) -> dict[str, Any]:
        return {"sparse": sp.issparse(self.features)}


def _given_features(X: Any, n: int, *, least: int = 1) -> Any:
    """Features as numbers, one row a node. Sparse ones, such as the words of papers, stay sparse."""
    if sp.issparse(X) and X.nnz:
        features = sp.csr_array(X)
        entries = as_matrix(features.data[:, None], "X").ravel()
        features = sp.csr_array((entries, features.indices, features.indptr), shape=features.shape)
    else:
        features = as_matrix(X.toarray() if hasattr(X, "toarray") else X, "X", least=least)
    check_rows(features, n, "X", "nodes of the graph (a graph that was given classifies its own nodes only)")
    return features


def nodes_of(
    X: Any,
    graph: Any,
    *,
    sigma: float | str,
    loops: float,
    geometry: bool | str,
    bins: int,
    binning: str,
    missing: str,
    min_size: int,
    shapes: Any = None,
    group: Group = ALONE,
) -> Nodes:
    """The nodes that X stands for, by the ``graph`` argument of the classifier."""
    if shapes is not None and not (isinstance(graph, str) and graph == "gaussian"):
        raise ParameterError(
            "shapes must be None but for graph='gaussian': only points have local shapes. "
            f"Got graph={graph!r}."
        )
    if isinstance(graph, Graph):
        return GraphNodes(graph, X)
    if isinstance(graph, str) and graph == "gaussian":
        return CloudNodes(X, sigma=sigma, loops=loops, geometry=geometry, shapes=shapes, group=group)
    if isinstance(graph, str) and graph == "categorical":
        return TableNodes(X, bins=bins, binning=binning, missing=missing, min_size=min_size, group=group)
    raise ParameterError(f"graph must be 'gaussian', 'categorical' or a Graph. Got {graph!r} instead.")


def nodes_from_state(kind: str, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Nodes:
    """The nodes of a saved model, able to ``place`` new rows."""
    nodes: Nodes
    if kind == CloudNodes.kind:
        cloud = CloudNodes.__new__(CloudNodes)
        cloud.geometry = state.get("geometry", False)  # format 2 has none
        cloud.points = arrays.get("cloud", np.empty((0, 3)))
        nodes = cloud
    elif kind == TableNodes.kind:
        table = TableNodes.__new__(TableNodes)
        table.encoder = TableEncoder.from_dict(state["encoder"])
        nodes = table
    else:
        nodes = GraphNodes.__new__(GraphNodes)
        features = arrays["features"]
        nodes.features = sp.csr_array(features) if state.get("sparse") else features
    nodes.graph = None
    return nodes
