"""Networks of ARMA filters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pinvgcn.nn.baselines.field import Field
from pinvgcn.nn.baselines.network import Network, geometric
from pinvgcn.nn.baselines.product import Factor, SparseProduct

STACKS = 3
STEPS = 2


class ARMA(Network):
    """X' = (1/K) Σ_k Z_k^(T), Z_k^(t+1) = σ(S Z_k^(t) W_k^(t) + X V_k^(t) + b_k^(t)), Z_k^(0) = X, twice,
    from "Graph Neural Networks with Convolutional ARMA Filters" (Bianchi, Grattarola, Livi and Alippi,
    2019), 10.4 of docs/maths.md, with K = 3 stacks, T = 2 steps, S = D^(−1/2) A D^(−1/2)
    (``gcn.normalised``), σ = ReLU in the first layer and none in the second, whose outputs are class scores.

    The weights are those of PyTorch Geometric's layers. The stacks lie side by side, so that one product with
    S serves them all; S X is not computed anew in each epoch.
    """

    depth = 3

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        layer = geometric().ARMAConv
        self.conv1 = layer(n_features, hidden, num_stacks=STACKS, num_layers=STEPS)
        self.conv2 = layer(hidden, n_classes, num_stacks=STACKS, num_layers=STEPS, act=None)
        self.dropout = dropout

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        first, second, third = field.products
        once, again = field.own[1:]
        skip = _skips(self.conv1, field.X)
        Z = torch.relu(_beside(field.SX, self.conv1.init_weight) + skip[0])  # (K, m_0, h)
        Z = torch.relu(_spread(first, Z @ self.conv1.weight[0]) + skip[1][:, field.own[0]])
        H = self.drop(Z.mean(dim=0), field.nodes[1], key)
        skip = _skips(self.conv2, H[once])
        Z = _spread(second, H @ self.conv2.init_weight) + skip[0]
        return (_spread(third, Z @ self.conv2.weight[0]) + skip[1][:, again]).mean(dim=0)


def _beside(X: Factor, weight: Tensor) -> Tensor:
    """X W_k for every stack, by one product: (K, m, width)."""
    stacks, _, width = weight.shape
    flat = X @ weight.transpose(0, 1).reshape(-1, stacks * width)
    return flat.reshape(-1, stacks, width).transpose(0, 1)


def _skips(conv: Any, X: Factor) -> Tensor:
    """X V_k + b_k for every step and stack: (T, K, m, width)."""
    both = _beside(X, conv.root_weight.flatten(0, 1))
    return both.unflatten(0, conv.root_weight.shape[:2]) + conv.bias


def _spread(product: SparseProduct, Z: Tensor) -> Tensor:
    """S Z_k for every stack: (K, m, width) -> (K, m', width)."""
    stacks, rows, width = Z.shape
    flat = product @ Z.transpose(0, 1).reshape(rows, stacks * width)
    return flat.reshape(-1, stacks, width).transpose(0, 1)
