"""Local shapes from a pyramid of summed moments: what surrounds a point, as numbers a classifier can use.

Each occupied cell of a lattice holds ten sums over its points, (1, x, xxᵀ) about its centre, and their lowest
and highest z. At a point the sums of the eight cells around it are blended trilinearly, which gives the
covariance of what lies within about 1.5 cells. There is no search for neighbours, and sums add: over parts of
a cloud, over tiles, over processes (`docs/maths.md`, 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.errors import DataError
from pinvgcn.features.blends import IN_PLAN, adapt, add_moved, in_plan, shapes
from pinvgcn.features.lattice import NAMES, Lattice, find, grouped, in_curve_order, tabulated, totalled

MOST = 2**24  # points of a cell whose sums of squares fit in 63 bits
CHUNK = 2_048  # points that a thread takes at a time


@dataclass(frozen=True)
class CellSums:
    """Sums over the points of each occupied cell, at one level of a lattice."""

    keys: np.ndarray  # (c, 3) int64
    sums: np.ndarray  # (c, 10) int64: n, Σx, Σy, Σz, Σxx, Σxy, Σxz, Σyy, Σyz, Σzz about the centre, in units
    low: np.ndarray  # (c,) int64, lowest z, in units
    high: np.ndarray  # (c,) int64

    def coarser(self, bits: int) -> CellSums:
        """The cells that are twice as large; these have ``bits`` bits."""
        order = np.arange(len(self.keys))  # a curve through cells is one through larger cells
        parent, keys = grouped(self.keys, order, 1)
        heights = _heights(self.low, self.high, parent, len(keys))
        return CellSums(keys, _coarser(self.keys, self.sums, parent, len(keys), bits), *heights)

    @cached_property
    def table(self) -> np.ndarray:
        """By which a cell is found."""
        return tabulated(self.keys)


@dataclass(frozen=True)
class ColumnSums:
    """Sums over the points of each occupied column, at one level of a lattice."""

    keys: np.ndarray  # (c, 3) int64, z = 0
    sums: np.ndarray  # (c, 6) int64, those IN_PLAN
    low: np.ndarray  # (c,) int64, lowest z, in units
    high: np.ndarray  # (c,) int64
    storeys: np.ndarray  # (cells,) int64, the z of the occupied cells, column by column, each from below
    starts: np.ndarray  # (c + 1,) int64, where in them a column begins

    @classmethod
    def of(cls, cells: CellSums, *, bits: int) -> ColumnSums:
        """Of the cells of a level, which have ``bits`` bits."""
        flat = cells.keys * (1, 1, 0)
        column, distinct = grouped(flat, in_curve_order(flat, 0), 0)
        order = np.lexsort((cells.keys[:, 2], column))
        starts = np.concatenate([[0], np.bincount(column, minlength=len(distinct)).cumsum()])
        total = totalled(np.ascontiguousarray(cells.sums[:, IN_PLAN]), column, len(distinct))
        most, found = 1 << (65 - 2 * bits), int(total[:, 0].max(initial=0))
        if found > most:  # sums of squares, each below 2^(2 bits − 2), would need more than 63 bits
            raise DataError(
                f"A column of cells may hold {most:,} points at most. Got {found:,}; thin the cloud."
            )
        heights = _heights(cells.low, cells.high, column, len(distinct))
        return cls(distinct, total, *heights, cells.keys[order, 2], starts)

    @cached_property
    def table(self) -> np.ndarray:
        """By which a column is found."""
        return tabulated(self.keys)


@dataclass(frozen=True)
class LocalShapes:
    """Features of points that were measured within a larger cloud, and the cells they were measured by."""

    values: np.ndarray  # (n, f)
    lattice: Lattice


@dataclass(frozen=True)
class Pyramid:
    """The sums of a cloud at the finest level of a lattice, of which all others are made."""

    lattice: Lattice
    finest: CellSums

    @classmethod
    def of(cls, points: Any, lattice: Lattice) -> Pyramid:
        """Of a cloud (n, 3)."""
        positions = lattice.positions(points, "cloud")
        order = in_curve_order(positions, lattice.bits)
        cell, keys = grouped(positions, order, lattice.bits)
        heights = _heights(positions[:, 2], positions[:, 2], cell, len(keys))
        sums = _summed(positions, cell, len(keys), lattice.bits)
        return cls(lattice, CellSums(keys, sums, *heights))._checked()

    @classmethod
    def sum(cls, parts: Sequence[Pyramid]) -> Pyramid:
        """Of all points of some clouds together."""
        lattice = parts[0].lattice
        keys, sums, low, high = (
            np.concatenate([getattr(part.finest, field.name) for part in parts]) for field in fields(CellSums)
        )
        cell, distinct = grouped(keys, in_curve_order(keys, 0), 0)
        heights = _heights(low, high, cell, len(distinct))
        return cls(lattice, CellSums(distinct, totalled(sums, cell, len(distinct)), *heights))._checked()

    def state(self) -> dict[str, np.ndarray]:
        """What a file keeps: whole numbers, as narrow as they may be."""
        cells = self.finest
        arrays = {"keys": cells.keys, "first": cells.sums[:, :4], "second": cells.sums[:, 4:]}
        arrays["height"] = np.column_stack([cells.low, cells.high])
        return {f"shapes.{name}": array for name, array in arrays.items()}

    @classmethod
    def from_state(cls, lattice: Lattice, arrays: dict[str, np.ndarray]) -> Pyramid:
        """What ``state`` gave, of one process or of several, whose cells are added up."""
        keys, first, second, height = (
            arrays[f"shapes.{name}"].astype(np.int64) for name in ("keys", "first", "second", "height")
        )
        low, high = np.ascontiguousarray(height.T)
        return cls.sum([cls(lattice, CellSums(keys, np.hstack([first, second]), low, high))])

    def _checked(self) -> Pyramid:
        most = int(self.levels[-1].sums[:, 0].max(initial=0))
        if most > MOST:
            coarsest = self.lattice.cell * 2 ** (self.lattice.levels - 1)
            raise DataError(
                f"A cell of {coarsest:g} may hold {MOST:,} points at most. Got {most:,}; thin the cloud."
            )
        return self

    @cached_property
    def levels(self) -> list[CellSums]:
        """From the finest to the coarsest."""
        found = [self.finest]
        for level in range(1, self.lattice.levels):
            found.append(found[-1].coarser(self.lattice.bits + level - 1))
        return found

    @cached_property
    def plans(self) -> list[ColumnSums]:
        """Whole columns of cells."""
        bits = self.lattice.bits
        return [ColumnSums.of(self.levels[level], bits=bits + level) for level in self.lattice.plans]

    def shapes(self, points: Any, *, heard: Callable[[int], None] = lambda count: None) -> np.ndarray:
        """Features (m, f) of any points within this cloud, in single precision; see `local_geometry`.

        ``heard`` is told how many points are done.
        """
        lattice = self.lattice
        positions = lattice.positions(points)
        order = in_curve_order(positions, lattice.bits)
        out = np.empty((len(positions), len(lattice.names)), dtype=np.float32)
        levels, plans = self.levels, self.plans

        def fill(some: slice) -> None:
            rows = order[some]
            first = np.full(len(rows), len(levels) - 1)
            for level, cells in reversed(list(enumerate(levels))):
                shapes(
                    positions, rows, lattice.bits + level, lattice.unit, cells.table, cells.keys, cells.sums,
                    cells.low, cells.high, out, len(NAMES) * level, first, level,
                )  # fmt: skip
            adapt(rows, first, len(levels), out, lattice.fixed)
            for level, columns in zip(lattice.plans, plans, strict=True):
                in_plan(
                    positions, rows, lattice.bits + level, lattice.unit, columns.table, columns.keys,
                    columns.sums, columns.low, columns.high, columns.storeys, columns.starts, out,
                    *lattice.places_in_plan(level),
                )  # fmt: skip

        parts = ranges(len(positions), CHUNK)
        for part, _ in zip(parts, share_out(fill, parts), strict=True):
            heard(part.stop)
        return out

    def crowd(self, points: Any) -> float:
        """How many points share the cell of a point, of the second finest size, in the mean over these."""
        level = min(1, self.lattice.levels - 1)
        cells, bits = self.levels[level], self.lattice.bits + level
        return float(
            _counts(self.lattice.positions(points), bits, cells.table, cells.keys, cells.sums).mean()
        )


def _heights(
    low: np.ndarray, high: np.ndarray, cell: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest z of each of so many cells, from those of its parts."""
    lowest, highest = np.full(count, 2**62), np.full(count, -(2**62))
    np.minimum.at(lowest, cell, low)
    np.maximum.at(highest, cell, high)
    return lowest, highest


