"""Hypergraph neural networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from pinvgcn.graphs import Hypergraph
from pinvgcn.nn.baselines.network import Network
from pinvgcn.nn.baselines.product import SparseProduct, as_tensor


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

    def __init__(
        self, graph: Hypergraph, features: Any = None, *, dtype: torch.dtype = torch.float32
    ) -> None:
        X = graph.incidence if features is None else features
        self._factor = graph.factor
        self._C = as_tensor(self._factor.T @ (X if sp.issparse(X) else np.asarray(X)), dtype)
        self._whole = SparseProduct(self._factor, dtype)
        self._dtype = dtype

    @property
    def n_features(self) -> int:
        """f"""
        return self._C.shape[1]

    def field(self, rows: Tensor | None, depth: int) -> HypergraphField:
        """All nodes, which every hyperedge sums over, and the rows that scores are asked for."""
        whole = self._whole
        some = whole if rows is None else SparseProduct(self._factor[rows.numpy()], self._dtype)
        return HypergraphField(whole, some, torch.arange(whole.shape[0]), self._C)


class HGNN(Network):
    """Y = G ReLU(G X W₁ + b₁) W₂ + b₂, G = D^(−1/2) H W B⁻¹ Hᵀ D^(−1/2), from "Hypergraph Neural Networks"
    (Feng, You, Zhang, Ji and Gao, 2019), 10.6 of docs/maths.md.

    G = H̃H̃ᵀ has at most |E| dimensions and is never formed: a layer is H̃ ((H̃ᵀX) W), a sparse product of few
    columns, a small one and a sparse one. Of the first layer, H̃ᵀX is constant.
    """

    depth = 1

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        self.weight1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(n_features, hidden)))
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.weight2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, n_classes)))
        self.bias2 = nn.Parameter(torch.zeros(n_classes))
        self.dropout = dropout

    def forward(self, field: HypergraphField, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.factor @ (field.C @ self.weight1) + self.bias1)
        H = self.drop(H, field.nodes, key)
        return field.rows @ ((field.factor.T @ H) @ self.weight2) + self.bias2
