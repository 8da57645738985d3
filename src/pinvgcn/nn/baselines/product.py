"""Products with a constant sparse matrix, differentiable in the other factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.nn.rows import Bags


class SparseProduct:
    """Y = S X and ∂X = Sᵀ ∂Y, both by rows: Sᵀ is stored beside S.

    Several times faster on a processor than ``torch.sparse``, which transposes S in each backward pass.
    """

    def __init__(self, matrix: Any, dtype: torch.dtype = torch.float32) -> None:
        S = sp.csr_array(matrix)
        self.shape: tuple[int, int] = S.shape
        like = torch.empty(0, dtype=dtype)
        self._forward, self._backward = Bags.of(S, like), Bags.of(sp.csr_array(S.T), like)

    def __matmul__(self, X: Tensor) -> Tensor:
        return _Product.apply(X, self._forward, self._backward)

    @property
    def T(self) -> SparseProduct:
        """Sᵀ"""
        other = object.__new__(SparseProduct)
        other.shape = (self.shape[1], self.shape[0])
        other._forward, other._backward = self._backward, self._forward
        return other


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


def as_factor(matrix: Any, dtype: torch.dtype = torch.float32) -> Factor:
    """Features, as they are multiplied fastest."""
    if sp.issparse(matrix) and matrix.nnz <= SPARSE * matrix.shape[0] * matrix.shape[1]:
        return SparseProduct(matrix, dtype)
    return as_tensor(matrix, dtype)


def as_tensor(matrix: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    """Features, dense or sparse, as a dense tensor."""
    array = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    return torch.from_numpy(np.ascontiguousarray(array)).to(dtype)
