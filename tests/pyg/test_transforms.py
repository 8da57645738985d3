"""Eigenvectors on ``Data`` objects: against dense eigenproblems, alone and in batches."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from oracles import eigenpairs, gaussian_adjacency, normalised, sine

pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

import torch_geometric.transforms as T
from torch_geometric.data import Batch, Data
from torch_geometric.data.hypergraph_data import HyperGraphData
from torch_geometric.loader import DataLoader

from pinvgcn.errors import GraphError, MissingDependencyError, ParameterError
from pinvgcn.nn import SpectrumBatch
from pinvgcn.pyg import AddGaussianEigenvectors, AddHypergraphEigenvectors, AddSparseEigenvectors

pytestmark = pytest.mark.usefixtures("double")
RNG = np.random.default_rng(0)
CLOUDS = [Data(pos=torch.from_numpy(RNG.normal(size=(n, 3))), y=torch.zeros(n)) for n in (30, 50, 9)]
RING = torch.tensor([[*range(12), *range(12)], [*range(1, 12), 0, 11, *range(11)]])
HYPER = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 4], [0, 0, 0, 1, 1, 1, 2, 2]])
PAIR = torch.tensor([[0, 1, 1, 2], [0, 0, 1, 1]])
PLAIN = [Data(hyperedge_index=HYPER, num_nodes=5), Data(hyperedge_index=PAIR, num_nodes=3)]
OWN = [HyperGraphData(torch.ones(5, 1), HYPER), HyperGraphData(torch.ones(3, 1), PAIR)]


def laplacian_vectors(A: np.ndarray, k: int) -> np.ndarray:
    return eigenpairs(normalised(A))[1][:, 1 : k + 1]


def test_a_cloud():
    data = AddGaussianEigenvectors(4, sigma=1.5)(CLOUDS[0])
    A = gaussian_adjacency(CLOUDS[0].pos.numpy(), 1.5, 1.0)
    mu, U = eigenpairs(normalised(A))
    assert sine(U[:, 1:5], data.laplacian_eigenvector_pe.numpy()) < 1e-8
    np.testing.assert_allclose(data.laplacian_eigenvalue.numpy(), 1 - mu[None, 1:5], atol=1e-10)
    null = np.zeros(30)
    null[data.laplacian_null_index[0]] = data.laplacian_null_value
    np.testing.assert_allclose(null, np.sqrt(A.sum(axis=1) / A.sum()), atol=1e-12)
    assert "laplacian_eigenvector_pe" not in CLOUDS[0], "the data that came in stay as they are"
    assert data.validate()


def test_conventions_of_add_laplacian_eigenvector_pe():
    """The same attribute, k and shape; concatenated to x with attr_name=None; functional names; Compose."""
    ring = Data(edge_index=RING, num_nodes=12)
    theirs = T.AddLaplacianEigenvectorPE(2, is_undirected=True)(ring)
    ours = AddSparseEigenvectors(2)(ring)
    assert theirs.laplacian_eigenvector_pe.shape == ours.laplacian_eigenvector_pe.shape
    assert (
        sine(theirs.laplacian_eigenvector_pe.double().numpy(), ours.laplacian_eigenvector_pe.numpy()) < 1e-6
    )
    cloud = Data(pos=CLOUDS[0].pos, x=torch.ones(30, dtype=torch.float32))
    joined = T.Compose([T.NormalizeScale(), AddGaussianEigenvectors(3, attr_name=None)])(cloud)
    assert joined.x.shape == (30, 4)
    assert joined.x.dtype == torch.float32
    assert "laplacian_eigenvalue" not in joined
    assert AddGaussianEigenvectors(3, attr_name=None)(Data(pos=CLOUDS[0].pos)).x.shape == (30, 3)
    assert AddGaussianEigenvectors(3, "pe")(CLOUDS[0]).pe.shape == (30, 3)
    assert repr(AddGaussianEigenvectors(3)) == "AddGaussianEigenvectors(3)"


@pytest.mark.parametrize(
    ("transform", "graphs"),
    [
        (AddGaussianEigenvectors(12), CLOUDS),  # more than the third cloud has
        (AddSparseEigenvectors(3), [Data(edge_index=RING, num_nodes=12)] * 2),
        (AddHypergraphEigenvectors(2), PLAIN),
        (AddHypergraphEigenvectors(2), OWN),
    ],
    ids=["gaussian", "sparse", "hypergraph", "HyperGraphData"],
)
def test_a_batch_of_transformed_graphs_is_the_transformed_batch(transform, graphs):
    batch = next(iter(DataLoader([transform(graph) for graph in graphs], batch_size=len(graphs))))
    whole = transform(Batch.from_data_list(graphs))
    for name in ("eigenvector_pe", "eigenvalue", "null_value"):
        np.testing.assert_array_equal(batch[f"laplacian_{name}"], whole[f"laplacian_{name}"])
    one, other = (SpectrumBatch.of(data) for data in (batch, whole))
    X = torch.from_numpy(RNG.normal(size=(len(batch.batch), 2)))
    np.testing.assert_allclose(one.null_part(X), other.null_part(X), atol=1e-15)
    again = batch.to_data_list()
    for graph, separate in zip(graphs, again, strict=True):
        np.testing.assert_array_equal(
            separate.laplacian_eigenvector_pe, transform(graph).laplacian_eigenvector_pe
        )


def test_small_graphs_are_padded():
    data = AddGaussianEigenvectors(12)(CLOUDS[2])
    assert data.laplacian_eigenvector_pe.shape == (9, 12)
    assert (data.laplacian_eigenvector_pe[:, 8:] == 0).all()
    assert (data.laplacian_eigenvalue[0, 8:] == 1).all()
    assert (data.laplacian_eigenvector_pe[:, :8] ** 2).sum(0).numpy() == pytest.approx(1)


def test_hyperedges_by_their_formula():
    data = AddHypergraphEigenvectors(2)(
        Data(hyperedge_index=HYPER, num_nodes=5, hyperedge_weight=torch.tensor([1.0, 2.0, 3.0]))
    )
    H = np.zeros((5, 3))
    H[HYPER[0], HYPER[1]] = 1
    A = H * [1, 2, 3] / H.sum(axis=0) @ H.T
    assert sine(laplacian_vectors(A, 2), data.laplacian_eigenvector_pe.numpy()) < 1e-8


def test_bad_input_has_one_clear_line():
    with pytest.raises(ParameterError, match="k must be a whole number"):
        AddGaussianEigenvectors(0)
    with pytest.raises(GraphError, match=r"must have pos.*Got Data"):
        AddGaussianEigenvectors(2)(Data(x=torch.ones(3, 2)))
    with pytest.raises(GraphError, match=r"must have hyperedge_index"):
        AddHypergraphEigenvectors(2)(CLOUDS[0])
    with pytest.raises(GraphError, match=r"must have edge_index"):
        AddSparseEigenvectors(2)(CLOUDS[0])
    with pytest.raises(GraphError, match="must have laplacian_eigenvector_pe, as AddGaussianEigenvectors"):
        SpectrumBatch.of(CLOUDS[0])
    with pytest.raises(GraphError, match="Got 1 isolated node"):
        AddSparseEigenvectors(2)(Data(edge_index=RING, num_nodes=13))
    with pytest.raises(GraphError, match="hyperedge_weight must have an entry for each of the 3"):
        AddHypergraphEigenvectors(2)(Data(hyperedge_index=HYPER, num_nodes=5, hyperedge_weight=torch.ones(4)))


def test_without_torch_geometric(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "pinvgcn.pyg")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingDependencyError, match="pip install torch_geometric"):
        import pinvgcn.pyg  # noqa: F401
