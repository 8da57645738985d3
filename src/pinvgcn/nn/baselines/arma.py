"""Networks of ARMA filters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pinvgcn.nn.baselines.field import Field
from pinvgcn.nn.baselines.network import Network, geometric
from pinvgcn.nn.baselines.product import SparseProduct

STACKS = 3
STEPS = 2


class ARMA(Network):
    """Two layers X' = (1/K) Σ_k Z_k^(T) with Z_k^(t+1) = σ(S Z_k^(t) W_k^(t) + X V_k^(t) + b_k^(t)), Z_k^(0) = X, from
    "Graph Neural Networks with Convolutional ARMA Filters" (Bianchi et al., 2021), equations 13 and 14, with
    K = 3 stacks, T = 2 steps, S = D^(−1/2) A D^(−1/2) (``gcn.normalised``), σ = ReLU in the first layer and
    none in the second, whose outputs are class scores.

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
        X, (first, second, third) = field.X, field.products
        Z = torch.relu(field.SX @ self.conv1.init_weight + _skip(self.conv1, X, 0))  # (K, m, h)
        X = X[field.own[0]]
        Z = torch.relu(_spread(first, Z @ self.conv1.weight[0]) + _skip(self.conv1, X, 1))
        H = self.drop(Z.mean(dim=0), field.nodes[1], key)
        Z = _spread(second, H @ self.conv2.init_weight)
        H = H[field.own[1]]
        Z = Z + _skip(self.conv2, H, 0)
        H = H[field.own[2]]
        return (_spread(third, Z @ self.conv2.weight[0]) + _skip(self.conv2, H, 1)).mean(dim=0)


def _skip(conv: Any, X: Tensor, step: int) -> Tensor:
    """X V_k + b_k for every stack: (K, m, width)."""
    return X @ conv.root_weight[step] + conv.bias[step]


def _spread(product: SparseProduct, Z: Tensor) -> Tensor:
    """S Z_k for every stack: (K, m, width) -> (K, m', width)."""
    stacks, rows, width = Z.shape
    flat = product @ Z.transpose(0, 1).reshape(rows, stacks * width)
    return flat.reshape(-1, stacks, width).transpose(0, 1)
