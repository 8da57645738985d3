"""What a network of graph convolutions must compute to know the scores of some nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.nn.baselines.product import SparseProduct, as_tensor


@dataclass(frozen=True)
class Field:
    """The receptive field of some nodes: before each product with S, only the nodes that the next ones see.

    A convolution at a node needs its neighbours alone, so the loss at a few labelled nodes needs a network of
    d products only d steps around them, and its gradient is the same as from all nodes.
    """

    nodes: tuple[Tensor, ...]  # (m_0,) … (m_d,): the rows of each product's input, and of the scores
    products: tuple[SparseProduct, ...]  # S from nodes[l] to nodes[l + 1]
    own: tuple[Any, ...]  # where nodes[l + 1] are among nodes[l]
    X: Tensor  # (m_0, f)
    SX: Tensor  # (m_0, f)


class GraphInputs:
    """What stays as it is while a network is trained: S (n, n), the features X (n, f), and S X.

    The first layer of a network multiplies S X by its weights; S is never applied to X again.
    """

    def __init__(self, S: Any, features: Any, *, dtype: torch.dtype = torch.float32) -> None:
        self.S = sp.csr_array(S)
        self.X = as_tensor(features, dtype)
        self.SX = as_tensor(self.S @ (features if sp.issparse(features) else np.asarray(features)), dtype)
        self._dtype = dtype
        self._whole: SparseProduct | None = None

    @property
    def n_features(self) -> int:
        """f"""
        return self.X.shape[1]

    def field(self, rows: Tensor | None, depth: int) -> Field:
        """What ``depth`` products need for the scores at these rows, or at all."""
        if rows is None:
            if self._whole is None:
                self._whole = SparseProduct(self.S, self._dtype)
            everything = torch.arange(len(self.X))
            nodes = (everything,) * (depth + 1)
            return Field(nodes, (self._whole,) * depth, (slice(None),) * depth, self.X, self.SX)
        sets, products, own = [rows.numpy()], [], []
        for _ in range(depth):
            part = self.S[sets[0]]
            needed = np.union1d(part.indices, sets[0])
            products.insert(0, SparseProduct(part[:, needed], self._dtype))
            own.insert(0, torch.from_numpy(np.searchsorted(needed, sets[0])))
            sets.insert(0, needed)
        nodes = tuple(torch.from_numpy(part.astype(np.int64)) for part in sets)
        return Field(nodes, tuple(products), tuple(own), self.X[nodes[0]], self.SX[nodes[0]])
