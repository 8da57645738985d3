"""One loop that trains every baseline network; and what is constant meanwhile: graph, features, products."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from pinvgcn.checks import UNLABELLED, check_count, check_positive
from pinvgcn.errors import TrainingError
from pinvgcn.graphs import Hypergraph
from pinvgcn.nn.rows import Bags
from pinvgcn.nn.training import Labels

if TYPE_CHECKING:
    from pinvgcn.nn.baselines.networks import Network


@dataclass(frozen=True)
class SparseProduct:
    """Y = S X and ∂X = Sᵀ ∂Y, both by rows: Sᵀ is stored beside S.

    Several times faster on a processor than ``torch.sparse``, which transposes S in each backward pass.
    """

    forward: Bags
    backward: Bags  # of Sᵀ

    @classmethod
    def of(cls, matrix: Any) -> SparseProduct:
        S = sp.csr_array(matrix)
        return cls(Bags.of(S), Bags.of(sp.csr_array(S.T)))

    def __matmul__(self, X: Tensor) -> Tensor:
        return _Product.apply(X, self.forward, self.backward)

    @property
    def T(self) -> SparseProduct:
        """Sᵀ"""
        return SparseProduct(self.backward, self.forward)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor, forward: Bags, backward: Bags) -> Tensor:
        ctx.adjoint = backward
        return forward @ X

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return ctx.adjoint @ gradients[0], None, None


Factor = Tensor | SparseProduct  # what stands on the left of weights: A @ W
SPARSE = 0.1  # the share of entries up to which a sparse product is faster


def as_factor(matrix: Any) -> Factor:
    """Features, as they are multiplied fastest."""
    if sp.issparse(matrix) and matrix.nnz <= SPARSE * matrix.shape[0] * matrix.shape[1]:
        return SparseProduct.of(matrix)
    return as_tensor(matrix)


def as_tensor(matrix: Any) -> Tensor:
    array = np.ascontiguousarray(matrix.toarray() if sp.issparse(matrix) else matrix)
    return torch.from_numpy(array).to(torch.get_default_dtype())


@dataclass(frozen=True)
class Field:
    """The receptive field of some nodes: before each product with S, only the nodes that the next ones see.

    A convolution at a node needs its neighbours alone, so the loss at a few labelled nodes needs a network of
    d products only d steps around them, and its gradient is that of all nodes (10.9 of docs/maths.md).
    """

    nodes: tuple[Tensor, ...]  # (m_0,) … (m_d,): the rows of each product's input, and of the scores
    products: tuple[SparseProduct, ...]  # S from nodes[l] to nodes[l + 1]
    own: tuple[Any, ...]  # where nodes[l + 1] are among nodes[l]
    X: Factor  # (m_0, f)
    SX: Factor  # (m_0, f)


class GraphInputs:
    """What stays as it is while a network is trained: S (n, n), the features X (n, f), and S X.

    The first layer of a network multiplies S X by its weights; S is never applied to X again.
    """

    def __init__(self, S: Any, features: Any) -> None:
        self.S = sp.csr_array(S)
        self.X = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
        self.SX = self.S @ self.X
        self._whole: tuple[SparseProduct, Factor, Factor] | None = None

    @property
    def n_features(self) -> int:
        """f"""
        return int(self.X.shape[1])

    def field(self, rows: Tensor | None, depth: int) -> Field:
        """What ``depth`` products need for the scores at these rows, or at all."""
        if rows is None:
            if self._whole is None:
                self._whole = SparseProduct.of(self.S), as_factor(self.X), as_factor(self.SX)
            product, X, SX = self._whole
            nodes = (torch.arange(self.S.shape[0]),) * (depth + 1)
            return Field(nodes, (product,) * depth, (slice(None),) * depth, X, SX)
        sets: list[np.ndarray] = [rows.numpy()]
        products: list[SparseProduct] = []
        own: list[Tensor] = []
        for _ in range(depth):
            part = self.S[sets[0]]
            needed = np.union1d(part.indices, sets[0])
            products.insert(0, SparseProduct.of(part[:, needed]))
            own.insert(0, torch.from_numpy(np.searchsorted(needed, sets[0])))
            sets.insert(0, needed)
        nodes = tuple(torch.from_numpy(part.astype(np.int64)) for part in sets)
        X, SX = as_factor(self.X[sets[0]]), as_factor(self.SX[sets[0]])
        return Field(nodes, tuple(products), tuple(own), X, SX)


@dataclass(frozen=True)
class HypergraphField:
    """The factor H̃ of all nodes, and of those that are asked for."""

    factor: SparseProduct  # (n, |E|)
    rows: SparseProduct  # (m, |E|)
    nodes: Tensor  # (n,)
    C: Tensor  # H̃ᵀX: (|E|, f)


class HypergraphInputs:
    """What stays as it is in training: H̃ = D^(−1/2) H W^(1/2) B^(−1/2) (n, |E|) and H̃ᵀX (|E|, f).

    ``features`` (n, f), dense or sparse; the incidences by default.
    """

    def __init__(self, graph: Hypergraph, features: Any = None) -> None:
        X = graph.incidence if features is None else features
        self._factor = graph.factor
        self._C = as_tensor(self._factor.T @ (X if sp.issparse(X) else np.asarray(X)))
        self._whole = SparseProduct.of(self._factor)

    @property
    def n_features(self) -> int:
        """f"""
        return self._C.shape[1]

    def field(self, rows: Tensor | None, depth: int) -> HypergraphField:
        """All nodes, which every hyperedge sums over, and the rows that scores are asked for."""
        some = self._whole if rows is None else SparseProduct.of(self._factor[rows.numpy()])
        return HypergraphField(self._whole, some, torch.arange(self._factor.shape[0]), self._C)


Inputs = GraphInputs | HypergraphInputs


LEARNING_RATE = 0.01
WEIGHT_DECAY = 0.0005  # on weights, not on biases
EPOCHS = 500


def train_baseline(
    kind: Callable[[int, int], Network],
    inputs: Inputs,
    labels: np.ndarray,
    n_classes: int,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    learning_rate: float = LEARNING_RATE,
) -> tuple[Network, list[float]]:
    """A network, its weights drawn with this seed and fitted to the labelled nodes; the loss of each epoch.

    Adam on the mean cross entropy, by default with the paper's settings for all. ``kind`` is a class of
    networks; ``labels`` (n,) are codes from 0, or -1. Only what the loss can see is computed (see ``Field``).
    """
    check_count("epochs", epochs)
    check_positive("learning_rate", learning_rate)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = kind(inputs.n_features, n_classes)
    weights: list[nn.Parameter] = []
    biases: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (biases if "bias" in name else weights).append(parameter)
    groups: list[dict[str, Any]] = [{"params": weights, "weight_decay": WEIGHT_DECAY}, {"params": biases}]
    optimizer = torch.optim.Adam(groups, lr=learning_rate, fused=True)
    nodes = np.flatnonzero(labels != UNLABELLED)
    known = Labels.of(torch.from_numpy(nodes), torch.from_numpy(labels[nodes].astype(np.int64)), n_classes)
    field = inputs.field(known.nodes, network.depth)
    losses = []
    network.train()
    for epoch in range(epochs):
        optimizer.zero_grad()
        loss = known.loss(network(field, (seed, epoch)))
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise TrainingError(f"The loss became {losses[-1]} in epoch {epoch + 1} of {epochs}.")
        loss.backward()
        optimizer.step()
    network.eval()
    return network, losses


@torch.no_grad()
def classify(network: Network, inputs: Inputs) -> np.ndarray:
    """The class of the largest score, at every node: (n,)."""
    return network(inputs.field(None, network.depth)).argmax(dim=1).numpy()
