"""A subsample of the nodes, small enough for every process to hold.

Sums over nodes are exact at any number of nodes. A median, the quantiles of a feature or the nodes that an
epoch visits are not sums: up to 262,144 nodes they are taken from all nodes, beyond from a subsample of
about that size. A node is drawn by its number alone, so that the subsample does not depend on the processes.
"""

from __future__ import annotations

import numpy as np

MOST = 2**18
# SplitMix64's bijection (Steele, Lea and Flood, 2014) of the nodes' numbers
STEP = np.uint64(0x9E3779B97F4A7C15)
ROUNDS = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)), (31, np.uint64(1)))


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
        x ^= np.uint64(key)
        for shift, factor in ROUNDS:
            x ^= x >> np.uint64(shift)
            x *= factor
    return x
