"""The few nodes that stand for all where order or nearness of nodes counts: a pool that every rank may hold.

Sums over nodes are exact at any number of nodes. A median, the ranks of a feature's values or the nodes that
an epoch visits are not sums: up to 262,144 nodes these are taken from all of them, beyond from a pool of
about so many, drawn by their numbers alone, whichever rank has them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.group import Group

MOST = 2**18
# SplitMix64's bijection (Steele, Lea and Flood, 2014) of the nodes' numbers
STEP = np.uint64(0x9E3779B97F4A7C15)
ROUNDS = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)), (31, np.uint64(1)))


def in_pool(start: int, count: int, total: int, *, most: int = MOST) -> np.ndarray:
    """Which of the nodes ``start`` … ``start + count`` of ``total`` are in the pool: places from 0, rising.

    All of up to ``most``; beyond, a node is in it if the hash of its number lies below the share that is
    wanted.
    """
    if total <= most:
        return np.arange(count)
    x = hashed(np.arange(start, start + count))
    return np.flatnonzero(x < np.uint64(int(most / total * 2**64)))


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


def hashed(numbers: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Whole numbers from 0 on as if drawn evenly from those below 2⁶⁴: always the same for a number."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * STEP
    for key in (seed,) if seed == 0 else (seed, 0):
        x ^= np.uint64(key)
        for shift, factor in ROUNDS:
            x ^= x >> np.uint64(shift)
            x *= factor
    return x
