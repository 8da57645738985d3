"""How the rows that a user hands in become nodes of a graph, in training and ever after.

Three kinds: points of a cloud, rows of a table (``table_nodes.py``), nodes of a graph that is given. Each
makes the graph and the features of the training nodes; what ``FittedModel.place`` needs of new rows, such as
their features, depends on the kind.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import as_matrix, as_points, check_rows
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.distributed.rows import as_shared_matrix, in_subsample
from pinvgcn.errors import ColumnError, DataError, ExtrapolationWarning, ParameterError
from pinvgcn.experts.labels import RowLabels
from pinvgcn.features.exchange import pyramid_of_all
from pinvgcn.features.geometry import cell_of, lattice_for
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import LocalShapes, Pyramid
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph
from pinvgcn.nn import Basis
from pinvgcn.spectra import KernelExtension, Spectrum

SCAN = 2_000  # points in space, from which on what surrounds a point is local
OTHER_UNIT = 8  # times closer or wider: of cells, which are powers of two, so that ten times is always said
ROUNDING = 1e-6  # of degrees: that of a training point, computed anew, is not below itself
REACH = 6.0  # σ, beyond which nothing is joined
FAR = 4.0  # times the largest entry of an eigenvector in training, or that part of the smallest √degree
WORDS = {"categorical": "a table", "gaussian": "points"}
SPACE = 3  # columns of numbers of a frame, up to which they are coordinates


class Nodes(ABC):
    """The training nodes: their ``graph`` (None in a loaded model) and their own ``features`` (n, N₀)."""

    kind: ClassVar[str]
    graph: Graph | None
    features: Any  # array, or scipy sparse array for incidences
    coordinates: int = 0  # how many of the first features are coordinates of points

    @property
    def group(self) -> Group:
        """The processes that share out the nodes."""
        return ALONE if self.graph is None else self.graph.group

    @property
    def start(self) -> int:
        """The number of this process rank's first node among all."""
        return 0 if self.graph is None else self.graph.start

    @property
    def count(self) -> int:
        """How many nodes this process rank has."""
        return 0 if self.graph is None else self.graph.n_nodes

    def own(self, labels: RowLabels) -> RowLabels:
        """The labels of this process rank's nodes, counted from its first."""
        return labels.within(self.start, self.count)

    def for_networks(self, own: Any) -> Any:
        """What networks see of the rows' own features."""
        return own

    def state(self) -> dict[str, Any]:
        """What JSON keeps of it, to place rows."""
        return {}

    @classmethod
    @abstractmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> Nodes:
        """Able to place new rows, as in a saved model."""


