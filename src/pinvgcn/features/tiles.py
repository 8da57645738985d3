"""Tiles: a cloud on disk, cut in plan, whose points see around them all that they would see in the whole.

What a point is told depends on the cells around it, which end within a margin that is known in advance. So a
tile is worked on with the points of all tiles that are within the margin of it (`docs/scans.md`, "How tiles
stay exact").
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import hashed
from pinvgcn.errors import ScanFileError
from pinvgcn.features.averages import Averages
from pinvgcn.features.geometry import cell_size
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.io.atomic import atomic_file, write_text

SIZE = 500_000  # points of a tile
SAMPLE = 200_000  # points by which the medians of cuts are found
READ = 2**18  # points of a tile read at a time
TOGETHER = 2**22  # numbers, of points and values around a tile, that are handed out together
FILE = "tiles.json"  # there once all tiles are


@dataclass(frozen=True)
class Piece:
    """Some points of a cloud, and what belongs to each."""

    index: np.ndarray  # (k,) their places in the cloud
    points: np.ndarray  # (k, 3)
    columns: np.ndarray  # (k, c)


@dataclass(frozen=True)
class Cut:
    """A binary tree of cuts x ≤ c or y ≤ c; its leaves are parts with about equally many points, numbered
    from 0.

    Cuts are medians of a sample: one stray point far away does not make the other parts smaller, as it would
    on a grid.
    """

    axis: np.ndarray  # (nodes,)
    at: np.ndarray  # (nodes,)
    below: np.ndarray  # (nodes,) the node of x ≤ c, or −1 − part
    above: np.ndarray  # (nodes,)
    parts: int

    @classmethod
    def by(cls, sample: np.ndarray, count: int, size: int) -> Cut:
        """By a sample (s, 3) of a cloud of ``count`` points."""
        nodes: list[list[float]] = []
        parts = 0

        def halve(some: np.ndarray) -> int:
            nonlocal parts
            extent = np.ptp(some, axis=0) if len(some) else np.zeros(2)
            axis = int(extent.argmax())
            if len(some) * count <= size * len(sample) or extent[axis] == 0:
                parts += 1
                return -parts
            c = float(np.median(some[:, axis]))
            lower = some[:, axis] <= c
            if lower.all():  # many share the largest value
                c = float(some[some[:, axis] < c, axis].max())
                lower = some[:, axis] <= c
            here = len(nodes)
            nodes.append([axis, c, 0, 0])
            nodes[here][2], nodes[here][3] = halve(some[lower]), halve(some[~lower])
            return here

        halve(sample[:, :2])
        axis, at, below, above = np.array(nodes).reshape(-1, 4).T
        return cls(axis.astype(int), at, below.astype(int), above.astype(int), parts)

    def __call__(self, plan: np.ndarray) -> np.ndarray:
        """The part of each place (n, 2)."""
        node = np.full(len(plan), 0 if len(self.axis) else -1)
        while (node >= 0).any():
            rows = np.flatnonzero(node >= 0)
            now = node[rows]
            lower = plan[rows, self.axis[now]] <= self.at[now]
            node[rows] = np.where(lower, self.below[now], self.above[now])
        return -1 - node


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

    def begin(self, count: int) -> None:
        """``count`` tiles, all empty."""
        self.counts = [0] * count
        self.low, self.high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)

    def records(self, piece: Piece) -> np.ndarray:
        """A piece as it is on disk: (k,)."""
        records = np.empty(len(piece.index), self.record)
        records["index"], records["point"], records["column"] = piece.index, piece.points, piece.columns
        return records

    def add(self, records: np.ndarray, cut: Cut) -> None:
        """Append each record to its tile."""
        parts = cut(records["point"][:, :2]).astype(np.min_scalar_type(len(self)))  # few bits sort faster
        records = records.take(np.argsort(parts, kind="stable"))
        counts = np.bincount(parts, minlength=len(self))
        there = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[there]
        self.low[there] = np.minimum(self.low[there], np.minimum.reduceat(records["point"], starts))
        self.high[there] = np.maximum(self.high[there], np.maximum.reduceat(records["point"], starts))
        for tile, start in zip(there.tolist(), starts.tolist(), strict=True):
            with open(self.path("points", tile), "ab") as file:
                records[start : start + counts[tile]].tofile(file)
            self.counts[tile] += int(counts[tile])

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
        records = np.fromfile(self.path("points", tile), self.record)
        return Piece(records["index"], records["point"], records["column"])

    def keep(self, name: str, tile: int, values: np.ndarray) -> None:
        """Write values (k, v) of the points of a tile, for those around it to see."""
        place = Path(f"{self.path(name, tile)}.npy")
        with atomic_file(place, error=ScanFileError) as path, path.open("wb") as file:
            np.save(file, values)

    def has(self, name: str, tile: int) -> bool:
        """Whether values of this name were kept, now or by a job that was interrupted."""
        return Path(f"{self.path(name, tile)}.npy").exists()

    def kept(self, name: str, tile: int) -> np.ndarray:
        """What was kept, on disk."""
        return np.load(f"{self.path(name, tile)}.npy", mmap_mode="r")

    def around(
        self, tile: int, margin: float, kept: str | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All points (m, 3) within ``margin`` of a tile along x and y, its own among them, some at a time;
        and the values (m, v) that were ``kept`` of them under that name. They come in no order."""
        low, high = self.low[tile, :2] - margin, self.high[tile, :2] + margin
        touched = ((self.low[:, :2] <= high) & (self.high[:, :2] >= low)).all(axis=1)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for other in np.flatnonzero(touched).tolist():
            records: Any = np.memmap(self.path("points", other), self.record, mode="r")
            beside = np.empty((len(records), 0)) if kept is None else self.kept(kept, other)
            for start in range(0, len(records), READ):
                some = np.ascontiguousarray(records["point"][start : start + READ])
                rows = np.flatnonzero(((some[:, :2] >= low) & (some[:, :2] <= high)).all(axis=1))
                if len(rows):
                    found.append((some[rows], beside[start : start + READ][rows]))
                if sum(points.size + values.size for points, values in found) >= TOGETHER:
                    yield _joined(found)
                    found = []
        if found:
            yield _joined(found)

    def pyramid(self, tile: int, lattice: Lattice) -> Pyramid:
        """The sums of all that the points of a tile may look at."""
        return Pyramid.sum([Pyramid.of(some, lattice) for some, _ in self.around(tile, lattice.margin)])

    def averages(
        self,
        tile: int,
        kept: str,
        lattice: Lattice,
        *,
        of: Callable[[np.ndarray], np.ndarray] = lambda values: values,
    ) -> Averages:
        """The same for means of the values that were ``kept``, or of what a function makes ``of`` them."""
        parts = (
            Averages.of(points, of(values), lattice.cell, levels=lattice.levels)
            for points, values in self.around(tile, lattice.margin, kept)
        )
        return Averages.sum(list(parts))

    def cell_size(self) -> float:
        """That of the whole cloud; see `cell_size`."""
        own = share_out(self.counts, self.group.size)[self.group.rank]
        return cell_size(lambda: (self.load(tile).points for tile in own), self.count, group=self.group)

    @property
    def record(self) -> np.dtype:
        return np.dtype([("index", "<i8"), ("point", "<f8", (3,)), ("column", "<f8", (self.columns,))])

    def path(self, name: str, tile: int) -> Path:
        return self.folder / f"{name}-{tile}"


