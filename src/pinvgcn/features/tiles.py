"""Tiles: a cloud on disk, cut in plan, whose points see around them all that they would see in the whole.

What a point is asked for depends on the points within some reach of it (`geometry_and_reach`). A tile is
loaded with a margin around it; an answer is exact when its reach ends inside of what was loaded, and is asked
again with more around it when it does not (`docs/scans.md`, "How tiles stay exact").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.errors import ScanFileError
from pinvgcn.features.cut import Cut
from pinvgcn.features.neighbours import TIE
from pinvgcn.group import ALONE, Group
from pinvgcn.io.unfinished import unfinished

SIZE = 500_000  # points of a tile
GROWTH = 4.0  # of the margin, for the points for which it was too small
CROWD = 3  # tiles' worth of points that may be in memory as surroundings,
ROOM = 100_000  # and in any case so many
READ = 2**18  # points of a tile read at a time


@dataclass(frozen=True)
class Piece:
    """Some points of a cloud, and what belongs to each."""

    index: np.ndarray  # (k,) their places in the cloud
    points: np.ndarray  # (k, 3)
    columns: np.ndarray  # (k, c)


class Surroundings(NamedTuple):
    """The points around others, and the values that were kept of them, if any were asked for."""

    points: np.ndarray  # (m, 3)
    values: np.ndarray | None  # (m, v)


# queries (m, 3) and their surroundings -> answers (m, f), and their reach in space and in plan (m, 2)
Question = Callable[[np.ndarray, Surroundings], tuple[np.ndarray, np.ndarray]]


@dataclass
class Tiles:
    """The tiles of a cloud in a ``folder``, which holds nothing else and is the caller's to remove."""

    folder: Path
    columns: int
    size: int
    counts: list[int] = field(default_factory=list)  # points of each tile
    low: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))  # (tiles, 3) corners of their boxes
    high: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    beside: int = 0  # of the columns, the last ones, which are not for models
    group: Group = ALONE  # the processes that share the tiles, all of which see the folder
    own: list[int] | None = None  # the tiles that this one works on; None for all
    kept_before: frozenset[int] = frozenset()  # tiles whose values were kept by a job that was interrupted

    @classmethod
    def of(
        cls, pieces: Callable[[], Iterable[Piece]], folder: Path, *, columns: int = 0, size: int = SIZE
    ) -> Tiles:
        """Sort a cloud into tiles of about ``size`` points; ``pieces()`` is read twice."""
        cut = Cut.of((piece.points for piece in pieces()), size)
        tiles = cls(folder, columns, size, [0] * cut.parts)
        tiles.low, tiles.high = np.full((cut.parts, 3), np.inf), np.full((cut.parts, 3), -np.inf)
        for piece in pieces():
            tiles._add(piece, cut(piece.points[:, :2]))
        return tiles

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def mine(self) -> Sequence[int]:
        """The tiles that this process works on."""
        return range(len(self)) if self.own is None else self.own

    @property
    def count(self) -> int:
        """All points."""
        return sum(self.counts)

    def load(self, tile: int) -> Piece:
        """The points of a tile, in the order of the cloud."""
        records = np.fromfile(self._path("points", tile), self._record)
        return Piece(records["index"], records["point"], records["column"])

    def keep(self, name: str, tile: int, values: np.ndarray) -> None:
        """Write values (k, v) of the points of a tile, for those around it to see."""
        place = Path(f"{self._path(name, tile)}.npy")
        with unfinished(place, error=ScanFileError) as path, path.open("wb") as file:
            np.save(file, values)

    def kept(self, name: str, tile: int) -> np.ndarray:
        """What was kept, on disk."""
        values: np.ndarray = np.load(f"{self._path(name, tile)}.npy", mmap_mode="r")
        return values

    def ask(
        self,
        question: Question,
        tile: int,
        *,
        near: int,
        rows: np.ndarray | None = None,
        kept: str | None = None,
    ) -> np.ndarray:
        """The answers (m, f) that the points of a tile, or some ``rows`` of them, have in the whole cloud.

        ``near`` is how many points an answer looks at, for which the first margin is made; values that were
        ``kept`` under that name surround the queries too.
        """
        own = self.load(tile).points
        margin = self._margin(tile, near)
        queries = own if rows is None else own[rows]
        limit = self._limit + len(own)
        todo, reach = np.arange(len(queries)), np.full((len(queries), 2), np.inf)
        parts: list[tuple[np.ndarray, np.ndarray]] = []  # rows and their answers
        for width in (margin, GROWTH * margin):
            if not len(todo):
                break
            low, high = _bounds(queries[todo])
            around = self._inside(low - width, high + width, kept, limit=limit)
            if around is None and width == margin:  # crowded outside: the tile itself bounds the reach
                width = 0.0
                around = self._inside(low, high, kept, limit=limit)
            if around is None:
                break
            found, reach[todo] = question(queries[todo], around)
            border = self._to_border(queries[todo], low - width, high + width)
            sure = np.isinf(border) | (reach[todo].max(axis=1) * (1 + 2 * TIE) < border)
            parts.append((todo[sure], found[sure]))
            todo = todo[~sure]
        if len(todo):
            closer = reach[todo]
            self._tightened(question, queries[todo], closer, kept)
            reach[todo] = closer
        for some, around in self._within(queries, reach, todo, kept):
            parts.append((some, question(queries[some], around)[0]))
        order = np.argsort(np.concatenate([some for some, _ in parts]), kind="stable")
        return np.concatenate([found for _, found in parts])[order]

    def _margin(self, tile: int, near: int) -> float:
        """A width that holds ``near`` points in plan at most places of a tile."""
        extent = (self.high - self.low)[tile, :2]
        longest = extent.max() or 1.0
        area = longest * max(extent.min(), 0.01 * longest)
        return 1.5 * float(np.sqrt(near * area / np.pi / self.counts[tile]))

    def _inside(
        self, low: np.ndarray, high: np.ndarray, kept: str | None, *, limit: int
    ) -> Surroundings | None:
        """All points inside a rectangle of the plan; None where they are more than ``limit``."""

        def inside(points: np.ndarray) -> np.ndarray:
            plan = points[:, :2]
            return np.asarray(((plan >= low) & (plan <= high)).all(axis=1))

        touched = ((self.low[:, :2] <= high) & (self.high[:, :2] >= low)).all(axis=1)
        return self._gather(np.flatnonzero(touched), inside, kept, limit=limit)

    def _within(
        self, queries: np.ndarray, reach: np.ndarray, todo: np.ndarray, kept: str | None
    ) -> Iterator[tuple[np.ndarray, Surroundings]]:
        """Parts of the queries ``todo``, with all points within their reach and few others."""
        batches = [todo] if len(todo) else []
        while batches:
            some = batches.pop()
            balls = _Balls(queries[some], reach[some])
            limit = self._limit if len(some) > 1 else self.count
            around = self._gather(balls.touched(self.low, self.high), balls, kept, limit=limit)
            if around is not None:
                yield some, around
            else:
                axis = int(np.ptp(queries[some][:, :2], axis=0).argmax())
                order = some[np.argsort(queries[some, axis], kind="stable")]
                batches += np.array_split(order, 2)

    def _tightened(
        self, question: Question, queries: np.ndarray, reach: np.ndarray, kept: str | None
    ) -> None:
        """Lower the reach where a sample of the whole cloud shows that it ends earlier.

        Any part of the cloud bounds the reach from above: the rest can only add nearer points.
        """
        balls = _Balls(queries, reach)
        every = max(1, self.count // self._limit + 1)
        sample = self._gather(balls.touched(self.low, self.high), balls, kept, limit=self.count, every=every)
        assert sample is not None
        if len(sample.points):
            np.minimum(reach, question(queries, sample)[1], out=reach)

    def _gather(
        self,
        tiles: np.ndarray,
        wanted: Callable[[np.ndarray], np.ndarray],
        kept: str | None,
        *,
        limit: int,
        every: int = 1,
    ) -> Surroundings | None:
        """The ``wanted`` of these tiles' points in the order of the cloud, one of ``every`` so many; None
        where they are more than ``limit``."""
        index, points, values, total = [], [], [], 0
        for tile in tiles:
            records = np.memmap(self._path("points", tile), self._record, mode="r")
            beside = None if kept is None else self.kept(kept, tile)
            for start in range(0, len(records), READ):
                part = records[start : start + READ : every]
                rows = np.flatnonzero(wanted(np.ascontiguousarray(part["point"])))
                total += len(rows)
                if total > limit:
                    return None
                index.append(part["index"][rows])
                points.append(part["point"][rows])
                if beside is not None:
                    values.append(beside[start : start + READ : every][rows])
        order = np.argsort(np.concatenate(index))
        return Surroundings(
            np.concatenate(points)[order], np.concatenate(values)[order] if kept is not None else None
        )

    @property
    def _limit(self) -> int:
        """How many points may be in memory as surroundings."""
        return max(CROWD * self.size, ROOM)

    def _to_border(self, queries: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """How far it is from queries to the border of a rectangle, beyond which there may be other points."""
        below = np.where(low > self.low[:, :2].min(axis=0), queries[:, :2] - low, np.inf)
        above = np.where(high < self.high[:, :2].max(axis=0), high - queries[:, :2], np.inf)
        nearest: np.ndarray = np.minimum(below, above).min(axis=1)
        return np.where(np.isinf(nearest), np.inf, nearest)

    def _add(self, piece: Piece, parts: np.ndarray) -> None:
        order = np.argsort(parts, kind="stable")
        records = np.empty(len(order), self._record)
        records["index"] = piece.index[order]
        records["point"], records["column"] = piece.points[order], piece.columns[order]
        ends = np.cumsum(np.bincount(parts, minlength=len(self)))
        for tile, some in enumerate(np.split(records, ends[:-1])):
            if not len(some):
                continue
            with open(self._path("points", tile), "ab") as file:
                some.tofile(file)
            self.counts[tile] += len(some)
            self.low[tile] = np.minimum(self.low[tile], some["point"].min(axis=0))
            self.high[tile] = np.maximum(self.high[tile], some["point"].max(axis=0))

    @property
    def _record(self) -> np.dtype:
        return np.dtype([("index", "<i8"), ("point", "<f8", (3,)), ("column", "<f8", (self.columns,))])

    def _path(self, name: str, tile: int) -> Path:
        return self.folder / f"{name}-{tile}"


class _Balls:
    """Balls in space and discs in plan around queries, by their reach; as a test of points, a little wider.

    Those of about the same radius are tested together, with the largest of their radii.
    """

    def __init__(self, queries: np.ndarray, reach: np.ndarray) -> None:
        self.queries, self.reach = queries, reach * (1 + 2 * TIE)
        self.everything = bool(np.isinf(reach).any())
        self.groups: list[tuple[int, cKDTree, float]] = []
        for dimension, radius in zip((3, 2), self.reach.T, strict=True):
            scale = np.frexp(radius)[1]
            for one in np.unique(scale[np.isfinite(radius)]):
                rows = (scale == one) & np.isfinite(radius)
                tree = cKDTree(queries[rows, :dimension])
                self.groups.append((dimension, tree, float(radius[rows].max())))

    def __call__(self, points: np.ndarray) -> np.ndarray:
        if self.everything:
            return np.ones(len(points), dtype=bool)
        inside = np.zeros(len(points), dtype=bool)
        for dimension, tree, radius in self.groups:
            bound = radius * (1 + TIE) + 1e-100  # which is exclusive; where points coincide the radius is 0
            outside = np.flatnonzero(~inside)
            distance, _ = tree.query(points[outside, :dimension], distance_upper_bound=bound)
            inside[outside] = np.isfinite(distance)
        return inside

    def touched(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Which of these boxes some ball may reach."""
        touched = np.zeros(len(low), dtype=bool)
        for dimension, radius in zip((3, 2), self.reach.T, strict=True):
            for box in range(len(low)):
                near = np.clip(self.queries, low[box], high[box])[:, :dimension]
                gap = np.sqrt(((self.queries[:, :dimension] - near) ** 2).sum(axis=1))
                touched[box] |= bool((gap <= radius).any())
        return np.flatnonzero(touched)


def _bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of their rectangle in plan."""
    return points[:, :2].min(axis=0), points[:, :2].max(axis=0)
