"""The k nearest points, none preferred: w = 1 nearer than the k-th distance r, an equal share at r, 0 beyond.

Which points are the k nearest has several answers where more than one lies at r, as in scans rounded to
millimetres. All of them belong to the neighbourhood here, and share what the nearer ones leave of k
(`docs/maths.md`, 7.1). So no order of the points enters, and a grid that is turned has the same
neighbourhoods.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

TIE = 1e-7  # relative: above the rounding of map coordinates in double precision, below what a scanner sees
ENTRIES = 2**17  # neighbours in the memory of a thread at a time
SPARE = 8  # neighbours asked for beyond k, so that few ties need a second query


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct rows in lexicographic order, how often each occurs, and where each of ``rows`` went."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(len(rows), dtype=np.int64)
    inverse[order] = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    return ordered[starts], np.diff(starts, append=len(rows)), inverse


class Places:
    """Distinct places with counts, and who is near whom; ``sizes`` are the k asked for, increasing.

    Places must come sorted: the tree, and every bit computed from it, is then the same for any order of
    points.
    """

    def __init__(self, places: np.ndarray, counts: np.ndarray, sizes: tuple[int, ...]):
        self.counts = counts if counts.max() > 1 else None
        self.sizes = np.minimum(sizes, counts.sum())  # a small cloud is its own largest neighbourhood
        self.tree = cKDTree(places)

    def nearest(self, queries: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """In chunks: rows of ``queries`` (m,), places near them and their distances (m, reach), r (m, sizes).

        Places come by rising distance, among them all those at the largest r.
        """
        reach, todo = self.sizes[-1] + SPARE, np.arange(len(queries))
        while len(todo):
            reach = min(reach, self.tree.n)
            step = max(1, ENTRIES // reach)
            later = [todo[:0]]
            for rows in np.split(todo, range(step, len(todo), step)):
                distance, index = (a.reshape(-1, reach) for a in self.tree.query(queries[rows], reach))
                r = self._radius(distance, index)
                cut = (distance[:, -1] <= r[:, -1] * (1 + TIE)) & (reach < self.tree.n)
                if cut.any():  # more places may lie at r
                    later.append(rows[cut])
                    rows, index, distance, r = (a[~cut] for a in (rows, index, distance, r))
                if len(rows):
                    yield rows, index, distance, r
            todo, reach = np.concatenate(later), reach + reach // 2 + 1

    def _radius(self, distance: np.ndarray, index: np.ndarray) -> np.ndarray:
        """r (m, sizes): the distance of the k-th point, counting how many are at each place."""
        if self.counts is None:
            return distance[:, self.sizes - 1]
        held = np.cumsum(self.counts[index], axis=1)
        kth = np.stack([(held < k).sum(axis=1) for k in self.sizes], axis=1)
        return np.take_along_axis(distance, kth, axis=1)

    def weights(self, index: np.ndarray, distance: np.ndarray, r: np.ndarray, k: int) -> np.ndarray:
        """w (m, reach), of sum k, for distances r (m,) of the k-th point."""
        count = 1 if self.counts is None else self.counts[index]
        inside = count * (distance < r[:, None] * (1 - TIE))
        shell = count * (distance <= r[:, None] * (1 + TIE)) - inside
        return inside + ((k - inside.sum(axis=1)) / shell.sum(axis=1))[:, None] * shell

    def tied(self, distance: np.ndarray, r: np.ndarray, k: int) -> np.ndarray:
        """Rows whose neighbourhood is not simply the k nearest places, each of weight 1."""
        if self.counts is not None:
            return np.arange(len(distance))
        beyond = (distance[:, k : k + 1] <= r[:, None] * (1 + TIE)).any(axis=1)
        before = (distance[:, max(k - 2, 0) : k - 1] >= r[:, None] * (1 - TIE)).any(axis=1)
        return np.flatnonzero(beyond | before)
