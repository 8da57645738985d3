"""Rows that are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.util import hash_array

from pinvgcn.compute.parallel import ranges
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import MOST, rows_of_all

BLOCK = 2**16  # rows that are compared at a time


class Distinct(NamedTuple):
    """A[i] = A[first][inverse[i]]: each distinct row once, in the order in which they first come."""

    first: np.ndarray  # (m,) where each comes first
    inverse: np.ndarray  # (n,) which of them each row is
    counts: np.ndarray  # (m,) how many rows are equal to it


def distinct_rows(*parts: Any) -> Distinct:
    """The distinct rows of matrices side by side, dense or sparse.

    By sums over a row's entries of hash(value) · hash(column), 64 bits long. Rows of different sums differ;
    that rows of equal sums are equal is checked.
    """
    sides = [_canonical(part) for part in parts]
    n, drawn = sides[0].shape[0], 0
    while True:
        inverse, sums = pd.factorize(_sums(sides, drawn))
        first = np.empty(len(sums), dtype=np.int64)
        first[inverse[::-1]] = np.arange(n)[::-1]  # of several numbers for one place the last stays
        again = np.flatnonzero(first[inverse] != np.arange(n))
        pairs = [(again[some], first[inverse[again[some]]]) for some in ranges(len(again), BLOCK)]
        if all(_equal(A, one, other) for one, other in pairs for A in sides):
            return Distinct(first, inverse, np.bincount(inverse).astype(np.float64))
        drawn += sum(A.shape[1] for A in sides)


def row_hashes(*parts: Any) -> np.ndarray:
    """A 64-bit number for each row of matrices side by side, dense or sparse, by what is in it: (n,)."""
    return _sums([_canonical(part) for part in parts], 0)


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


def _canonical(matrix: Any) -> Any:
    """An array, or a sparse one with each entry once and in order."""
    if not sp.issparse(matrix):
        return np.asarray(matrix, dtype=np.float64)
    A = sp.csr_array(matrix, dtype=np.float64)
    if not A.has_canonical_format:
        A = A.copy()  # it may share its arrays with ``matrix``
        A.sum_duplicates()
    return A


def _sums(sides: Sequence[Any], drawn: int) -> np.ndarray:
    """Σ hash(value) · hash(column + drawn) over the entries of each row that are not zero: (n,)."""
    sums = np.zeros(sides[0].shape[0], dtype=np.uint64)
    for A in sides:
        columns = hash_array(np.arange(drawn + 1, drawn + 1 + A.shape[1], dtype=np.uint64))
        drawn += A.shape[1]
        for rows in ranges(len(sums), BLOCK):
            if sp.issparse(A):
                some = A[rows]
                hashes = sp.csr_array((_of_values(some.data), some.indices, some.indptr), shape=some.shape)
                sums[rows] += hashes @ columns
            else:
                for column, factor in enumerate(columns):
                    x = np.ascontiguousarray(A[rows, column])
                    sums[rows] += np.where(x == 0, np.uint64(0), _of_values(x) * factor)
    return sums


def _of_values(values: np.ndarray) -> np.ndarray:
    return hash_array(values.view(np.uint64) + np.uint64(1))  # the hash of 0 is 0


def _equal(A: Any, one: np.ndarray, other: np.ndarray) -> bool:
    if not sp.issparse(A):
        return np.array_equal(A[one], A[other])
    some, same = A[one], A[other]
    parts = ((some.indptr, same.indptr), (some.indices, same.indices), (some.data, same.data))
    return all(np.array_equal(left, right) for left, right in parts)