class CloudNodes(Nodes):
    """Points joined by Gaussian weights; their features are coordinates and, of a scan, local shapes."""

    kind = "gaussian"
    pyramid: Pyramid | None  # the sums of this rank's points; None without local shapes

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
        self.pyramid, self.features = None, points
        if shapes is not None:
            given = _given_shapes(shapes, len(points), group)
            with together(group):
                self.pyramid = Pyramid.of(points, shapes.lattice)
        elif _with_geometry(geometry, points, self.graph.n_total):
            lattice = lattice_for(points, group=group)
            with together(group):
                self.pyramid = Pyramid.of(points, lattice)
            given = pyramid_of_all(self.pyramid, points, group).shapes(points)
        if self.pyramid is not None:
            near = gathered(points, self.graph.sigma, group)
            if near is not points:
                self.graph = GaussianGraph(near, sigma, loops=loops, process_group=group)
            self.features = np.hstack([near, given])

    @property
    def geometry(self) -> bool:
        """Whether the points have local shapes."""
        return self.pyramid is not None

    @property
    def lattice(self) -> Lattice | None:
        """The cells by which shapes are measured, in training and ever after."""
        return None if self.pyramid is None else self.pyramid.lattice

    def with_sigma(self, sigma: float) -> CloudNodes:
        """The same points, joined over another distance."""
        assert isinstance(self.graph, GaussianGraph)
        other = copy.copy(self)
        other.graph = GaussianGraph(self.graph.points, sigma, loops=self.graph.loops)
        return other

    def for_networks(self, own: Any) -> Any:
        """Coordinates, and shapes by cells of one size everywhere."""
        lattice = self.lattice
        return own if lattice is None else own[:, : own.shape[1] - len(lattice.names) + lattice.fixed]

    def without_place(self, own: np.ndarray, extra: np.ndarray | None) -> np.ndarray:
        """Local shapes, and what was given ``extra``: nothing of where a point lies."""
        assert self.lattice is not None
        shapes = own[:, own.shape[1] - len(self.lattice.names) :]
        most = np.finfo(np.float32).max  # trees see single precision
        return shapes if extra is None else np.hstack([shapes, np.clip(extra, -most, most)])

    def place_anywhere(self, points: np.ndarray, spectrum: Spectrum) -> tuple[np.ndarray, np.ndarray]:
        """Basis values (m, k + r), and which points lie outside the training cloud: a mask (m,)."""
        extension = spectrum.extension
        assert isinstance(extension, KernelExtension)
        V, alone = extension.where_joined(points)
        V[alone] = 0.0
        return V, alone | outside(V, spectrum)

    def place(self, X: Any, spectrum: Spectrum, *, among: str = "training") -> tuple[Basis, Any]:
        """Basis values (m, k + r) and features (m, N₀) of any points, ``among`` those of training or their
        "own": what surrounds a point is taken there."""
        points = as_points(X, "X")
        V = spectrum.extend_basis(points)
        far = int(outside(V, spectrum, 1 / FAR).sum())
        if far:
            warnings.warn(
                f"{far} of {len(points)} points lie far outside the training cloud: nothing supports the "
                "prediction there, and its probabilities mean little.",
                ExtrapolationWarning,
                stacklevel=5,  # the caller of predict
            )
        return Basis(V), self.features_of(points, among=among)

    def features_of(self, points: np.ndarray, *, among: str) -> np.ndarray:
        """Coordinates and local shapes within the cloud of training, or within the points' own: (m, N₀)."""
        if self.pyramid is None:
            return points
        if among == "training":
            return np.hstack([points, self.pyramid.shapes(points)])
        said = self.other_unit(points)
        if said is not None:
            # the caller of predict
            warnings.warn(f"{said[0].upper()}{said[1:]}.", ExtrapolationWarning, stacklevel=5)
        return np.hstack([points, Pyramid.of(points, self.pyramid.lattice).shapes(points)])

    def other_unit(self, points: np.ndarray) -> str | None:
        """What to say where the points of another scan are far closer or wider apart than those of training:
        most often it is in another unit. None where they are not."""
        if self.pyramid is None or len(points) < SCAN:
            return None
        ratio = cell_of(points) / (2 * self.pyramid.lattice.cell)
        if 1 / OTHER_UNIT < ratio < OTHER_UNIT:
            return None
        apart = f"{ratio:g} times wider" if ratio > 1 else f"{1 / ratio:g} times closer"
        return (
            f"the points lie about {apart} apart than those of training: is the scan in another unit? Local "
            "shapes are measured at the scale of training"
        )

    def state(self) -> dict[str, Any]:
        lattice = self.lattice
        return {} if lattice is None else {"cell": lattice.cell, "levels": lattice.levels}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> CloudNodes:
        nodes = cls.__new__(cls)
        nodes.graph, nodes.points, nodes.pyramid = None, np.empty((0, 3)), None
        if "cell" in state:
            nodes.pyramid = Pyramid.from_state(Lattice(state["cell"], state["levels"]), arrays)
        return nodes


def gathered(points: np.ndarray, sigma: float, group: Group) -> np.ndarray:
    """The points of a scan as its graph and its networks have them: strays are moved to the border.

    A point that nothing joins to the others would be a component of its own, for which all pairs of points
    would have to be looked at; and it would press the coordinates of all others together. Strays are farther
    from the middle than 99 of 100 points by more than 6 σ, where weights are below 10⁻¹⁵. Local shapes and
    averages have them where they are.
    """
    start, total = group.offset(len(points))
    pool = group.rows(points[in_subsample(start, len(points), total)])
    middle = np.median(pool, axis=0)
    border = float(np.quantile(np.linalg.norm(pool - middle, axis=1), 0.99))
    away = np.linalg.norm(points - middle, axis=1)
    stray = away > border + REACH * sigma
    if not group.sum(int(stray.sum())):
        return points
    near = points.copy()
    near[stray] = middle + (points[stray] - middle) * (border / away[stray])[:, None]
    return near


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


