"""GraphSAGE with the mean of the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.nn.baselines.field import Field
from pinvgcn.nn.baselines.network import Network, geometric


class GraphSAGE(Network):
    """H' = ReLU(M H W + H V + b), the last layer without ReLU, from "Inductive Representation Learning on
    Large Graphs" (Hamilton, Ying and Leskovec, 2017), 10.3 of docs/maths.md, where (M H)_i is the mean of the
    neighbours' rows, M = ``averaging(A)``.

    All neighbours are used, none are sampled. The layers are those of PyTorch Geometric; M X is not computed
    anew in each epoch, and M is applied to the few class scores, not to the hidden rows.
    """

    depth = 1

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        layer = geometric().SAGEConv
        self.conv1 = layer(n_features, hidden)
        self.conv2 = layer(hidden, n_classes)
        self.dropout = dropout

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        near, own = self.conv1.lin_l, self.conv1.lin_r
        H = torch.relu(field.SX @ near.weight.T + near.bias + field.X @ own.weight.T)
        H = self.drop(H, field.nodes[0], key)
        gathered = field.products[0] @ (H @ self.conv2.lin_l.weight.T)
        return gathered + self.conv2.lin_l.bias + self.conv2.lin_r(H[field.own[0]])


def averaging(adjacency: Any) -> sp.csr_array:
    """M_ij = 1/(number of neighbours of i) for each neighbour j, whatever the edge weights: (n, n)."""
    A = sp.csr_array(adjacency, copy=True)
    A.data = np.repeat(1.0 / np.maximum(np.diff(A.indptr), 1), np.diff(A.indptr))
    return A
