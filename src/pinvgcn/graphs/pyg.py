"""Graphs from and to PyTorch Geometric ``Data`` objects, where torch_geometric is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.errors import GraphError, MissingDependencyError
from pinvgcn.graphs.base import Graph
from pinvgcn.graphs.gaussian import GaussianGraph
from pinvgcn.graphs.hypergraph import Hypergraph
from pinvgcn.graphs.sparse import SparseGraph
from pinvgcn.spectra import Spectrum


def from_pyg(data: Any, **options: Any) -> Graph:
    """The graph that a ``Data`` object holds.

    ``hyperedge_index`` gives a Hypergraph, ``edge_index`` (with ``edge_weight`` or a single-column
    ``edge_attr``) a SparseGraph, ``pos`` alone a GaussianGraph. ``options`` go to that graph, e.g.
    ``loops=1`` or ``sigma=100``; by default they are what ``to_pyg`` noted on the object.
    """
    noted = {name: getattr(data, name, None) for name in ("sigma", "loops")}
    options = {name: value for name, value in noted.items() if value is not None} | options
    if getattr(data, "hyperedge_index", None) is not None:
        nodes, edges = data.hyperedge_index.cpu().numpy()
        shape = (max(data.num_nodes or 0, nodes.max(initial=-1) + 1), edges.max(initial=-1) + 1)
        entries = as_array(getattr(data, "incidence_weight", None))
        H = sp.coo_array((np.ones(len(nodes)) if entries is None else entries, (nodes, edges)), shape=shape)
        return Hypergraph(H, weights=as_array(getattr(data, "hyperedge_weight", None)), **options)
    if getattr(data, "edge_index", None) is not None:
        weight = getattr(data, "edge_weight", None)
        attributes = getattr(data, "edge_attr", None)
        if weight is None and attributes is not None and attributes.numel() == data.edge_index.shape[1]:
            weight = attributes
        return SparseGraph.from_edge_index(
            as_array(data.edge_index), as_array(weight), n_nodes=data.num_nodes, **options
        )
    if getattr(data, "pos", None) is not None:
        return GaussianGraph(as_array(data.pos), **options)
    raise GraphError(f"data must have edge_index, hyperedge_index or pos. Got {data!r} instead.")


def to_pyg(graph: Graph, spectrum: Spectrum | None = None, *, x: Any = None, y: Any = None) -> Any:
    """A ``Data`` object with the graph and, where given, its spectrum, features and labels.

    The spectrum is attached as ``eigenvalues`` (r,), ``eigenvectors`` (n, r) and ``null_vectors`` (n, k).
    ``loops``, ``sigma`` and entries of an incidence matrix other than 1 (``incidence_weight``) are noted, so
    that ``from_pyg`` gives the same graph again.
    """
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise MissingDependencyError("to_pyg needs PyTorch Geometric: pip install torch_geometric") from None
    data = Data(num_nodes=graph.n_nodes)
    if isinstance(graph, SparseGraph):
        A = graph.adjacency.tocoo()
        data.edge_index = _tensor(np.stack([A.row, A.col]).astype(np.int64))
        data.edge_weight = _tensor(A.data)
        data.loops = graph.loops
    elif isinstance(graph, Hypergraph):
        H = graph.incidence.tocoo()
        data.hyperedge_index = _tensor(np.stack([H.row, H.col]).astype(np.int64))
        data.hyperedge_weight = _tensor(graph.weights)
        if not (H.data == 1).all():
            data.incidence_weight = _tensor(H.data)
    elif isinstance(graph, GaussianGraph):
        data.pos = _tensor(graph.points)
        data.sigma, data.loops = graph.sigma, graph.loops
    if spectrum is not None:
        data.eigenvalues = _tensor(spectrum.values)
        data.eigenvectors = _tensor(spectrum.vectors)
        data.null_vectors = _tensor(spectrum.null_vectors)
    if x is not None:
        data.x = torch.as_tensor(x)
    if y is not None:
        data.y = torch.as_tensor(y)
    return data


def _tensor(array: np.ndarray) -> torch.Tensor:
    """A copy: what happens to the ``Data`` object must not change the graph."""
    return torch.from_numpy(np.array(array, order="C"))


def as_array(tensor: Any) -> Any:
    """On this side; None stays None."""
    return None if tensor is None else tensor.detach().cpu().numpy()
