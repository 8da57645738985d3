"""Spectra in PyTorch Geometric: transforms that add eigenvectors, and the layer that uses them.

The names are those of its own ``AddLaplacianEigenvectorPE``. ``PinvConv`` takes a ``SpectrumBatch.of(data)``,
of one graph or of a batch from a ``DataLoader``. Graphs themselves are exchanged by ``from_pyg`` and
``to_pyg``. Needs the extra ``pyg``.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.checks import check_count
from pinvgcn.embedding import sigma_for_rank
from pinvgcn.errors import GraphError, MissingDependencyError, RankWarning
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph, SparseGraph, from_pyg, to_pyg
from pinvgcn.graphs.pyg import as_array
from pinvgcn.nn import PinvConv, SpectrumBatch
from pinvgcn.nn.conv import NAMES, PE

try:
    from torch_geometric.data.datapipes import functional_transform
    from torch_geometric.data.hypergraph_data import HyperGraphData
    from torch_geometric.transforms import BaseTransform
except ImportError:
    raise MissingDependencyError("pinvgcn.pyg needs PyTorch Geometric: pip install torch_geometric") from None

__all__ = [
    "AddGaussianEigenvectors",
    "AddHypergraphEigenvectors",
    "AddSparseEigenvectors",
    "PinvConv",
    "SpectrumBatch",
    "from_pyg",
    "to_pyg",
]


class AddEigenvectors(BaseTransform):
    """What the three transforms share: one spectrum a graph, attached to its ``Data``.

    Every graph of a ``Batch`` gets its own. Columns beyond the eigenvectors that a small graph has are zeros.
    """

    def __init__(self, k: int, attr_name: str | None = PE) -> None:
        self.k = check_count("k", k)
        self.attr_name = attr_name

    @abstractmethod
    def graphs(self, data: Any, batch: np.ndarray) -> list[Graph]:
        """The graphs of a ``Data`` or ``Batch`` object, ``batch`` the graph of each node."""

    def forward(self, data: Any) -> Any:
        nodes = data.num_nodes
        if not nodes:
            raise GraphError(f"data must have nodes. Got {data!r} instead.")
        batch = getattr(data, "batch", None)
        which = np.zeros(nodes, dtype=np.int64) if batch is None else as_array(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)  # what is not there is padded
            spectra = [graph.spectrum(self.k) for graph in self.graphs(data, which)]
        found = SpectrumBatch.from_spectra(spectra, rank=self.k)
        device = _device(data)
        if self.attr_name is None:
            _append(data, found.vectors.to(device))
            return data
        data[self.attr_name] = found.vectors.to(device)
        for name, value in zip(NAMES, (found.values, found.null_index, found.null_value), strict=True):
            data[name] = value.to(device)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.k})"


@functional_transform("add_gaussian_eigenvectors")
class AddGaussianEigenvectors(AddEigenvectors):
    """Adds Laplacian eigenvectors of the fully connected Gaussian graph of ``data.pos`` (functional name:
    ``add_gaussian_eigenvectors``).

    Edges are not used and none are made: the graph of all pairs is never written down.

    Parameters
    ----------
    k : int
        The number of non-trivial eigenvectors.
    attr_name : str, optional
        The attribute of the data object to add them to, (n, k), "laplacian_eigenvector_pe" by default. With
        None they are concatenated to ``data.x``. Beside them go ``laplacian_eigenvalue`` (1, k) and the null
        vectors by their entries, ``laplacian_null_index`` and ``laplacian_null_value``, which
        ``SpectrumBatch.of`` reads.
    sigma : float or "auto"
        The distance over which points see each other; "auto" for each cloud by ``sigma_for_rank``.
    loops : float
        The weight that joins each point to itself.
    """

    def __init__(
        self, k: int, attr_name: str | None = PE, *, sigma: float | str = "auto", loops: float = 1.0
    ) -> None:
        super().__init__(k, attr_name)
        self.sigma = sigma
        self.loops = loops

    def graphs(self, data: Any, batch: np.ndarray) -> list[Graph]:
        if getattr(data, "pos", None) is None:
            raise GraphError(f"data must have pos, the coordinates of its nodes. Got {data!r} instead.")
        graphs: list[Graph] = []
        for cloud in _parts(as_array(data.pos).astype(np.float64), batch):
            sigma = sigma_for_rank(cloud, min(self.k, len(cloud))) if self.sigma == "auto" else self.sigma
            graphs.append(GaussianGraph(cloud, sigma, loops=self.loops))
        return graphs


@functional_transform("add_hypergraph_eigenvectors")
class AddHypergraphEigenvectors(AddEigenvectors):
    """Adds Laplacian eigenvectors of a hypergraph (functional name: ``add_hypergraph_eigenvectors``).

    The hyperedges are those of ``data.hyperedge_index``, or of ``edge_index`` of a ``HyperGraphData``, with
    weights in ``data.hyperedge_weight`` if they have any. Every node must belong to a hyperedge. Parameters
    are those of ``AddGaussianEigenvectors``.
    """

    def graphs(self, data: Any, batch: np.ndarray) -> list[Graph]:
        name = "edge_index" if isinstance(data, HyperGraphData) else "hyperedge_index"
        index = getattr(data, name, None)
        if index is None:
            raise GraphError(f"data must have {name}. Got {data!r} instead.")
        node, edge = as_array(index)
        weights = as_array(getattr(data, "hyperedge_weight", None))
        graphs: list[Graph] = []
        used = 0
        for number, rows in enumerate(_parts(np.arange(len(batch)), batch)):
            own = batch[node] == number
            # by their order alone: numbers of hyperedges may clash between the graphs of a batch
            edges, place = np.unique(edge[own], return_inverse=True)
            entries = (np.ones(own.sum()), (node[own] - rows[0], place))
            mine = None if weights is None else weights[used : used + len(edges)]
            used += len(edges)
            graphs.append(Hypergraph(sp.coo_array(entries, shape=(len(rows), len(edges))), mine))
        if weights is not None and used != len(weights):
            raise GraphError(
                f"hyperedge_weight must have an entry for each of the {used} hyperedges with nodes. "
                f"Got {len(weights)} instead."
            )
        return graphs


@functional_transform("add_sparse_eigenvectors")
class AddSparseEigenvectors(AddEigenvectors):
    """Adds Laplacian eigenvectors of ``data.edge_index`` (functional name: ``add_sparse_eigenvectors``).

    Those of ``AddLaplacianEigenvectorPE``, but exact to 1e-6, of any number of connected components, whose
    null vectors are not among them, with signs that do not change, and with the eigenvalues that ``PinvConv``
    needs. Edges must go both ways.

    Parameters
    ----------
    k, attr_name
        See ``AddGaussianEigenvectors``.
    loops : float
        The weight that joins each node to itself, above 0 where nodes may be without edges.
    """

    def __init__(self, k: int, attr_name: str | None = PE, *, loops: float = 0.0) -> None:
        super().__init__(k, attr_name)
        self.loops = loops

    def graphs(self, data: Any, batch: np.ndarray) -> list[Graph]:
        whole = copy.copy(data)
        whole.num_nodes = len(batch)
        whole.hyperedge_index = whole.pos = None
        if getattr(whole, "edge_index", None) is None:
            raise GraphError(f"data must have edge_index. Got {data!r} instead.")
        graph = from_pyg(whole, loops=self.loops)
        assert isinstance(graph, SparseGraph)
        if batch[-1] == 0:
            return [graph]
        parts = _parts(np.arange(len(batch)), batch)
        return [SparseGraph(graph.adjacency[own][:, own], loops="keep") for own in parts]


def _parts(rows: np.ndarray, batch: np.ndarray) -> list[np.ndarray]:
    """The rows of each graph."""
    return np.split(rows, np.flatnonzero(np.diff(batch)) + 1)


def _append(data: Any, vectors: torch.Tensor) -> None:
    """As further columns of x, or as x."""
    x = getattr(data, "x", None)
    columns = [] if x is None else [x.view(-1, 1) if x.dim() == 1 else x]
    like = columns[0] if columns else vectors
    data.x = torch.cat([*columns, vectors.to(like)], dim=-1)


def _device(data: Any) -> torch.device:
    tensors = (value for value in data.to_dict().values() if torch.is_tensor(value))
    return next((tensor.device for tensor in tensors), torch.device("cpu"))
