"""Rows that are equal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from pandas.util import hash_array


class Distinct(NamedTuple):
    """A[i] = A[first][inverse[i]]: each distinct row once, in the order in which they first come."""

    first: np.ndarray  # (m,) where each comes first
    inverse: np.ndarray  # (n,) which of them each row is
    counts: np.ndarray  # (m,) how many rows are equal to it


def distinct_rows(matrix: Any) -> Distinct:
    """The distinct rows of a sparse matrix.

    By sums of 64-bit hashes of each entry's column and value; that rows of equal sums are equal is checked.
    """
    A = sp.csr_array(matrix, dtype=np.float64)
    A.sum_duplicates()
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    salt = np.uint64(0)
    while True:
        columns = hash_array(A.indices.astype(np.uint64) + salt)
        entries = hash_array(A.data.view(np.uint64) ^ columns)
        sums = np.zeros(A.shape[0], dtype=np.uint64)
        np.add.at(sums, row, entries)
        _, first, inverse, counts = np.unique(
            sums, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        found = Distinct(first[order], rank[inverse], counts[order].astype(np.float64))
        again = A[found.first][found.inverse]
        if np.array_equal(A.indptr, again.indptr) and (again != A).nnz == 0:
            return found
        salt += np.uint64(A.shape[1])
