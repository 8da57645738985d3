"""Where a model is unsure of a cloud: the places where a label would help most, and a map of its confidence.

A label helps what is around it. So the doubt Σ (1 − confidence) is summed over cubic cells, which is the
number of points expected to be wrong, and the cells with the largest sums are taken one after the other; none
whose point is nearer than ``apart`` to one that was taken. A cell's point is an unlabelled one that is unsure
and near the middle: the one with the smallest confidence + PULL · distance / side.

``apart`` is √(A / 2n) for n places in a cloud whose points, but for protected ones, cover the area A in plan.
Cells are as wide as a quarter of that allows, and wider where they would have fewer than ENOUGH points on
average. Two passes over the points, and memory for the cells alone (``cell_sums.py``). The places become a
table that can be filled in and handed back as labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ScanFileError
from pinvgcn.jobs.files import COUNT, DIGITS, expected_wrong, write_question_file
from pinvgcn.scans.cell_sums import CoarseningSums
from pinvgcn.scans.copies import ONE, ClassifiedPoints, Parts
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.labels import name_of
from pinvgcn.scans.requests import ScanFiles
from pinvgcn.scans.streaming import ALONE as FAR
from pinvgcn.scans.streaming import OUTSIDE
from pinvgcn.wording import counted

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
    sums = CoarseningSums(3, 2, MOST, group)
    for seen in parts():
        free, rows = ~seen.labelled, seen.changeable
        doubt = ONE - seen.outcomes.whole_confidence
        sums.add(seen.points[rows], np.column_stack([doubt * free, free])[rows])
    sums = sums.over_all()
    points = int(sums.sums[:, 1].sum())
    sums.coarsen_to(points / ENOUGH)
    plan = len(np.unique(sums.cells[:, :2], axis=0))
    apart = float(np.sqrt(plan / (2 * count))) * sums.side
    while 2 * NARROW * sums.side <= apart:  # cells as wide as they may be
        sums.coarsen()
    best = _Best.empty(len(sums), group)
    centres = sums.centres
    for seen in parts():
        free = np.flatnonzero(~seen.labelled)
        rows = sums.rows(seen.points[free])
        away = np.linalg.norm(seen.points[free] - centres[rows], axis=1) / sums.side
        best.put(rows, seen.outcomes.whole_confidence[free] / ONE + PULL * away, seen, free)
    best = best.over_all()
    doubt, free = sums.sums.T
    left, places = np.where(doubt > 0, doubt, 0), best.facts[:, :3]
    chosen: list[int] = []
    while len(chosen) < count and left.any():  # of equal doubt the first cell
        chosen.append(int(left.argmax()))
        left[np.linalg.norm(places - places[chosen[-1]], axis=1) < apart] = 0
        left[chosen[-1]] = 0
    return [best.place(row, doubt[row] / ONE, int(free[row]), sums.side) for row in chosen]


@dataclass(frozen=True)
class _Best:
    """Of each cell the point that stands for it, so far."""

    keys: np.ndarray  # (c,) smallest first
    index: np.ndarray  # (c,) of equal keys the smallest
    facts: np.ndarray  # (c, 8) x, y, z, code, confidence, flag, second, its confidence
    group: Group

    @classmethod
    def empty(cls, count: int, group: Group) -> _Best:
        return cls(np.full(count, np.inf), np.full(count, NOBODY), np.zeros((count, 8)), group)

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

    def over_all(self) -> _Best:
        group = self.group
        keys = group.smallest(self.keys)
        index = group.smallest(np.where(self.keys == keys, self.index, NOBODY))
        mine = (self.index == index) & (index < NOBODY)
        return _Best(keys, index, group.sum(np.where(mine[:, None], self.facts, 0.0)), group)

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
        sums = CoarseningSums(2, 3, MAP_CELLS)
        for seen in parts():
            free, rows = ~seen.labelled, seen.changeable
            values = np.column_stack([seen.outcomes.whole_confidence * free, free, seen.labelled])
            sums.add(seen.points[rows], values[rows])
        sums.coarsen_to(int(sums.sums[:, 1].sum()) / MAP_POINTS)
        sure, points, labels = sums.sums.T
        mean = np.divide(sure / ONE, points, out=np.full(len(sums), np.nan), where=points > 0)
        corners = np.column_stack([sums.cells * sums.side, np.zeros(len(sums))])
        low = frame.coordinates(corners)[:, :2]
        return cls(sums.side / frame.metres, low, mean, points, labels)


@dataclass(frozen=True)
class Question:
    """What is this point?"""

    number: int  # from 1 on
    file: str
    index: int  # of the point in its file
    x: float  # in the coordinates of the file
    y: float
    z: float
    label: None  # for the answer
    predicted: Any  # None where nothing is
    predicted_name: str
    confidence: float
    runner_up: Any  # None where it is not known
    runner_up_name: str
    runner_up_probability: float | None
    why: str
    wrong: float  # points of its cell that are expected to be
    points: int  # of its cell, without a label


COLUMNS = tuple(one.name for one in fields(Question))[:-2]  # of the table


def questions(
    places: Iterable[DoubtfulPlace], frame: Frame, files: ScanFiles, classes: list[Any]
) -> list[Question]:
    """About these places of a cloud."""

    def of(code: int) -> tuple[Any, str]:
        value = None if code < 0 else classes[code]
        return value, "" if value is None else name_of(value, asprs=files.asprs, number=False)

    found = []
    for number, place in enumerate(places, start=1):
        file = int(np.searchsorted(files.starts, place.index, side="right")) - 1
        x, y, z = np.round(frame.coordinates(np.array([place.point])), DIGITS)[0].tolist()
        second = round(place.second_confidence, 4) if place.second >= 0 else None
        found.append(
            Question(
                number, files.paths[file].name, int(place.index - files.starts[file]), x, y, z, None,
                *of(place.code), round(place.confidence, 4), *of(place.second), second,
                _why(place), place.wrong, place.points,
            )
        )  # fmt: skip
    return found


def write_questions(found: list[Question], path: Path) -> None:
    rows = [astuple(question)[: len(COLUMNS)] for question in found]
    write_question_file(path, COLUMNS, rows, error=ScanFileError)


def _why(place: DoubtfulPlace) -> str:
    start = {
        FAR: "far from all of training, no prediction; ",
        OUTSIDE: "beyond what the model was fitted to; ",
    }.get(place.flag, "")
    wrong, points = expected_wrong(place.wrong), counted(place.points, "point")
    return f"{start}{wrong} of {points} in the cell of {place.side:g} m around it expected to be wrong"
