"""Columns: z − min z and max z − z over the k points nearest to x in plan, their height left aside.

What its neighbours in space do not show: the ground under a crown, the wire over a road.
"""

from __future__ import annotations

import numpy as np

from pinvgcn.features.neighbours import TIE, Places, distinct

NAMES = ("below", "above")


class Columns:
    """Columns of ``sizes`` points within a cloud (n, 3), the height last."""

    def __init__(self, cloud: np.ndarray, sizes: tuple[int, ...]):
        plan, counts, inverse = distinct(cloud[:, :2])
        order = np.argsort(inverse, kind="stable")
        starts = np.cumsum(counts) - counts
        self.low = np.minimum.reduceat(cloud[order, 2], starts)
        self.high = np.maximum.reduceat(cloud[order, 2], starts)
        self.places = Places(plan, counts, sizes)

    def __call__(self, queries: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """(m, sizes · 2): NAMES for each size, at ``queries`` (m, 3); ``reach`` (m,) is set to r."""
        result = np.empty((len(queries), len(self.places.sizes), len(NAMES)))
        for rows, index, distance, r in self.places.nearest(queries[:, :2]):
            low = np.minimum.accumulate(self.low[index], axis=1)
            high = np.maximum.accumulate(self.high[index], axis=1)
            reach[rows] = r[:, -1]
            z = queries[rows, 2]
            for s, radius in enumerate(r.T):
                last = (distance <= radius[:, None] * (1 + TIE)).sum(axis=1)[:, None] - 1
                result[rows, s, 0] = z - np.take_along_axis(low, last, axis=1)[:, 0]
                result[rows, s, 1] = np.take_along_axis(high, last, axis=1)[:, 0] - z
        return result.reshape(len(queries), -1)
