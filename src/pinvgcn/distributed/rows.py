"""Rows that several processes hold together: their common check, the rows of all on each, and a subsample
that is small enough for every process to hold.

Sums over nodes are exact at any number of nodes. A median, the quantiles of a feature or the nodes that an
epoch visits are not sums: up to 262,144 nodes they are taken from all nodes, beyond from a subsample of
about that size. A node is drawn by its number alone, so that the subsample does not depend on the processes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import as_matrix
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import DataError

MOST = 2**18
# SplitMix64's bijection (Steele, Lea and Flood, 2014) of the nodes' numbers
STEP = np.uint64(0x9E3779B97F4A7C15)
ROUNDS = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)), (31, np.uint64(1)))


def as_shared_matrix(values: Any, name: str, group: Group) -> np.ndarray:
    """The finite rows (n, d) of this rank, of which there may be none where there are several ranks."""
    with together(group):
        matrix = as_matrix(values, name, least=1 if group.alone else 0)
    widths = group.values(matrix.shape[1])
    if len(set(widths)) > 1:
        other = next(rank for rank, width in enumerate(widths) if width != widths[0])
        raise DataError(
            f"{name} must have the same columns on all ranks, also where there are no rows. "
            f"Got {widths[0]} columns on rank 0 and {widths[other]} on rank {other}."
        )
    return matrix


def rows_of_all(matrix: Any, group: Group) -> Any:
    """The rows of all ranks, in their order, of a dense or sparse matrix of which each has a few."""
    if group.alone or not sp.issparse(matrix):
        return matrix if group.alone else group.rows(matrix)
    A = sp.csr_array(matrix)
    # ranks may have chosen their whole numbers differently wide
    lengths, indices = (group.rows(part.astype(np.int64)) for part in (np.diff(A.indptr), A.indices))
    data, starts = group.rows(A.data), np.append(0, np.cumsum(lengths))
    if max(starts[-1], A.shape[1]) < 2**31:  # what everybody reads
        indices, starts = indices.astype(np.int32), starts.astype(np.int32)
    return sp.csr_array((data, indices, starts), shape=(len(lengths), A.shape[1]))


def in_subsample(start: int, count: int, total: int, *, most: int = MOST) -> np.ndarray:
    """Which of the nodes ``start`` … ``start + count`` of ``total`` are drawn: places from 0, rising.

    All of up to ``most``; beyond, a node is drawn if the hash of its number lies below most/total.
    """
    if total <= most:
        return np.arange(count)
    x = hashed(np.arange(start, start + count))
    return np.flatnonzero(x < np.uint64(int(most / total * 2**64)))


def hashed(numbers: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """A pseudorandom number below 2⁶⁴ for each whole number from 0 on; always the same one."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * STEP
    for key in (seed,) if seed == 0 else (seed, 0):
        x = mixed(x ^ np.uint64(key))
    return x


def mixed(x: np.ndarray) -> np.ndarray:
    """The bijection of SplitMix64, which mixes the bits of each number; ``x`` is overwritten."""
    for shift, factor in ROUNDS:
        x ^= x >> np.uint64(shift)
        x *= factor
    return x
