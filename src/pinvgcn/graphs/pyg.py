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
    ``loops=1`` or ``sigma=100``.
    """
    if getattr(data, "hyperedge_index", None) is not None:
        nodes, edges = data.hyperedge_index.cpu().numpy()
        shape = (int(data.num_nodes or nodes.max() + 1), int(edges.max()) + 1)
        H = sp.coo_array((np.ones(len(nodes)), (nodes, edges)), shape=shape)
        weights = getattr(data, "hyperedge_weight", None)
        return Hypergraph(H, weights=None if weights is None else weights.cpu().numpy(), **options)
    if getattr(data, "edge_index", None) is not None:
        weight = getattr(data, "edge_weight", None)
        attributes = getattr(data, "edge_attr", None)
        if weight is None and attributes is not None and attributes.numel() == data.edge_index.shape[1]:
            weight = attributes
        return SparseGraph.from_edge_index(
            data.edge_index.cpu().numpy(),
            None if weight is None else weight.detach().cpu().numpy(),
            n_nodes=int(data.num_nodes),
            **options,
        )
    if getattr(data, "pos", None) is not None:
        return GaussianGraph(data.pos.detach().cpu().numpy(), **options)
    raise GraphError(f"data must have edge_index, hyperedge_index or pos. Got {data!r} instead.")


def to_pyg(graph: Graph, spectrum: Spectrum | None = None, *, x: Any = None, y: Any = None) -> Any:
    """A ``Data`` object with the graph and, where given, its spectrum, features and labels.

    The spectrum is attached as ``eigenvalues`` (r,), ``eigenvectors`` (n, r) and ``null_vectors`` (n, k).
    """
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise MissingDependencyError(
            "to_pyg needs torch_geometric, which is not installed; install pinvgcn[pyg]."
        ) from None
    data = Data(num_nodes=graph.n_nodes)
    if isinstance(graph, SparseGraph):
        A = graph.adjacency.tocoo()
        data.edge_index = torch.from_numpy(np.stack([A.row, A.col]).astype(np.int64))
        data.edge_weight = torch.from_numpy(A.data)
    elif isinstance(graph, Hypergraph):
        H = graph.incidence.tocoo()
        data.hyperedge_index = torch.from_numpy(np.stack([H.row, H.col]).astype(np.int64))
        data.hyperedge_weight = torch.from_numpy(graph.weights)
    elif isinstance(graph, GaussianGraph):
        data.pos = torch.from_numpy(graph.points)
    if spectrum is not None:
        data.eigenvalues = torch.from_numpy(spectrum.values)
        data.eigenvectors = torch.from_numpy(spectrum.vectors)
        data.null_vectors = torch.from_numpy(spectrum.null_vectors)
    if x is not None:
        data.x = torch.as_tensor(x)
    if y is not None:
        data.y = torch.as_tensor(y)
    return data
