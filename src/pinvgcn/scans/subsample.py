"""The points that a model is fitted to, in one order whatever the number of processes.

Of a large scan these are its labels and a random part of the other points. A random part has the density of
the whole, up to a factor: degrees, eigenvectors and shares of classes stay what they are. Local shapes are
those within the whole scan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.distributed.rows import hashed
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.features.tiles import Tiles, for_rank
from pinvgcn.fitting.nodes import SCAN
from pinvgcn.jobs import Progress, silent
from pinvgcn.scans.labels import UNKNOWN
from pinvgcn.scans.streaming import TileProgress

FEWEST = 500  # labels of a class that are kept before others are thinned


@dataclass(frozen=True)
class FittedPoints:
    """The points of one process, and what the model sees of them."""

    index: np.ndarray  # (m,) their numbers in the cloud
    points: np.ndarray  # (m, 3)
    columns: np.ndarray | None  # (m, c)
    local: LocalShapes | None  # within the whole cloud; None where the fit is to measure them
    codes: np.ndarray  # (m,) labels, or -1
    group: Group  # of the processes that have the others


@dataclass(frozen=True)
class Subsample:
    """Which points are drawn: all labels, but at most half of what is wanted, and others.

    A point is drawn if the hash of its number lies below the share that is wanted of its kind. So it does not
    matter which process has it. About as many are drawn as were asked for; noise is never drawn.
    """

    shares: np.ndarray  # (classes + 1,), the last that of unlabelled points
    random_state: int

    @classmethod
    def of(cls, counts: np.ndarray, unlabelled: int, size: int, *, random_state: int = 0) -> Subsample:
        """About ``size`` points, from ``counts`` labels of each class and ``unlabelled`` points."""
        total = int(counts.sum())
        quotas = counts
        if total > size // 2:  # of each class up to FEWEST, and of the rest equal shares
            base = np.minimum(counts, FEWEST)
            spare = max(0, size // 2 - int(base.sum()))
            quotas = base + (spare * (counts - base) / max(1, int((counts - base).sum()))).astype(int)
        if total + unlabelled <= size:
            return cls(np.ones(len(counts) + 1), random_state)
        wanted = min(max(0, size - int(quotas.sum())), unlabelled)
        shares = np.append(quotas / np.maximum(counts, 1), wanted / max(unlabelled, 1))
        return cls(shares, random_state)

    def __call__(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Which of these points are drawn: a mask."""
        share = self.shares[np.where(codes >= 0, codes, -1)]
        drawn = hashed(numbers, seed=self.random_state + 1) / 2.0**64 < share
        mask: np.ndarray = (drawn | (share >= 1)) & (codes >= UNKNOWN)
        return mask

    @property
    def everything(self) -> bool:
        return bool((self.shares >= 1).all())


def fitted_points(tiles: Tiles, drawn: Subsample, progress: Progress) -> FittedPoints:
    """This process's share of the points that are ``drawn``; the last column of ``tiles`` has their codes.

    Shares are consecutive blocks of the points' numbers: all processes together have one order. Where one
    process draws everything, the fit measures local shapes by itself.
    """
    own = for_rank(tiles, list(range(len(tiles))))
    shapes = tiles.count >= SCAN and not (drawn.everything and tiles.group.alone)
    lattice = Lattice(tiles.cell_size() / 2) if shapes else None
    width = tiles.columns + 3 + (0 if lattice is None else len(lattice.names))
    index, rows = [np.empty(0, dtype=np.int64)], [np.empty((0, width))]
    total = sum(tiles.counts[tile] for tile in own.mine)
    measured = TileProgress(progress if shapes else silent, "Local shapes", total)
    for tile in own.mine:
        piece = own.load(tile)
        measured.begin(len(piece.index))
        some = np.flatnonzero(drawn(piece.index, piece.columns[:, -1].astype(np.int64)))
        if len(some):
            points = piece.points[some]
            found = []
            if lattice is not None:
                found = [own.pyramid(tile, lattice).shapes(points, heard=measured.part(of=len(some)))]
            index.append(piece.index[some])
            rows.append(np.hstack([points, piece.columns[some], *found]))
        measured.end()
    numbers, values = _in_order(np.concatenate(index), np.concatenate(rows), tiles)
    width = tiles.columns - tiles.beside
    points, columns, beside, shape = np.split(values, np.cumsum([3, width, tiles.beside]), axis=1)
    return FittedPoints(
        numbers,
        points,
        columns if width else None,
        None if lattice is None else LocalShapes(shape, lattice),
        beside[:, -1].astype(np.int64),
        tiles.group,
    )


def _in_order(index: np.ndarray, rows: np.ndarray, tiles: Tiles) -> tuple[np.ndarray, np.ndarray]:
    """Rows by rising index over all processes, equally many on each."""
    group = tiles.group
    every = np.sort(group.rows(index))
    firsts = every[np.arange(1, group.size) * len(every) // group.size] if len(every) else np.empty(0)
    to = np.searchsorted(firsts, index, side="right")
    numbers, values = (
        np.concatenate(group.swap([some[to == rank] for rank in range(group.size)])) for some in (index, rows)
    )
    order = np.argsort(numbers)
    return numbers[order], values[order]