@compiled
def _summed(positions, cell, count, bits):  # type: ignore[no-untyped-def]
    """Sums over the points of each cell."""
    sums = np.zeros((count, 10), np.int64)
    half, mask = 1 << (bits - 1), (1 << bits) - 1
    for i in range(len(positions)):
        j = cell[i]
        x, y = (positions[i, 0] & mask) - half, (positions[i, 1] & mask) - half
        z = (positions[i, 2] & mask) - half
        add_moved(sums[j], 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, x, y, z)
    return sums


@compiled
def _counts(positions, bits, table, keys, sums):  # type: ignore[no-untyped-def]
    """Points in the cell of each position."""
    out = np.zeros(len(positions))
    for i in range(len(positions)):
        j = find(table, keys, positions[i, 0] >> bits, positions[i, 1] >> bits, positions[i, 2] >> bits)
        if j >= 0:
            out[i] = sums[j, 0]
    return out


@compiled
def _coarser(keys, sums, parent, count, bits):  # type: ignore[no-untyped-def]
    """Sums of the children of each cell, moved to its centre; children have ``bits`` bits."""
    total = np.zeros((count, 10), np.int64)
    quarter = 1 << (bits - 1)
    for i in range(len(keys)):
        j = parent[i]
        dx = quarter if keys[i, 0] & 1 else -quarter
        dy = quarter if keys[i, 1] & 1 else -quarter
        dz = quarter if keys[i, 2] & 1 else -quarter
        own = sums[i]
        add_moved(
            total[j], own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7], own[8], own[9],
            dx, dy, dz,
        )  # fmt: skip
    return total
