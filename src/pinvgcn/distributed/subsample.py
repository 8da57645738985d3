"""The few nodes that stand for all where order or nearness of nodes counts: a pool that every rank may hold.

Sums over nodes are exact at any number of nodes. A median, the ranks of a feature's values or the nodes that
an epoch visits are not sums: up to 262,144 nodes these are taken from all of them, beyond from a pool of
about so many, drawn by their numbers alone, whichever rank has them.
"""

from __future__ import annotations

import numpy as np

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


def hashed(numbers: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Whole numbers from 0 on as if drawn evenly from those below 2⁶⁴: always the same for a number."""
    x = (numbers.astype(np.uint64) + np.uint64(1)) * STEP
    for key in (seed,) if seed == 0 else (seed, 0):
        x ^= np.uint64(key)
        for shift, factor in ROUNDS:
            x ^= x >> np.uint64(shift)
            x *= factor
    return x
