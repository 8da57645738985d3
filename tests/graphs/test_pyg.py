"""Graphs to PyTorch Geometric and back: the same graph, with its spectrum."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn import GaussianGraph, Hypergraph, SparseGraph
from pinvgcn.errors import GraphError, MissingDependencyError
from pinvgcn.graphs import Graph, from_pyg, to_pyg

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from torch_geometric.data import Data

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 3))
INCIDENCE = np.hstack([RNG.integers(0, 3, (30, 1)) == np.arange(3) for _ in range(2)]).astype(float)


def adjacency() -> np.ndarray:
    A = np.triu(RNG.random((25, 25)) * (RNG.random((25, 25)) < 0.2), 1)
    A[np.arange(24), np.arange(1, 25)] += 0.5
    return A + A.T


A = adjacency()
GRAPHS: dict[str, Graph] = {
    "sparse": SparseGraph(A),
    "sparse-loops": SparseGraph(A, loops=1),
    "sparse-kept-loops": SparseGraph(A + np.diag(np.arange(25.0) % 2), loops="keep"),
    "sparse-last-node-alone": SparseGraph(sp.block_diag([A, np.zeros((2, 2))]), loops=1),
    "hypergraph": Hypergraph(INCIDENCE),
    "hypergraph-weights": Hypergraph(INCIDENCE, weights=np.linspace(0.5, 2, 6)),
    "hypergraph-multiplicities": Hypergraph(INCIDENCE * 2.5),
    "gaussian": GaussianGraph(POINTS, 1.5),
    "gaussian-loops": GaussianGraph(POINTS, 2.5, loops=1.0),
    "gaussian-reversed": GaussianGraph(POINTS[::-1], 2.5, loops=1.0),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_there_and_back(name: str) -> None:
    graph = GRAPHS[name]
    spectrum = graph.spectrum(4)
    data = to_pyg(graph, spectrum, x=np.ones((len(graph), 2)), y=np.arange(len(graph)))
    assert isinstance(data, Data)
    assert data.validate()
    assert data.num_nodes == len(graph)
    for attached, array in (
        (data.eigenvalues, spectrum.values),
        (data.eigenvectors, spectrum.vectors),
        (data.null_vectors, spectrum.null_vectors),
        (data.x, np.ones((len(graph), 2))),
        (data.y, np.arange(len(graph))),
    ):
        np.testing.assert_array_equal(attached.numpy(), array)
    again = from_pyg(data)
    assert type(again) is type(graph)
    assert repr(again) == repr(graph)
    np.testing.assert_array_equal(again.degrees, graph.degrees)
    identity = np.eye(len(graph))
    np.testing.assert_array_equal(
        again.normalized_adjacency @ identity, graph.normalized_adjacency @ identity
    )
    np.testing.assert_array_equal(again.spectrum(4).values, spectrum.values)


def test_without_a_spectrum_nothing_is_attached() -> None:
    data = to_pyg(GRAPHS["sparse"])
    assert "eigenvalues" not in data
    assert "x" not in data


def test_the_graph_is_not_shared() -> None:
    graph = GaussianGraph(POINTS.copy(), 1.5)
    data = to_pyg(graph)
    data.pos *= 7
    np.testing.assert_array_equal(graph.points, POINTS)


def test_options_go_before_what_was_noted() -> None:
    assert from_pyg(to_pyg(GRAPHS["gaussian"]), sigma=3.0, loops=1.0).degrees == pytest.approx(
        GaussianGraph(POINTS, 3.0, loops=1.0).degrees
    )
    plain = from_pyg(to_pyg(GRAPHS["sparse-loops"]), loops=0)
    np.testing.assert_array_equal(plain.adjacency.toarray(), A)


def test_what_others_make() -> None:
    """Data that no ``to_pyg`` made: weights in edge_attr, gradients, features beside, nothing noted."""
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    weights = torch.tensor([2.0, 2.0, 3.0, 3.0])
    expected = np.array([[0, 2, 0], [2, 0, 3], [0, 3, 0.0]])
    plain = from_pyg(Data(edge_index=edges, num_nodes=3))
    np.testing.assert_array_equal(plain.adjacency.toarray(), (expected > 0).astype(float))
    for data in (
        Data(edge_index=edges, edge_weight=weights, num_nodes=3),
        Data(edge_index=edges, edge_attr=weights, num_nodes=3),
        Data(edge_index=edges, edge_attr=weights[:, None], num_nodes=3),
        Data(edge_index=edges, edge_weight=weights.clone().requires_grad_(), num_nodes=3),
        Data(edge_index=edges, edge_weight=weights, x=torch.ones(3, 2), pos=torch.ones(3, 3)),
    ):
        np.testing.assert_array_equal(from_pyg(data).adjacency.toarray(), expected)
    many = Data(edge_index=edges, edge_attr=torch.ones(4, 2), num_nodes=3)  # attributes are no weights
    np.testing.assert_array_equal(from_pyg(many).adjacency.toarray(), (expected > 0).astype(float))
    loose = Data(edge_index=edges, num_nodes=4)
    with pytest.raises(GraphError, match=r"isolated node \(first: node 3\)"):
        from_pyg(loose)
    assert from_pyg(loose, loops=1).n_nodes == 4
    hyper = Data(hyperedge_index=torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1]]), num_nodes=3)
    np.testing.assert_array_equal(from_pyg(hyper).incidence.toarray(), [[1, 0], [1, 1], [0, 1]])
    hyper.hyperedge_weight = torch.tensor([2.0, 3.0], requires_grad=True)
    np.testing.assert_array_equal(from_pyg(hyper).degrees, [2, 5, 3])
    cloud = from_pyg(Data(pos=torch.from_numpy(POINTS)))
    assert cloud.sigma == GaussianGraph(POINTS).sigma


def test_what_is_no_graph() -> None:
    with pytest.raises(GraphError, match=r"edge_index, hyperedge_index or pos\. Got Data"):
        from_pyg(Data(x=torch.ones(3, 2)))
    with pytest.raises(GraphError, match="symmetric"):
        from_pyg(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
    with pytest.raises(GraphError, match="shape"):
        from_pyg(Data(hyperedge_index=torch.zeros((2, 0), dtype=torch.long), num_nodes=3))


def test_without_torch_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    data = to_pyg(GRAPHS["sparse"])
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)  # what an import of it then meets
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(
        MissingDependencyError, match=r"PyTorch Geometric: pip install torch_geometric"
    ) as caught:
        to_pyg(GRAPHS["sparse"])
    assert isinstance(caught.value, ImportError)
    assert from_pyg(data).n_nodes == 25  # taking a graph in needs nothing
