"""A scan as the page has it: all points, those that are drawn, and a sample at which answers are computed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.features.lattice import in_curve_order
from pinvgcn.io import open_scan
from pinvgcn.scans.frame import USEFUL, candidates, plain_name

SAMPLE = 250_000  # points at which the live answer is computed at most
PIECE = 1_000_000  # points that are worked on at a time
BUDGET = 500_000  # points in the browser at most
BITS = 20  # of a place along each axis, for the order


@dataclass(frozen=True)
class Cloud:
    """The points of a scan. Those of smaller ``turn`` are drawn first: any first few lie evenly over it."""

    path: Path
    points: np.ndarray  # (n, 3)
    fields: dict[str, np.ndarray]  # those that the page can use, by the names that models know them by: (n,)
    metres: float
    turn: np.ndarray  # (n,) uint32, each number below n once
    digest: str  # of the coordinates
    most: int = SAMPLE

    @classmethod
    def of(cls, path: str | Path, *, fields: tuple[str, ...] = (), most: int = SAMPLE) -> Cloud:
        """Read a scan file; ``fields`` are wanted beside those that are features or colours."""
        source = open_scan(path)
        useful = candidates(source, None, besides=None)
        names = {field: plain_name(field) for field in useful} | {field: field for field in fields}
        points = np.empty((source.count, 3))
        columns: dict[str, list[np.ndarray]] = {field: [] for field in names}
        for piece in source.chunks(PIECE, fields=list(names)):
            points[piece.start : piece.start + len(piece)] = piece.points
            for field, column in columns.items():
                column.append(piece.fields[field])
        named = {names[field]: np.concatenate(columns.pop(field)) for field in names if columns[field]}
        digest = hashlib.blake2b(points.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()
        return cls(Path(path), points, named, source.metres or 1.0, turns(points), digest, most)

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def middle(self) -> np.ndarray:
        """Of the scan, in the unit of the file: (3,)"""
        middle: np.ndarray = (self.points.min(axis=0) + self.points.max(axis=0)) / 2
        return middle

    @cached_property
    def half(self) -> np.ndarray:
        """Of the length of the scan along each axis, in metres: (3,)"""
        half: np.ndarray = np.ptp(self.points, axis=0) / 2 * self.metres
        return half

    @cached_property
    def sample(self) -> np.ndarray:
        """The points at which the live answer is computed, in order: (s,)"""
        return np.flatnonzero(self.turn < self.most)

    @cached_property
    def tree(self) -> cKDTree:
        """Finds points of the sample by the places that the page shows."""
        return cKDTree(self.places(self.sample))

    def places(self, index: np.ndarray | slice) -> np.ndarray:
        """Points in metres about the middle of the scan, as the page shows them: (k, 3) float32."""
        return ((self.points[index] - self.middle) * self.metres).astype(np.float32)

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Which of the sample each point is, or is nearest to: (k,)"""
        if len(self.sample) == len(self):
            return index
        rows = np.minimum(np.searchsorted(self.sample, index), len(self.sample) - 1)
        others = np.flatnonzero(self.sample[rows] != index)
        if len(others):
            rows[others] = self.tree.query(self.places(index[others]), workers=-1)[1]
        return rows

    def features(self) -> np.ndarray:
        """What a scan has beside coordinates, at the sample: (s, f), without what is constant."""
        columns = [
            self.fields[name][self.sample].astype(np.float64) for name in self.fields if name in USEFUL
        ]
        varied = [column for column in columns if np.isfinite(column).all() and np.ptp(column) > 0]
        return np.stack(varied, axis=1) if varied else np.empty((len(self.sample), 0))


@dataclass(frozen=True)
class Clip:
    """A box along the axes, in metres about the middle of the scan; a slab where only heights are bounded."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @classmethod
    def of(cls, low: np.ndarray, high: np.ndarray) -> Clip:
        """Of corners (3,)."""
        return cls((low[0], low[1], low[2]), (high[0], high[1], high[2]))

    def inside(self, cloud: Cloud) -> np.ndarray:
        """The numbers of the points of a scan that lie in it, borders included."""
        pieces = (slice(start, start + PIECE) for start in range(0, len(cloud), PIECE))
        return np.concatenate([at.start + np.flatnonzero(self.holds(cloud.places(at))) for at in pieces])

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Which places (k, 3) lie in it, as the page shows them: a mask (k,)."""
        inside = (places >= np.array(self.low)) & (places <= np.array(self.high))
        return np.asarray(inside.all(axis=1))


@dataclass(frozen=True)
class Shown:
    """Points that are drawn; everything that a person points at is among them."""

    index: np.ndarray  # (m,) their numbers in the scan, rising
    points: np.ndarray  # (m, 3) float32, in metres about the middle of the scan
    rows: np.ndarray  # (m,) the point of the sample that each is, or is nearest to
    clip: Clip | None
    of: int  # points within the clip, drawn or not

    @classmethod
    def of_cloud(cls, cloud: Cloud, clip: Clip | None = None, *, budget: int = BUDGET) -> Shown:
        """All points in the clip where the budget allows it, else those whose turn comes first."""
        if clip is None:
            count = len(cloud)
            index = np.flatnonzero(cloud.turn < budget)
        else:
            index = clip.inside(cloud)
            count = len(index)
            if count > budget:
                turn = cloud.turn[index]
                index = index[turn <= np.partition(turn, budget - 1)[budget - 1]]
        return cls(index, cloud.places(index), cloud.rows(index), clip, count)

    def __len__(self) -> int:
        return len(self.index)


def turns(points: np.ndarray) -> np.ndarray:
    """Numbers 0 … n − 1, such that the points below any bound lie evenly over the scan: (n,) uint32.

    The k-th point along a space-filling curve has the turn of k in the van der Corput sequence, in which any
    first few numbers are spread evenly.
    """
    n = len(points)
    cells = points - points.min(axis=0)
    cells *= (2**BITS - 1) / max(cells.max(), 1e-300)
    along = in_curve_order(cells.astype(np.int64), 0)
    turn = np.empty(n, dtype=np.uint32)
    turn[along[_reversed_bits(n)]] = np.arange(n, dtype=np.uint32)
    return turn


def _reversed_bits(count: int) -> np.ndarray:
    """0 … count − 1 in the order of their bits read backwards: (count,)"""
    bits = max(int(count - 1).bit_length(), 1)
    found = np.zeros(1, dtype=np.uint32)
    for bit in range(bits):
        found = np.concatenate([found, found | np.uint32(1 << (bits - 1 - bit))])
    return found[found < count]
