"""What a network of graph convolutions must compute to know the scores of some nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.nn.baselines.product import Factor, SparseProduct, as_factor


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

    def __init__(self, S: Any, features: Any, *, dtype: torch.dtype = torch.float32) -> None:
        self.S = sp.csr_array(S)
        self.X = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
        self.SX = self.S @ self.X
        self._dtype = dtype
        self._whole: tuple[SparseProduct, Factor, Factor] | None = None

    @property
    def n_features(self) -> int:
        """f"""
        return int(self.X.shape[1])

    def field(self, rows: Tensor | None, depth: int) -> Field:
        """What ``depth`` products need for the scores at these rows, or at all."""
        if rows is None:
            if self._whole is None:
                X, SX = (as_factor(matrix, self._dtype) for matrix in (self.X, self.SX))
                self._whole = SparseProduct(self.S, self._dtype), X, SX
            product, X, SX = self._whole
            nodes = (torch.arange(self.S.shape[0]),) * (depth + 1)
            return Field(nodes, (product,) * depth, (slice(None),) * depth, X, SX)
        sets: list[np.ndarray] = [rows.numpy()]
        products: list[SparseProduct] = []
        own: list[Tensor] = []
        for _ in range(depth):
            part = self.S[sets[0]]
            needed = np.union1d(part.indices, sets[0])
            products.insert(0, SparseProduct(part[:, needed], self._dtype))
            own.insert(0, torch.from_numpy(np.searchsorted(needed, sets[0])))
            sets.insert(0, needed)
        nodes = tuple(torch.from_numpy(part.astype(np.int64)) for part in sets)
        X, SX = (as_factor(matrix[sets[0]], self._dtype) for matrix in (self.X, self.SX))
        return Field(nodes, tuple(products), tuple(own), X, SX)
