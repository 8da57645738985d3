"""Rows that are equal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.util import hash_array

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import rows_of_all
from pinvgcn.distributed.subsample import MOST


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


class DistinctRows(NamedTuple):
    """Some of the distinct rows of all ranks, on all: those with the smallest hashes."""

    rows: Any  # (m, N) array or scipy sparse array, in the order in which they first come
    counts: np.ndarray  # (m,) how many rows of all ranks are equal to each
    hashes: np.ndarray  # (m,)
    complete: bool  # whether these are all
    distinct: float  # how many all are; estimated where these are not all


def distinct_subsample(
    rows: Any, counts: np.ndarray, hashes: np.ndarray, group: Group = ALONE, *, most: int = MOST
) -> DistinctRows:
    """The ``most`` distinct rows with the smallest hashes, of this rank's distinct rows and those of others.

    Which they are depends neither on the order of rows nor on who has them. If u is the largest of their
    hashes, as a share of 2⁶⁴, all are about (most − 1)/u (Bar-Yossef and others, 2002).
    """
    order = np.argsort(hashes, kind="stable")
    smallest, complete = _smallest(hashes[order[:most]], len(hashes) <= most, most, group)
    mine = np.flatnonzero(np.isin(hashes, smallest)) if len(smallest) else np.empty(0, dtype=np.int64)
    parts = group.parts(hashes[mine])
    before = np.concatenate(parts[: group.rank]) if group.rank else np.empty(0, dtype=hashes.dtype)
    first = mine[~np.isin(hashes[mine], before)]  # of ranks that have a row the first sends it
    everywhere = group.rows(hashes[first])
    by_hash = np.argsort(everywhere, kind="stable")
    summed = np.zeros(len(everywhere))
    np.add.at(summed, by_hash[np.searchsorted(everywhere[by_hash], hashes[mine])], counts[mine])
    number = _estimate(smallest, complete)
    return DistinctRows(rows_of_all(rows[first], group), group.sum(summed), everywhere, complete, number)


def count_distinct(hashes: np.ndarray, group: Group = ALONE, *, most: int = MOST) -> int:
    """How many rows differ, over all ranks, by the hashes of this rank's distinct rows; estimated as in
    ``distinct_subsample`` where ranks share them and they are more than ``most``."""
    if group.alone:
        return len(hashes)
    return round(_estimate(*_smallest(np.sort(hashes)[:most], len(hashes) <= most, most, group)))


def _estimate(smallest: np.ndarray, complete: bool) -> float:
    """How many hashes there are, from the smallest of them, sorted."""
    return float(len(smallest)) if complete else (len(smallest) - 1) / (float(smallest[-1]) / 2.0**64)


def _smallest(own: np.ndarray, all_own: bool, most: int, group: Group) -> tuple[np.ndarray, bool]:
    """The ``most`` smallest of all ranks' sorted hashes, and whether these are all there are."""
    if group.alone:
        return own, all_own
    found = np.empty(0, dtype=np.uint64)
    # slices of the hashes' range, of which the first would do if no two ranks had equal rows
    width, low, top = most / max(group.sum(len(own)), most), 0, 2**64
    while True:
        high = min(low + max(int(width * 2**64), 1), top)
        start, end = (len(own) if h == top else int(np.searchsorted(own, np.uint64(h))) for h in (low, high))
        found = np.union1d(found, group.rows(own[start:end]))
        if high == top or len(found) >= most:
            rest = group.sum(int(not all_own) + len(own) - end)
            return found[:most], len(found) <= most and rest == 0
        low, width = high, 2 * width


def _of_values(A: sp.csr_array) -> sp.csr_array:
    values = hash_array(A.data.view(np.uint64) + np.uint64(1))  # the hash of 0 is 0, which no column changes
    return sp.csr_array((values, A.indices, A.indptr), shape=A.shape)
