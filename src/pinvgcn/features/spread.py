"""Neighbourhoods across ranks: every point sees the points near it, whichever process has them.

What a point is asked for depends on the points within some reach of it, and any part of a cloud bounds that
reach from above: the rest can only add nearer points. So each rank first asks among its own points, and is
done with all whose reach meets no box of another rank's points. Around the others it asks the other ranks for
what lies within their reach, and asks again among that. Of ranks that hold tiles only what is near their
borders travels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinvgcn.checks import check_count, check_rows
from pinvgcn.features.averages import average_and_reach, local_average
from pinvgcn.features.geometry import geometry_and_reach, geometry_names, local_geometry
from pinvgcn.features.neighbours import TIE
from pinvgcn.group import Group, together
from pinvgcn.pool import in_pool
from pinvgcn.shares import as_shared_matrix

LEAVES = 256  # boxes by which a rank tells the others where its points are
FEW = 64  # points of a leaf that is not halved again
SAMPLE = 4_096  # points of all ranks that bound the reach where a rank has too few

# queries (m, d), a cloud (c, d) and its values (c, v) -> answers (m, f) and their reach (m, number of balls)
Question = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def average_over_ranks(points: Any, values: Any, *, neighbours: int = 10, group: Group) -> np.ndarray:
    """`local_average` of this rank's points (n, d) and values (n, c) among those of all ranks: (n, c)."""
    if group.alone:
        return local_average(points, values, neighbours=neighbours)
    k = check_count("neighbours", neighbours)
    here, known = as_shared_matrix(points, "points", group), as_shared_matrix(values, "values", group)
    with together(group):
        check_rows(known, len(here), "values", "points")

    def question(queries: np.ndarray, cloud: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, reach = average_and_reach(queries, beside, cloud=cloud, neighbours=k)
        return found, reach[:, None]

    return _answers(question, here, known, balls=(here.shape[1],), width=known.shape[1], group=group)


def geometry_over_ranks(points: Any, *, group: Group) -> np.ndarray:
    """`local_geometry` of this rank's points (n, 3) among those of all ranks: (n, f)."""
    if group.alone:
        return local_geometry(points)
    here = as_shared_matrix(points, "points", group)

    def question(queries: np.ndarray, cloud: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return geometry_and_reach(queries, cloud)

    return _answers(question, here, here[:, :0], balls=(3, 2), width=len(geometry_names()), group=group)


def _answers(
    question: Question,
    points: np.ndarray,
    values: np.ndarray,
    *,
    balls: tuple[int, ...],
    width: int,
    group: Group,
) -> np.ndarray:
    """The answers (n, ``width``) among the points of all ranks.

    ``balls`` are the numbers of coordinates that the reach is measured in: 3 in space, 2 in plan.
    """
    leaves = Leaves(points)
    found, reach = np.empty((len(points), width)), np.full((len(points), len(balls)), np.inf)
    with together(group):
        if len(points):
            found[:], reach[:] = question(points, points, values)
    _bound(question, points, values, reach, group)
    reach *= 1 + 2 * TIE
    others = group.parts(leaves.boxes)
    foreign = np.concatenate([boxes for rank, boxes in enumerate(others) if rank != group.rank])
    unsure = np.zeros(len(points), dtype=bool)
    asked = [np.empty((0, 2, points.shape[1]))]
    for rows in leaves.rows:
        around = [
            _balls(points[rows], radius, axes) for radius, axes in zip(reach[rows].T, balls, strict=True)
        ]
        near = foreign[meet(np.concatenate([_hull(boxes) for boxes in around]), foreign).any(axis=0)]
        crossed = np.any([meet(boxes, near).any(axis=1) for boxes in around], axis=0)
        unsure[rows[crossed]] = True
        if crossed.any():
            asked += [_hull(boxes[crossed]) for boxes in around]
    wanted = np.concatenate(asked)
    # of the other ranks and of this one alike: all points within the reach of those that are unsure
    asks = group.swap([wanted[meet(wanted, boxes).any(axis=1)] for boxes in others])
    known = np.hstack([points, values])
    cloud = np.concatenate(group.swap([known[leaves.inside(boxes)] for boxes in asks]))
    with together(group):
        if unsure.any():
            d = points.shape[1]
            found[unsure] = question(points[unsure], cloud[:, :d], cloud[:, d:])[0]
    return found


def _bound(
    question: Question, points: np.ndarray, values: np.ndarray, reach: np.ndarray, group: Group
) -> None:
    """Make the reach of points finite where their own rank has too few others, by a sample of all points."""
    endless = np.flatnonzero(np.isinf(reach).any(axis=1))
    if not group.sum(len(endless)):
        return
    start, total = group.offset(len(points))
    some = in_pool(start, len(points), total, most=SAMPLE)
    sample, beside = group.rows(points[some]), group.rows(values[some])
    with together(group):
        if len(endless):
            reach[endless] = np.minimum(reach[endless], question(points[endless], sample, beside)[1])


class Leaves:
    """Points (n, d) in up to 256 boxes with about equally many, halves of halves at medians."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points
        self.rows = [np.arange(len(points))] if len(points) else []
        while len(self.rows) < LEAVES and any(len(rows) > FEW for rows in self.rows):
            self.rows = [half for rows in self.rows for half in self._halves(rows)]
        hulls = [_hull(points[rows][:, None]) for rows in self.rows]
        self.boxes = np.concatenate([np.empty((0, 2, points.shape[1])), *hulls])

    def _halves(self, rows: np.ndarray) -> list[np.ndarray]:
        if len(rows) <= FEW:
            return [rows]
        some = self.points[rows]
        middle = len(rows) // 2
        order = np.argpartition(some[:, int(np.ptp(some, axis=0).argmax())], middle)
        return [rows[order[:middle]], rows[order[middle:]]]

    def inside(self, boxes: np.ndarray) -> np.ndarray:
        """The rows of points inside any of some boxes, rising."""
        found = [np.empty(0, dtype=np.int64)]
        touched = meet(self.boxes, boxes)
        for rows, some in zip(self.rows, touched, strict=True):
            if some.any():
                found.append(rows[meet(self.points[rows][:, None], boxes[some]).any(axis=1)])
        return np.sort(np.concatenate(found))


def _balls(points: np.ndarray, radius: np.ndarray, axes: int) -> np.ndarray:
    """The box (low, high) around the ball of each point; along the coordinates beyond ``axes`` it is endless:
    (m, 2, d)."""
    half = np.full(points.shape, np.inf)
    half[:, :axes] = radius[:, None]
    return np.stack([points - half, points + half], axis=1)


def _hull(boxes: np.ndarray) -> np.ndarray:
    """The box around boxes, or around points as (m, 1, d): (1, 2, d)."""
    return np.stack([boxes[:, 0].min(axis=0), boxes[:, -1].max(axis=0)])[None]


def meet(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which boxes (p, 2, d) have a point in common with which others (q, 2, d): (p, q)."""
    result = np.ones((len(some), len(others)), dtype=bool)
    for axis in range(some.shape[2]):
        result &= some[:, None, 0, axis] <= others[:, -1, axis]
        result &= some[:, None, -1, axis] >= others[:, 0, axis]
    return result
