"""Where a model is unsure of a cloud: the places where a label would help most, and a map of its confidence.

A label helps what is around it. So the doubt Σ (1 − confidence) is summed over cubic cells, which is the
number of points expected to be wrong, and the cells with the largest sums are taken one after the other; none
whose point is nearer than ``apart`` to one that was taken. A cell's point is an unlabelled one that is unsure
and near the middle: the one with the smallest confidence + PULL · distance / side.

``apart`` is √(A / 2n) for n places in a cloud whose points, but for protected ones, cover the area A in plan.
Cells are as wide as a quarter of that allows, and wider where they would have fewer than ENOUGH points on
average. Two passes over the points, and memory for the cells alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.jobs.files import COUNT
from pinvgcn.scans.cell_sums import CoarseningSums
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.outcomes import ONE, ClassifiedPoints, Parts

MOST = 2**16  # cells in memory
ENOUGH = 16  # points of a cell on average
MAP_CELLS, MAP_POINTS = 2**18, 4  # the same for the map
NARROW = 4  # sides of a cell between two places
PULL = 0.25  # confidence that one side of distance from the middle is worth
NOBODY = np.iinfo(np.int64).max


@dataclass(frozen=True)
class DoubtfulPlace:
    """A point, and the doubt in its cell."""

    index: int  # in the cloud
    point: tuple[float, float, float]  # as the model sees it, in metres
    code: int  # of the predicted class, or -1
    confidence: float
    flag: int
    second: int  # of the next most probable class, or -1
    second_confidence: float
    wrong: float  # points of the cell that are expected to be
    points: int  # of the cell, without a label
    side: float  # of the cell, in metres


def choose(parts: Parts, *, count: int = COUNT, group: Group = ALONE) -> list[DoubtfulPlace]:
    """The places, best first; fewer than ``count`` where the cloud has no others. The same on all ranks."""
    sums = CoarseningSums(3, 2, MOST)
    for seen in parts():
        free, rows = ~seen.labelled, seen.changeable
        sums.add(seen.points[rows], np.column_stack([(ONE - seen.confidence) * free, free])[rows])
    sums = sums.over(group)
    apart = _coarsened(sums, count)
    best = _Best.empty(len(sums))
    centres = sums.centres
    for seen in parts():
        free = np.flatnonzero(~seen.labelled)
        rows = sums.rows(seen.points[free])
        away = np.linalg.norm(seen.points[free] - centres[rows], axis=1) / sums.side
        best.put(rows, seen.confidence[free] / ONE + PULL * away, seen, free)
    best = best.over(group)
    doubt, free = sums.sums.T
    chosen = spread(doubt, best.facts[:, :3], count, apart)
    return [best.place(row, doubt[row] / ONE, int(free[row]), sums.side) for row in chosen]


def spread(doubt: np.ndarray, points: np.ndarray, count: int, apart: float) -> list[int]:
    """Rows with the largest doubt (c,), in that order, whose points (c, 3) keep their distance; of equal
    doubt the first row."""
    left = np.where(doubt > 0, doubt, 0)
    chosen: list[int] = []
    while len(chosen) < count and left.any():
        chosen.append(int(left.argmax()))
        left[np.linalg.norm(points - points[chosen[-1]], axis=1) < apart] = 0
        left[chosen[-1]] = 0
    return chosen


def _coarsened(sums: CoarseningSums, count: int) -> float:
    """Widen cells until they have enough points and are as wide as they may be; the distance of places."""
    points = int(sums.sums[:, 1].sum())
    sums.coarsen_to(points / ENOUGH)
    plan = len(np.unique(sums.cells[:, :2], axis=0))
    apart = float(np.sqrt(plan / (2 * count))) * sums.side
    while 2 * NARROW * sums.side <= apart:
        sums.coarsen()
    return apart


@dataclass(frozen=True)
class _Best:
    """Of each cell the point that stands for it, so far."""

    keys: np.ndarray  # (c,) smallest first
    index: np.ndarray  # (c,) of equal keys the smallest
    facts: np.ndarray  # (c, 8) x, y, z, code, confidence, flag, second, its confidence

    @classmethod
    def empty(cls, count: int) -> _Best:
        return cls(np.full(count, np.inf), np.full(count, NOBODY), np.zeros((count, 8)))

    def put(self, rows: np.ndarray, keys: np.ndarray, seen: ClassifiedPoints, free: np.ndarray) -> None:
        """Points of ``seen`` at ``free`` with the rows of their cells."""
        index = seen.index[free]
        order = np.lexsort([index, keys, rows])
        order = order[np.diff(rows[order], prepend=-1) > 0]  # the first of each cell
        rows, keys, index, free = rows[order], keys[order], index[order], free[order]
        before = self.keys[rows]
        better = (keys < before) | ((keys == before) & (index < self.index[rows]))
        rows, free = rows[better], free[better]
        self.keys[rows], self.index[rows] = keys[better], index[better]
        said = seen.outcomes
        nothing = np.full(len(free), -1.0)
        self.facts[rows] = np.column_stack(
            [
                seen.points[free],
                said.codes[free],
                said.confidence[free],
                said.flags[free],
                nothing if said.second is None else said.second[free],
                nothing if said.second_confidence is None else said.second_confidence[free],
            ]
        )

    def over(self, group: Group) -> _Best:
        """The best over all processes."""
        if group.alone:
            return self
        keys = group.smallest(self.keys)
        index = group.smallest(np.where(self.keys == keys, self.index, NOBODY))
        mine = (self.index == index) & (index < NOBODY)
        return _Best(keys, index, group.sum(np.where(mine[:, None], self.facts, 0.0)))

    def place(self, row: int, wrong: float, points: int, side: float) -> DoubtfulPlace:
        x, y, z, code, confidence, flag, second, its = self.facts[row].tolist()
        return DoubtfulPlace(
            int(self.index[row]), (x, y, z), int(code), confidence, int(flag), int(second), its,
            wrong=wrong, points=points, side=side,
        )  # fmt: skip


@dataclass(frozen=True)
class ConfidenceMap:
    """Square cells in plan that have points, but for protected ones."""

    side: float  # in the unit of the file
    low: np.ndarray  # (c, 2) their lower left corners, in its coordinates
    confidence: np.ndarray  # (c,) mean over points without a label, NaN where there are none
    points: np.ndarray  # (c,) without a label
    labels: np.ndarray  # (c,) labelled points

    @classmethod
    def of(cls, parts: Parts, frame: Frame) -> ConfidenceMap:
        """In one pass over the points."""
        sums = CoarseningSums(2, 3, MAP_CELLS)
        for seen in parts():
            free, rows = ~seen.labelled, seen.changeable
            values = np.column_stack([seen.confidence * free, free, seen.labelled])
            sums.add(seen.points[rows], values[rows])
        sums.coarsen_to(int(sums.sums[:, 1].sum()) / MAP_POINTS)
        sure, points, labels = sums.sums.T
        mean = np.divide(sure / ONE, points, out=np.full(len(sums), np.nan), where=points > 0)
        corners = np.column_stack([sums.cells * sums.side, np.zeros(len(sums))])
        low = frame.coordinates(corners)[:, :2]
        return cls(sums.side / frame.metres, low, mean, points, labels)