def outside(V: np.ndarray, spectrum: Spectrum, least: float = 1 - ROUNDING) -> np.ndarray:
    """Which points with basis values V (m, k + r) the training cloud does not support: a mask (m,).

    Away from the cloud eigenvectors first grow far beyond what they are in it, and then die out with √degree,
    of which the null vectors are made, below ``least`` times the smallest there.
    """
    grown = np.abs(V).max(axis=1) > FAR * spectrum.largest
    lost = np.linalg.norm(V[:, : spectrum.components], axis=1) < spectrum.smallest * least
    return grown | lost


def _given_shapes(shapes: Any, n: int, group: Group) -> np.ndarray:
    """Local shapes that were computed elsewhere, one row a point."""
    if not isinstance(shapes, LocalShapes):
        raise ParameterError(
            f"shapes must be LocalShapes, which know their cells. Got {type(shapes).__name__} instead."
        )
    given = as_shared_matrix(shapes.values, "shapes", group)
    with together(group):
        check_rows(given, n, "shapes", "rows of X")
    names = shapes.lattice.names
    if given.shape[1] != len(names):
        raise DataError(
            f"shapes must have the {len(names)} columns of local_geometry. Got {given.shape[1]} instead."
        )
    return given


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

    def place(self, X: Any, spectrum: Spectrum) -> tuple[Basis, Any]:
        """Basis values (n, k + r) of the nodes, and their features, maybe others: (n, N₀)."""
        features = self.features if X is None else _given_features(X, spectrum.n_nodes)
        if features.shape[1] != self.features.shape[1]:
            raise ColumnError(
                f"X must have {self.features.shape[1]} columns as in fit. Got {features.shape[1]} instead."
            )
        return Basis(spectrum.basis), features

    def state(self) -> dict[str, Any]:
        return {"sparse": sp.issparse(self.features)}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> GraphNodes:
        nodes = cls.__new__(cls)
        features = arrays["features"]
        nodes.graph, nodes.features = None, sp.csr_array(features) if state.get("sparse") else features
        return nodes


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


def is_scan(nodes: Nodes) -> bool:
    """Whether these are points with local shapes, what "auto" is made for."""
    return isinstance(nodes, CloudNodes) and nodes.geometry


def graph_kind(X: Any, group: Group = ALONE) -> str:
    """ "categorical" for a table, "gaussian" for points; the same on all ranks.

    A frame is a table if it has more than three columns, or one that is not of numbers: text, categories,
    truth values, dates, objects. An array or a list is one if it holds text; other arrays are points. Ranks
    without rows have no say.
    """
    with together(group):
        own = "categorical" if _is_table(X) else "gaussian"
        rows = _count(X)
    told = group.values([own, rows])
    said = {rank: kind for rank, (kind, count) in enumerate(told) if count} or {0: told[0][0]}
    first = next(iter(said))
    for rank, kind in said.items():
        if kind != said[first]:
            raise DataError(
                f"X must be a table on all ranks or points on all. Got {WORDS[said[first]]} on rank {first} "
                f"and {WORDS[kind]} on rank {rank}; use columns of the same types, or pass "
                "graph='categorical' or 'gaussian'."
            )
    return said[first]


def _is_table(X: Any) -> bool:
    if isinstance(X, pd.DataFrame):
        return X.shape[1] > SPACE or not all(_is_number(dtype) for dtype in X.dtypes)
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths, which are refused later
        return False
    if array.dtype.kind == "O":
        return any(isinstance(cell, str) for cell in array.flat)
    return array.dtype.kind in "UST"


def _count(X: Any) -> int:
    """How many rows X has; what has no rows at all is refused later."""
    shape = getattr(X, "shape", (len(X),) if isinstance(X, list | tuple) else ())
    return int(shape[0]) if shape else 0


def _is_number(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
