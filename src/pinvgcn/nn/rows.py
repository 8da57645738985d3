"""Constant matrices with a row a node, multiplied chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional as F

from pinvgcn.distributed.group import Group
from pinvgcn.distributed.rows import rows_of_all

CHUNK = 16_384  # nodes at a time: what a product reads and writes stays in the cache
PIECES = 2  # at least, so that threads have something to share,
SMALLEST = 4_096  # unless they became so small that starting the work is most of it
MANY, FULL, LARGEST = 32_768, 1 / 8, 2**25  # rows, share of entries and size of what becomes dense


def chunks(n: int) -> list[slice]:
    """The nodes 0 … n − 1 in pieces, the same for any number of threads."""
    size = min(CHUNK, max(SMALLEST, -(-n // PIECES)))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


class DenseRows:
    """A (n, q) as it is, known by what it does to small matrices."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.shape = (matrix.shape[0], matrix.shape[1])
        self._chunks = chunks(len(matrix))

    def times(self, chunk: int, theta: Tensor, out: Tensor) -> None:
        """out += A_c Θ for the rows of one chunk."""
        out.addmm_(self.matrix[self._chunks[chunk]], theta)

    def adjoint(self, chunk: int, Y: Tensor, out: Tensor) -> None:
        """out = A_cᵀ Y."""
        torch.mm(self.matrix[self._chunks[chunk]].T, Y, out=out)

    def take(self, nodes: Tensor) -> DenseRows:
        """A[nodes]"""
        return DenseRows(self.dense(nodes))

    def of_all(self, group: Group) -> DenseRows:
        """The rows of all ranks, of which each has a few."""
        rows = group.rows(self.matrix.cpu().numpy())
        return DenseRows(torch.from_numpy(rows).to(self.matrix))

    def scaled(self, weights: Tensor) -> DenseRows:
        """diag(weights) A"""
        return DenseRows(weights[:, None] * self.matrix)

    def dense(self, nodes: Tensor) -> Tensor:
        """A[nodes]: (len(nodes), q)."""
        return self.matrix.index_select(0, nodes)


@dataclass(frozen=True)
class Bags:
    """A sparse matrix for ``embedding_bag``: (AΘ)_i = Σ_e a_ie Θ_e over the entries of row i."""

    indices: Tensor
    offsets: Tensor
    values: Tensor

    @classmethod
    def of(cls, matrix: Any, like: Tensor | None = None) -> Bags:
        """With values ``like`` a tensor, by default like new ones."""
        like = torch.empty(0) if like is None else like
        indices, offsets = (torch.from_numpy(a.astype(np.int32)) for a in (matrix.indices, matrix.indptr))
        return cls(indices.to(like.device), offsets.to(like.device), torch.from_numpy(matrix.data).to(like))

    def __matmul__(self, theta: Tensor) -> Tensor:
        return F.embedding_bag(
            self.indices,
            theta.contiguous(),
            self.offsets,
            mode="sum",
            per_sample_weights=self.values,
            include_last_offset=True,
        )


class SparseRows:
    """The same of A by its entries: a few in each row, as in the incidence matrix of a table."""

    def __init__(self, matrix: Any, like: Tensor) -> None:
        self.matrix = sp.csr_array(matrix)
        self.shape = self.matrix.shape
        self._like = like  # of which type, and where

    @cached_property
    def _bags(self) -> list[tuple[Bags, Bags]]:
        """Each chunk, and its transpose."""
        parts = [self.matrix[rows] for rows in chunks(self.shape[0])]
        return [(Bags.of(A, self._like), Bags.of(sp.csr_array(A.T), self._like)) for A in parts]

    def times(self, chunk: int, theta: Tensor, out: Tensor) -> None:
        out += self._bags[chunk][0] @ theta

    def adjoint(self, chunk: int, Y: Tensor, out: Tensor) -> None:
        out.copy_(self._bags[chunk][1] @ Y)

    def take(self, nodes: Tensor) -> SparseRows:
        return SparseRows(self.matrix[nodes.cpu().numpy()], self._like)

    def of_all(self, group: Group) -> SparseRows:
        return SparseRows(rows_of_all(self.matrix, group), self._like)

    def scaled(self, weights: Tensor) -> SparseRows:
        A = self.matrix
        entries = A.data * np.repeat(weights.cpu().numpy(), np.diff(A.indptr))
        return SparseRows(sp.csr_array((entries, A.indices, A.indptr), shape=A.shape), self._like)

    def dense(self, nodes: Tensor) -> Tensor:
        return torch.from_numpy(self.matrix[nodes.cpu().numpy()].toarray()).to(self._like)


def rows_of(matrix: Any, like: Tensor) -> Rows:
    """By what the matrix is: dense or sparse.

    Of many rows an epoch visits some: to take these from a sparse matrix that is fairly full costs more than
    all products with them. It becomes dense.
    """
    if not sp.issparse(matrix):
        return DenseRows(torch.from_numpy(np.asarray(matrix)).to(like))
    n, q = matrix.shape
    if n <= MANY or matrix.nnz < FULL * n * q or n * q > LARGEST:
        return SparseRows(matrix, like)
    narrow = matrix.astype(np.float32) if like.dtype == torch.float32 else matrix
    return DenseRows(torch.from_numpy(narrow.toarray()).to(like))


Rows = DenseRows | SparseRows
