"""The baseline networks against PyTorch Geometric's own layers and against dense formulas."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from pinvgcn import Hypergraph
from pinvgcn.errors import MissingDependencyError
from pinvgcn.nn.baselines.networks import (
    ARMA,
    GCN,
    HGNN,
    GraphSAGE,
    HyperGCN,
    Network,
    averaging,
    normalised,
    renormalised,
)
from pinvgcn.nn.baselines.training import (
    GraphInputs,
    HypergraphInputs,
    SparseProduct,
    classify,
    train_baseline,
)
from pinvgcn.nn.dropout import DropoutKey, keep_mask

RNG = np.random.default_rng(0)
N, CLASSES = 40, 3
LABELS = np.full(N, -1)
LABELS[[3, 17, 21, 30]] = [0, 1, 2, 1]


def random_graph() -> sp.csr_array:
    A = np.triu(RNG.random((N, N)) * (RNG.random((N, N)) < 0.08), 1)
    A[0], A[:, 0] = 0, 0  # a node without neighbours
    return sp.csr_array(A + A.T)


A = random_graph()
X = RNG.normal(size=(N, 5))
SPARSE_X = sp.random_array((N, 60), density=0.05, rng=RNG)
INCIDENCE = np.hstack([RNG.integers(0, 3, (N, 1)) == np.arange(3) for _ in range(3)]).astype(float)
HYPERGRAPH = Hypergraph(INCIDENCE, np.linspace(0.5, 2, 9))
OPERATORS = {GCN: renormalised, GraphSAGE: averaging, ARMA: normalised, HyperGCN: renormalised}


@pytest.fixture(autouse=True)
def _double(double: None) -> None:
    """Everything here is compared to the last digits."""


def inputs_of(kind: Any, features: Any = X) -> GraphInputs | HypergraphInputs:
    if kind is HGNN:
        return HypergraphInputs(HYPERGRAPH, features)
    return GraphInputs(OPERATORS[kind](A), features)


def built(kind: Any, features: int) -> Network:
    torch.manual_seed(1)
    network = kind(features, CLASSES)
    for parameter in network.parameters():
        if parameter.ndim == 1 or parameter.abs().sum() == 0:
            nn.init.normal_(parameter)  # biases that are zero would hide mistakes
    return network.eval()


def scores(network: Network, inputs: GraphInputs | HypergraphInputs) -> Tensor:
    return network(inputs.field(None, network.depth)).detach()


def edges() -> tuple[Tensor, Tensor]:
    coo = A.tocoo()
    return torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)), torch.from_numpy(coo.data)


def test_products_and_their_gradients() -> None:
    S = sp.random_array((7, 9), density=0.3, rng=RNG)
    Y = torch.randn(9, 4, requires_grad=True)
    product = SparseProduct.of(S)
    dense = torch.from_numpy(S.toarray())
    torch.testing.assert_close(product @ Y, dense @ Y)
    torch.testing.assert_close(product.T @ torch.ones(7, 2), dense.T @ torch.ones(7, 2))
    G = torch.randn(7, 4)
    (gradient,) = torch.autograd.grad(product @ Y, Y, G)
    torch.testing.assert_close(gradient, dense.T @ G)


@pytest.mark.parametrize("features", [X, SPARSE_X], ids=["dense", "sparse"])
def test_gcn_is_that_of_pytorch_geometric(features: Any) -> None:
    layers = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is not installed")
    network = built(GCN, features.shape[1])
    first, second = layers.GCNConv(features.shape[1], 32), layers.GCNConv(32, CLASSES)
    first.load_state_dict(network.conv1.state_dict())
    second.load_state_dict(network.conv2.state_dict())
    F = torch.from_numpy(features.toarray() if sp.issparse(features) else features)
    index, weight = edges()
    theirs = second(torch.relu(first(F, index, weight)), index, weight).detach()
    torch.testing.assert_close(scores(network, inputs_of(GCN, features)), theirs)


@pytest.mark.parametrize("features", [X, SPARSE_X], ids=["dense", "sparse"])
def test_graph_sage_is_that_of_pytorch_geometric(features: Any) -> None:
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    network = built(GraphSAGE, features.shape[1])
    F = torch.from_numpy(features.toarray() if sp.issparse(features) else features)
    index, _ = edges()
    theirs = network.conv2(torch.relu(network.conv1(F, index)), index).detach()
    torch.testing.assert_close(scores(network, inputs_of(GraphSAGE, features)), theirs)


@pytest.mark.parametrize("features", [X, SPARSE_X], ids=["dense", "sparse"])
def test_arma_is_that_of_pytorch_geometric(features: Any) -> None:
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    network = built(ARMA, features.shape[1])
    F = torch.from_numpy(features.toarray() if sp.issparse(features) else features)
    index, weight = edges()
    theirs = network.conv2(network.conv1(F, index, weight), index, weight).detach()
    torch.testing.assert_close(scores(network, inputs_of(ARMA, features)), theirs)


def test_hgnn_is_its_dense_formula() -> None:
    network = built(HGNN, 5)
    H, W = torch.from_numpy(INCIDENCE), torch.diag(torch.from_numpy(HYPERGRAPH.weights))
    B = torch.diag(H.sum(dim=0))
    D = torch.diag((H @ W).sum(dim=1))
    half = torch.linalg.inv(torch.sqrt(D))
    G = half @ H @ W @ torch.linalg.inv(B) @ H.T @ half
    p = dict(network.named_parameters())
    hidden = torch.relu(G @ torch.from_numpy(X) @ p["weight1"] + p["bias1"])
    torch.testing.assert_close(
        scores(network, inputs_of(HGNN)), (G @ hidden @ p["weight2"] + p["bias2"]).detach()
    )


def test_hypergcn_is_its_dense_formula() -> None:
    network = built(HyperGCN, 5)
    loops = A.toarray() + np.eye(N)
    half = np.diag(loops.sum(axis=1) ** -0.5)
    S = torch.from_numpy(half @ loops @ half)
    p = dict(network.named_parameters())
    hidden = torch.relu(S @ torch.from_numpy(X) @ p["weight1"] + p["bias1"])
    torch.testing.assert_close(
        scores(network, inputs_of(HyperGCN)), (S @ hidden @ p["weight2"] + p["bias2"]).detach()
    )


@pytest.mark.parametrize("kind", [GCN, GraphSAGE, ARMA, HGNN, HyperGCN])
def test_the_loss_needs_no_more_than_its_field(kind: Any) -> None:
    """Scores at some nodes and their gradients, in training: the same from the field as from all nodes."""
    if kind in (GCN, GraphSAGE, ARMA):
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    network, inputs = built(kind, 5).train(), inputs_of(kind)
    rows = torch.tensor([0, 3, 17, 21])
    few, everything = inputs.field(rows, network.depth), inputs.field(None, network.depth)
    if isinstance(inputs, GraphInputs):
        assert len(few.nodes[0]) < N
    G = torch.randn(4, CLASSES)
    found, whole = network(few, (7, 2)), network(everything, (7, 2))[rows]
    torch.testing.assert_close(found, whole)
    parameters = list(network.parameters())
    for one, other in zip(
        torch.autograd.grad(found, parameters, G), torch.autograd.grad(whole, parameters, G), strict=True
    ):
        torch.testing.assert_close(one, other)
    assert (network(few, (7, 2)) == found).all()
    assert (network(few, (7, 3)) != found).any()
    network.eval()
    assert (network(few, (7, 2)) == network(few)).all()


@pytest.mark.parametrize("settings", [{}, {"learning_rate": 0.05}])
def test_training_is_adam_with_decay_on_weights_alone(settings: dict[str, float]) -> None:
    """Five epochs of HGNN, against a loop over dense matrices."""
    G = torch.from_numpy((HYPERGRAPH.factor @ HYPERGRAPH.factor.T).toarray())
    network, losses = train_baseline(HGNN, inputs_of(HGNN), LABELS, CLASSES, seed=4, epochs=5, **settings)
    torch.manual_seed(4)
    p = dict(HGNN(5, CLASSES).named_parameters())
    optimizer = torch.optim.Adam(
        [
            {"params": [p["weight1"], p["weight2"]], "weight_decay": 0.0005},
            {"params": [p["bias1"], p["bias2"]], "weight_decay": 0.0},
        ],
        lr=settings.get("learning_rate", 0.01),
    )
    nodes = np.flatnonzero(LABELS >= 0)
    for epoch in range(5):
        hidden = torch.relu(G @ torch.from_numpy(X) @ p["weight1"] + p["bias1"])
        hidden = 2 * hidden * keep_mask(torch.arange(N), 32, 0.5, DropoutKey(4, epoch, 1))
        output = (G @ hidden @ p["weight2"] + p["bias2"])[nodes]
        loss = nn.functional.cross_entropy(output, torch.from_numpy(LABELS[nodes]))
        assert losses[epoch] == pytest.approx(float(loss.detach()), rel=1e-9)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter, p[name])


@pytest.mark.parametrize("kind", [GCN, GraphSAGE, ARMA, HyperGCN])
def test_two_communities(kind: Any) -> None:
    """Labels of two nodes reach their cliques; a seed tells the result, and leaves the generator alone."""
    if kind is not HyperGCN:
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    clique = np.ones((8, 8)) - np.eye(8)
    inputs = GraphInputs(OPERATORS[kind](sp.block_diag([clique, clique], format="csr")), np.eye(16))
    labels = np.full(16, -1)
    labels[[0, 15]] = [1, 0]
    before = torch.get_rng_state()
    network, losses = train_baseline(kind, inputs, labels, 2, seed=3, epochs=100)
    assert (torch.get_rng_state() == before).all()
    assert losses[-1] < 0.1 < losses[0]
    np.testing.assert_array_equal(classify(network, inputs), [1] * 8 + [0] * 8)
    assert train_baseline(kind, inputs, labels, 2, seed=3, epochs=100)[1] == losses
    assert train_baseline(kind, inputs, labels, 2, seed=4, epochs=100)[1] != losses


def test_without_torch_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)  # what an import of it then meets
    for kind in (GCN, GraphSAGE, ARMA):
        with pytest.raises(MissingDependencyError, match=r"pip install torch_geometric"):
            kind(3, 2)
    HGNN(3, 2), HyperGCN(3, 2)  # these need nothing
