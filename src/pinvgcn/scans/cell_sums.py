"""Sums over cells whose side doubles until there are few enough of them.

Points come in any order and in any parts; memory is that of the cells. Values are whole numbers and sides are
powers of two, so that sides and sums depend on the points alone, not on their order, tiles or processes.
"""

from __future__ import annotations

import math

import numpy as np

from pinvgcn.distributed.group import ALONE, Group

FINEST = 2.0**-10  # metres
FARTHEST = 2.0**61  # cells: beyond them all places are one


class CoarseningSums:
    """``width`` sums for each occupied cell, of at most ``most`` cells in ``dimensions`` dimensions."""

    def __init__(self, dimensions: int, width: int, most: int, group: Group = ALONE) -> None:
        self.side = FINEST
        self.most, self.group = most, group
        self.cells = np.empty((0, dimensions), dtype=np.int64)  # (c, d), ascending
        self.sums = np.empty((0, width), dtype=np.int64)  # (c, w)

    def __len__(self) -> int:
        return len(self.cells)

    def add(self, points: np.ndarray, values: np.ndarray) -> None:
        """Points (k, d or more) and their values (k, w)."""
        new = grouped(self._cells_of(points), values)
        both = [np.concatenate(pair) for pair in zip((self.cells, self.sums), new, strict=True)]
        self.cells, self.sums = grouped(*both)
        self.coarsen_to(self.most)

    def coarsen(self) -> None:
        self.side *= 2
        self.cells, self.sums = grouped(self.cells >> 1, self.sums)

    def coarsen_to(self, most: float) -> None:
        """Double the side until there are at most ``most`` cells, or one in each direction from the
        origin, where cells of every side meet."""
        while len(self) > max(most, 2 ** self.cells.shape[1]):
            self.coarsen()

    def over_all(self) -> CoarseningSums:
        """The sums over the points of all processes, on each of them."""
        if self.group.alone:
            return self
        coarsest = float(self.group.largest(np.array([self.side]))[0])
        while self.side < coarsest:
            self.coarsen()
        both = self.group.rows(np.hstack([self.cells, self.sums]))
        whole = CoarseningSums(self.cells.shape[1], self.sums.shape[1], self.most)
        whole.side = self.side
        whole.cells, whole.sums = grouped(*np.split(both, [self.cells.shape[1]], axis=1))
        whole.coarsen_to(whole.most)
        return whole

    def rows(self, points: np.ndarray) -> np.ndarray:
        """The row of the cell of each point: (k,); all of them must have been added."""
        every = np.concatenate([self.cells, self._cells_of(points)])
        order, first = _sorted(every)
        which = np.empty(len(every), dtype=np.int64)
        which[order] = np.repeat(np.arange(len(first)), np.diff([*first, len(every)]))
        return which[len(self) :]

    @property
    def centres(self) -> np.ndarray:
        """(c, d)"""
        return (self.cells + 0.5) * self.side

    def _cells_of(self, points: np.ndarray) -> np.ndarray:
        places = np.floor(points[:, : self.cells.shape[1]] / self.side)
        return np.clip(places, -FARTHEST, FARTHEST).astype(np.int64)


def grouped(cells: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct cells in ascending order, and the sums of the values of each."""
    order, first = _sorted(cells)
    if not len(order):
        return cells, values
    return cells[order[first]], np.add.reduceat(values[order], first, axis=0)


def _sorted(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An ascending order of the rows, and where in it each distinct row begins."""
    if not len(cells):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = cells.min(axis=0), cells.max(axis=0)
    spans = [int(b) - int(a) + 1 for a, b in zip(low, high, strict=True)]
    if math.prod(spans) < 2**62:  # one number a cell sorts faster
        order = np.argsort(np.ravel_multi_index(tuple((cells - low).T), spans))
    else:
        order = np.lexsort(cells.T[::-1])
    ranked = cells[order]
    new = np.ones(len(cells), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return order, np.flatnonzero(new)
