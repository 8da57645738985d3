"""A lattice of cubic cells at absolute coordinates, and points as whole numbers on it.

The side of a cell is a power of two, and so is the unit in which positions are kept: 2⁻²⁰ of the coarsest
cell. A position is then rounded once, to a whole number, and everything that follows, cells, offsets and
sums, is exact. It depends on no order of points, and on no tile or process that they come in.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.checks import as_points, check_count
from pinvgcn.compute.compiled import compiled, inlined
from pinvgcn.errors import DataError, ParameterError

LEVELS = 5  # of cells, each twice as large as the one before
BITS = 20  # of a position within the coarsest cell: sums of squares over 2²⁴ points then fit in 63
PLANS = (0, 1, 2, 3)  # levels at which whole columns of cells are looked at, too
HEIGHTS = (1, 3)  # those of them at which columns have heights
NAMES = (
    "linearity", "planarity", "scattering", "verticality", "steepness", "extent", "thickness", "lift",
    "above_lowest", "below_highest", "trace", "rise",
)  # fmt: skip
HEIGHT_NAMES = ("ground", "top")
PLAN_NAMES = ("straightness", "breadth", "filled_below", "filled_above", "gap_below", "gap_above")
ADAPTED = 3  # levels that follow the density of points, beside those of one size everywhere
FINE = 3  # levels of one size that say what is close to a point
FARTHEST = 2**52  # units: whole numbers that double precision holds
LARGEST = 2.0**60  # a cell whose features, in single precision, are finite; the smallest is one over it


@dataclass(frozen=True)
class Lattice:
    """Cells of side ``cell`` · 2^level for the levels 0 … ``levels`` − 1."""

    cell: float  # a power of two, in the unit of the points
    levels: int = LEVELS

    def __post_init__(self) -> None:
        real = isinstance(self.cell, numbers.Real) and not isinstance(self.cell, bool)
        if not (real and 1 / LARGEST <= self.cell <= LARGEST and math.frexp(self.cell)[0] == 0.5):
            raise ParameterError(
                "cell must be a power of two such as 0.25, 0.5 or 1, from 2⁻⁶⁰ to 2⁶⁰. "
                f"Got {self.cell!r} instead."
            )
        if check_count("levels", self.levels) > BITS:
            raise ParameterError(f"levels must be {BITS} at most. Got {self.levels} instead.")

    @property
    def bits(self) -> int:
        """Of a position within the finest cell."""
        return BITS - self.levels + 1

    @property
    def unit(self) -> float:
        """The length that positions are multiples of."""
        return math.ldexp(self.cell, -self.bits)

    @property
    def margin(self) -> float:
        """How far from a point, along each axis, the cells reach that count for it."""
        return 1.5 * math.ldexp(self.cell, self.levels - 1)

    @property
    def plans(self) -> tuple[int, ...]:
        """The levels at which columns are looked at."""
        return tuple(level for level in PLANS if level < self.levels)

    @property
    def heights(self) -> tuple[int, ...]:
        """Those of them at which columns have heights."""
        return tuple(level for level in HEIGHTS if level < self.levels)

    @property
    def names(self) -> list[str]:
        """Of the features that shapes have: a feature and a cell, such as ``"planarity_0.5"``; of the levels
        that follow the density, a feature and a number, such as ``"planarity_near1"``."""
        sizes = [f"{self.cell * 2**level:g}" for level in range(self.levels)]
        near = [f"near{number}" for number in range(ADAPTED)]
        heights = [f"{name}_{sizes[level]}" for level in self.heights for name in HEIGHT_NAMES]
        plans = [f"{name}_{sizes[level]}" for level in self.plans for name in PLAN_NAMES]
        fixed, adapted = ([f"{name}_{size}" for size in some for name in NAMES] for some in (sizes, near))
        return [*fixed, *heights, *plans, *adapted]

    @property
    def fixed(self) -> int:
        """How many of the features are measured by cells of one size everywhere: the first ones."""
        return self._first_plan + len(PLAN_NAMES) * len(self.plans)

    @property
    def _first_plan(self) -> int:
        return len(NAMES) * self.levels + len(HEIGHT_NAMES) * len(self.heights)

    def places_in_plan(self, level: int) -> tuple[int, int]:
        """Where the features of columns of a level begin, and their heights: −1 where they have none."""
        at = self.heights.index(level) if level in self.heights else -1
        heights = len(NAMES) * self.levels + len(HEIGHT_NAMES) * at if at >= 0 else -1
        return self._first_plan + len(PLAN_NAMES) * self.plans.index(level), heights

    @property
    def fine(self) -> np.ndarray:
        """Places of the features that say what is close to a point: those of the finest three sizes of cells
        and of columns, and those that follow the density."""
        finest = min(FINE, self.levels)
        plans = self._first_plan + np.arange(len(PLAN_NAMES) * finest)
        adapted = np.arange(self.fixed, len(self.names))
        return np.concatenate([np.arange(len(NAMES) * finest), plans, adapted])

    def positions(self, points: Any, name: str = "points") -> np.ndarray:
        """Points (n, ≤ 3) as whole numbers of units: (n, 3) int64; missing coordinates are 0."""
        given = as_points(points, name, least=0)  # a process may have none
        if given.shape[1] > 3:
            raise DataError(f"{name} must have three coordinates at most. Got {given.shape[1]} instead.")
        if len(given) and np.abs(given).max() >= FARTHEST * self.unit:
            extent = np.abs(given).max()
            raise DataError(
                f"{name} must have coordinates below {FARTHEST * self.unit:g} for cells of {self.cell:g}. "
                f"Got {extent:g} instead; remove stray points, or move the origin."
            )
        placed = np.zeros((len(given), 3), dtype=np.int64)
        np.rint(given / self.unit, out=placed[:, : given.shape[1]], casting="unsafe")
        return placed


def in_curve_order(positions: np.ndarray, bits: int) -> np.ndarray:
    """An order of positions (n, 3) in which neighbours are close together: by the Morton code of their cells.

    It is for speed alone. Codes have 21 bits an axis: cells that are 2²¹ apart may mix, which costs a little.
    """
    return np.argsort(_codes(positions, bits))


@inlined
def _spread(v):  # type: ignore[no-untyped-def]
    """Bits of a number, two zeros between each."""
    v &= 0x1FFFFF
    v = (v | v << 32) & 0x1F00000000FFFF
    v = (v | v << 16) & 0x1F0000FF0000FF
    v = (v | v << 8) & 0x100F00F00F00F00F
    v = (v | v << 4) & 0x10C30C30C30C30C3
    return (v | v << 2) & 0x1249249249249249


@compiled
def _codes(positions, bits):  # type: ignore[no-untyped-def]
    codes = np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        x, y, z = positions[i, 0] >> bits, positions[i, 1] >> bits, positions[i, 2] >> bits
        codes[i] = _spread(x) | (_spread(y) << 1) | (_spread(z) << 2)
    return codes


@inlined
def slot_of(table, keys, x, y, z):  # type: ignore[no-untyped-def]
    """Where in a table a cell stands, or would stand, and its row in ``keys``, or −1."""
    mask = len(table) - 1
    h = x * 0x1E3779B97F4A7C15 ^ y * 0x3F58476D1CE4E5B9 ^ z * 0x14D049BB133111EB
    h ^= h >> 32
    h *= 0x369DEA0F31A53F85
    h ^= h >> 29
    at = h & mask
    row = table[at]
    while row >= 0 and (keys[row, 0] != x or keys[row, 1] != y or keys[row, 2] != z):
        at = (at + 1) & mask
        row = table[at]
    return at, row


@inlined
def find(table, keys, x, y, z):  # type: ignore[no-untyped-def]
    """The row of a cell in ``keys``, or −1."""
    return slot_of(table, keys, x, y, z)[1]


@inlined
def share(s, tx, ty, tz):  # type: ignore[no-untyped-def]
    """Of the cell s of the eight around a corner, at a point that lies tx, ty, tz from the lowest to the
    highest of their centres."""
    x = tx if s & 1 else 1 - tx
    y = ty if (s >> 1) & 1 else 1 - ty
    z = tz if s >> 2 else 1 - tz
    return x * y * z


@compiled
def totalled(rows, cell, count):  # type: ignore[no-untyped-def]
    """Rows of whole numbers that belong to the same cell, added up: (count, …)."""
    total = np.zeros((count, rows.shape[1]), np.int64)
    for i in range(len(cell)):
        j = cell[i]
        for k in range(rows.shape[1]):
            total[j, k] += rows[i, k]
    return total


@inlined
def _empty_table(cells):  # type: ignore[no-untyped-def]
    """With room for so many cells."""
    size = 2
    while size < 2 * cells:
        size *= 2
    return np.full(size, -1, np.int32)


@compiled
def tabulated(keys):  # type: ignore[no-untyped-def]
    """The table by which ``find`` finds the distinct cells (c, 3)."""
    table = _empty_table(len(keys))
    for row in range(len(keys)):
        at, _ = slot_of(table, keys, keys[row, 0], keys[row, 1], keys[row, 2])
        table[at] = row
    return table


@compiled
def grouped(positions, order, bits):  # type: ignore[no-untyped-def]
    """The cell of each position (n,), and the distinct cells (c, 3), in the order in which they come up."""
    n = len(order)
    runs, last = 0, -1
    for k in range(n):
        i = order[k]
        j = last
        if (
            k == 0
            or positions[i, 0] >> bits != positions[j, 0] >> bits
            or positions[i, 1] >> bits != positions[j, 1] >> bits
            or positions[i, 2] >> bits != positions[j, 2] >> bits
        ):
            runs += 1
        last = i
    table = _empty_table(runs)
    keys = np.empty((runs, 3), np.int64)
    cell = np.empty(n, np.int32)
    count, now = 0, -1
    for k in range(n):
        i = order[k]
        x, y, z = positions[i, 0] >> bits, positions[i, 1] >> bits, positions[i, 2] >> bits
        if now < 0 or keys[now, 0] != x or keys[now, 1] != y or keys[now, 2] != z:
            at, now = slot_of(table, keys, x, y, z)
            if now < 0:
                now = table[at] = count
                keys[count, 0], keys[count, 1], keys[count, 2] = x, y, z
                count += 1
        cell[i] = now
    return cell, keys[:count].copy()