def share_out(weights: list[int], size: int) -> list[list[int]]:
    """Numbers from 0 on in ``size`` consecutive parts of about equal weight: some may be empty."""
    ends = np.cumsum(weights, dtype=float)
    middles = (ends - np.array(weights) / 2) / max(ends[-1] if len(ends) else 0.0, 1.0)
    owner = np.minimum((middles * size).astype(int), size - 1)
    return [np.flatnonzero(owner == rank).tolist() for rank in range(size)]


def shared_tiles(
    pieces: Iterable[Piece],
    folder: Path,
    *,
    total: int,
    group: Group = ALONE,
    columns: int = 0,
    beside: int = 0,
    size: int = SIZE,
) -> Tiles:
    """Sort this process's ``pieces`` of a cloud into tiles of about ``size`` points.

    The points are numbered below ``total``. How to cut is known after the last piece only. Until then the
    points wait on disk: to unpack or parse a scan a second time would take longer.
    """
    token = group.values(secrets.token_hex(4))[0]  # of no other start of this job
    parts = [folder / f"part-{token}-{rank}" for rank in range(group.size)]
    parts[group.rank].mkdir()
    own = Tiles(parts[group.rank], columns, size)
    waiting, sample, count = own.folder / "waiting", [np.empty((0, 3))], 0
    with waiting.open("wb") as file:
        for piece in pieces:
            own.records(piece).tofile(file)
            count += len(piece.index)
            sample.append(piece.points[hashed(piece.index) / 2.0**64 < SAMPLE / max(total, 1)])
    cut = Cut.by(group.rows(np.concatenate(sample)), group.sum(count), size)
    own.begin(cut.parts)
    with waiting.open("rb") as file:
        while len(records := np.fromfile(file, own.record, READ)):
            own.add(records, cut)
    waiting.unlink()
    counts = group.sum(np.array(own.counts, dtype=np.int64))
    low, high = group.smallest(own.low), group.largest(own.high)
    there = counts > 0  # a tile made for points of the sample alone may be empty
    tiles = Tiles(folder, columns, size, counts[there].tolist(), low[there], high[there], beside, group)
    group.wait()
    numbers = np.flatnonzero(there)
    for tile in share_out(tiles.counts, group.size)[group.rank]:
        _join([part / f"points-{numbers[tile]}" for part in parts], tiles, tile)
    group.wait()
    if group.rank == 0:
        for part in parts:
            shutil.rmtree(part)
        said = {name: getattr(tiles, name) for name in ("columns", "beside", "size", "counts")}
        said |= {"low": tiles.low.tolist(), "high": tiles.high.tolist()}
        write_text(folder / FILE, json.dumps(said), error=ScanFileError)
    group.wait()
    return tiles


