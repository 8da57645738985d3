"""Rows that are equal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.util import hash_array


class Distinct(NamedTuple):
    """A[i] = A[first][inverse[i]]: each distinct row once, in the order in which they first come."""

    first: np.ndarray  # (m,) where each comes first
    inverse: np.ndarray  # (n,) which of them each row is
    counts: np.ndarray  # (m,) how many rows are equal to it


def distinct_rows(matrix: Any) -> Distinct:
    """The distinct rows of a sparse matrix.

    By sums over a row's entries of hash(value) · hash(column), 64 bits long: one product with a vector. That
    rows of equal sums are equal is checked.
    """
    A = sp.csr_array(matrix, dtype=np.float64)
    if not A.has_canonical_format:
        A = A.copy()  # it may share its arrays with ``matrix``
        A.sum_duplicates()
    n, width = A.shape
    hashes = _of_values(A)
    columns = np.arange(1, width + 1, dtype=np.uint64)
    while True:
        inverse, sums = pd.factorize(hashes @ hash_array(columns))
        first = np.empty(len(sums), dtype=np.int64)
        first[inverse[::-1]] = np.arange(n)[::-1]  # of several numbers for one place the last stays
        again = A[first][inverse]
        parts = ((A.indptr, again.indptr), (A.indices, again.indices), (A.data, again.data))
        if all(np.array_equal(one, other) for one, other in parts):
            return Distinct(first, inverse, np.bincount(inverse).astype(np.float64))
        columns += np.uint64(width)


def row_hashes(matrix: Any) -> np.ndarray:
    """A 64-bit number for each row of a sparse matrix, by what is in it: (n,)."""
    A = sp.csr_array(matrix, dtype=np.float64)
    hashes: np.ndarray = _of_values(A) @ hash_array(np.arange(1, A.shape[1] + 1, dtype=np.uint64))
    return hashes


def _of_values(A: sp.csr_array) -> sp.csr_array:
    values = hash_array(A.data.view(np.uint64) + np.uint64(1))  # the hash of 0 is 0, which no column changes
    return sp.csr_array((values, A.indices, A.indptr), shape=A.shape)
