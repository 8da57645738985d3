"""Graph convolutional networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.nn.baselines.field import Field
from pinvgcn.nn.baselines.network import Network, geometric


class GCN(Network):
    """Y = S ReLU(S X W₁ + b₁) W₂ + b₂, from "Semi-Supervised Classification with Graph Convolutional
    Networks" (Kipf and Welling, 2017), 10.2 of docs/maths.md, with S = ``renormalised(A)``, or the diffusion
    of ``gdc.py``.

    The layers are those of PyTorch Geometric; S X is not computed anew in each epoch.
    """

    depth = 1

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        layer = geometric().GCNConv
        self.conv1 = layer(n_features, hidden, normalize=False)
        self.conv2 = layer(hidden, n_classes, normalize=False)
        self.dropout = dropout

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.SX @ self.conv1.lin.weight.T + self.conv1.bias)
        H = self.drop(H, field.nodes[0], key)
        return field.products[0] @ self.conv2.lin(H) + self.conv2.bias


def renormalised(adjacency: Any) -> sp.csr_array:
    """D̂^(−1/2) Â D̂^(−1/2) with Â = A + I and D̂ its degrees: (n, n)."""
    return normalised(sp.csr_array(adjacency) + sp.eye_array(adjacency.shape[0]))


def normalised(adjacency: Any) -> sp.csr_array:
    """D^(−1/2) A D^(−1/2); nodes without neighbours keep their empty rows."""
    A = sp.csr_array(adjacency)
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    scale = sp.diags_array(np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0))
    return sp.csr_array(scale @ A @ scale)