def _joined(found: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    points, values = zip(*found, strict=True)
    return np.concatenate(points), np.concatenate(values)


def _join(parts: list[Path], tiles: Tiles, tile: int) -> None:
    there = [part for part in parts if part.exists()]
    points, rest = divmod(sum(part.stat().st_size for part in there), tiles.record.itemsize)
    if rest or points != tiles.counts[tile]:
        raise ScanFileError(
            f"{tiles.folder} must hold {tiles.counts[tile]:,} points of tile {tile}. Got {points:,}: it was "
            "changed meanwhile. Start the command again."
        )
    if len(there) == 1:
        os.replace(there[0], tiles.path("points", tile))
        return
    with atomic_file(tiles.path("points", tile), error=ScanFileError) as path, path.open("wb") as whole:
        for part in there:
            with part.open("rb") as file:
                shutil.copyfileobj(file, whole, 2**24)


def saved_tiles(folder: Path, group: Group) -> Tiles:
    """The tiles that ``shared_tiles`` made there."""
    said = json.loads((folder / FILE).read_text())
    boxes: dict[str, Any] = {name: np.array(said.pop(name)).reshape(-1, 3) for name in ("low", "high")}
    return Tiles(folder, **said, **boxes, group=group)


def for_rank(tiles: Tiles, todo: list[int], kept_before: Iterable[int] = ()) -> Tiles:
    """The same, of which this process works on its share of those that are ``todo``."""
    share = share_out([tiles.counts[tile] for tile in todo], tiles.group.size)[tiles.group.rank]
    return replace(tiles, own=[todo[place] for place in share], kept_before=frozenset(kept_before))
