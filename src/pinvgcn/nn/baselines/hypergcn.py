"""HyperGCN, its fast variant."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pinvgcn.nn.baselines.field import Field
from pinvgcn.nn.baselines.network import Network


class HyperGCN(Network):
    """Y = S ReLU(S X W₁ + b₁) W₂ + b₂, from "HyperGCN: A New Method of Training Graph Convolutional Networks
    on Hypergraphs" (Yadati, Nimishakavi, Yadav, Nitin, Louis and Talukdar, 2019), 10.7 of docs/maths.md, with
    S = ``renormalised(A)`` of the graph that ``graphs.Mediators`` puts in the hypergraph's place:
    FastHyperGCN with mediators, as that graph does not follow the hidden layers.
    """

    depth = 1

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        self.weight1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_features, hidden)))
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.weight2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, n_classes)))
        self.bias2 = nn.Parameter(torch.zeros(n_classes))
        self.dropout = dropout

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.SX @ self.weight1 + self.bias1)
        H = self.drop(H, field.nodes[0], key)
        return field.products[0] @ (H @ self.weight2) + self.bias2
