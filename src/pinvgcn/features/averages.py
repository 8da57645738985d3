"""Means over what lies around a point, by sums over the cells of a lattice.

Each occupied cell holds the count of its points and the sums of their values. At a point the sums of the
eight cells around it are blended trilinearly: of the finest cells first, and where these hold too few points,
of cells twice and four times as large, until there are enough. So averages are narrow where a cloud is dense,
as those over nearest neighbours are (`docs/maths.md`, 9.1). Values are probabilities; they are kept as whole
numbers of 2⁻²⁴, so that sums do not depend on the order of points, nor on tiles or processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pinvgcn.checks import as_matrix, check_rows
from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.errors import DataError
from pinvgcn.features.lattice import Lattice, find, grouped, in_curve_order, share, tabulated, totalled

ONE = 2.0**24
LEVELS = 3  # sizes of cells
ENOUGH = 3.0  # points, each counted by its share in the blend: about ten that matter
PLANS = (0, 2)  # levels at which whole columns of cells are looked at, too
CHUNK = 2_048  # points that a thread takes at a time


@dataclass(frozen=True)
class Averages:
    """Counts and sums of values over the points of each occupied cell, the finest."""

    lattice: Lattice
    keys: np.ndarray  # (c, 3) int64
    counts: np.ndarray  # (c,) int64
    sums: np.ndarray  # (c, v) int64, of values times 2²⁴

    @classmethod
    def of(cls, points: Any, values: Any, cell: float, *, levels: int = LEVELS) -> Averages:
        """Of a cloud (n, ≤ 3) with values (n, v) from 0 to 1, over cells of side ``cell``, and of as many
        larger sizes as ``levels`` ask for."""
        lattice = Lattice(cell, levels)
        positions = lattice.positions(points)
        known = as_matrix(values, "values", least=0)
        check_rows(known, len(positions), "values", "points")
        if len(known) and (known.min() < 0 or known.max() > 1):
            raise DataError(f"values must be from 0 to 1. Got {known.min():g} to {known.max():g} instead.")
        order = in_curve_order(positions, lattice.bits)
        cell_at, keys = grouped(positions, order, lattice.bits)
        whole = np.rint(known * ONE).astype(np.int64)
        counts = np.bincount(cell_at, minlength=len(keys))
        return cls(lattice, keys, counts, totalled(whole, cell_at, len(keys)))

    @classmethod
    def sum(cls, parts: Sequence[Averages]) -> Averages:
        """Over all points of some clouds together."""
        keys = np.concatenate([part.keys for part in parts])
        sums = np.concatenate([part.sums for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        joined = cls(parts[0].lattice, keys, counts, sums)
        return joined._within(*grouped(keys, in_curve_order(keys, 0), 0))

    def _within(self, cell_at: np.ndarray, keys: np.ndarray) -> Averages:
        """Over other cells (c, 3), in which these are at (m,)."""
        counts = totalled(self.counts[:, None], cell_at, len(keys))[:, 0]
        return Averages(self.lattice, keys, counts, totalled(self.sums, cell_at, len(keys)))

    def state(self) -> dict[str, np.ndarray]:
        """What a file keeps."""
        return {"keys": self.keys, "counts": self.counts, "sums": self.sums}

    @classmethod
    def from_state(cls, cell: float, arrays: dict[str, np.ndarray], *, levels: int = LEVELS) -> Averages:
        """What ``state`` gave, of one process or of several, whose cells are added up."""
        keys, counts, sums = (arrays[name].astype(np.int64) for name in ("keys", "counts", "sums"))
        return cls.sum([cls(Lattice(cell, levels), keys, counts, sums)])

    def coarser(self) -> Averages:
        """Over cells twice as large."""
        return self._within(*grouped(self.keys, np.arange(len(self.keys)), 1))

    @cached_property
    def levels(self) -> list[Averages]:
        """From the finest cells to the coarsest."""
        found = [self]
        for _ in range(1, self.lattice.levels):
            found.append(found[-1].coarser())
        return found

    def flat(self) -> Averages:
        """Over whole columns, as if all points lay at height 0."""
        keys = self.keys * (1, 1, 0)
        return self._within(*grouped(keys, in_curve_order(keys, 0), 0))

    @cached_property
    def table(self) -> np.ndarray:
        """By which a cell is found."""
        return tabulated(self.keys)

    def at(
        self, points: Any, otherwise: np.ndarray, *, heard: Callable[[int], None] = lambda count: None
    ) -> np.ndarray:
        """The means (m, v) around any points; where no point lies around, the values ``otherwise`` (m, v).

        ``heard`` is told how many points are done.
        """
        return self._blends(points, otherwise, [list(enumerate(self.levels))], heard=heard)

    def context(self, points: Any, otherwise: np.ndarray) -> np.ndarray:
        """The means around any points at each level by itself, from the finest on, and then those over whole
        columns, in plan, of the levels ``PLANS``: (m, ``context_width(levels)`` · v); see ``at``."""
        levels = list(enumerate(self.levels))
        plans = [(level, cells.flat()) for level, cells in levels if level in PLANS]
        return self._blends(points, otherwise, [[one] for one in levels], plans=[[one] for one in plans])

    def _blends(
        self,
        points: Any,
        otherwise: np.ndarray,
        stacks: Sequence[Sequence[tuple[int, Averages]]],
        plans: Sequence[Sequence[tuple[int, Averages]]] = (),
        *,
        heard: Callable[[int], None] = lambda count: None,
    ) -> np.ndarray:
        """Side by side, the means of each stack of levels, of which a coarser one fills up what the finer
        ones lack; then those of ``plans``, where heights do not count."""
        positions = self.lattice.positions(points)
        order = in_curve_order(positions, self.lattice.bits)
        flat = positions * (1, 1, 0) if plans else positions
        width = self.sums.shape[1]
        out = np.empty((len(positions), (len(stacks) + len(plans)) * width))
        plain = np.ascontiguousarray(otherwise, dtype=np.float64)

        def fill(some: slice) -> None:
            rows = order[some]
            for number, stack in enumerate([*stacks, *plans]):
                mass, total = np.zeros(len(rows)), np.zeros((len(rows), width))
                for level, cells in stack:
                    _blended(
                        positions if number < len(stacks) else flat, rows, self.lattice.bits + level,
                        level == stack[-1][0], cells.table, cells.keys, cells.counts, cells.sums, mass, total,
                    )  # fmt: skip
                there = mass > 0
                total[there] = np.minimum(total[there] / mass[there, None], 1)  # but for rounding
                total[~there] = plain[rows[~there]]
                out[rows, number * width : (number + 1) * width] = total

        parts = ranges(len(positions), CHUNK)
        for part, _ in zip(parts, share_out(fill, parts), strict=True):
            heard(part.stop)
        return out


def context_width(levels: int) -> int:
    """How many means of each value a context has."""
    return levels + sum(level < levels for level in PLANS)


@compiled
def _blended(positions, rows, bits, last, table, keys, counts, sums, mass, total):  # type: ignore[no-untyped-def]
    """Fill up ``mass`` (m,) and ``total`` (m, v) at the positions of ``rows`` from one level of cells.

    The last level counts for all that is missing, however few points it has.
    """
    half, size = 1 << (bits - 1), float(1 << bits)
    cells = np.empty((8, 8), np.int32)  # of each corner of the present cell, those around it
    known = np.zeros(8, np.bool_)
    cx, cy, cz = 0, 0, 0
    weights = np.empty(8)
    for k in range(len(rows)):
        missing = ENOUGH - mass[k]
        if missing <= 0:
            continue
        i = rows[k]
        x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
        qx, qy, qz = x >> bits, y >> bits, z >> bits
        if qx != cx or qy != cy or qz != cz:
            known[:] = False
            cx, cy, cz = qx, qy, qz
        vx, vy, vz = (x + half) >> bits, (y + half) >> bits, (z + half) >> bits
        corner = (vx - qx) + 2 * (vy - qy) + 4 * (vz - qz)
        if not known[corner]:
            known[corner] = True
            for s in range(8):
                cells[corner, s] = find(
                    table, keys, vx - 1 + (s & 1), vy - 1 + ((s >> 1) & 1), vz - 1 + (s >> 2)
                )
        tx = (x + half - (vx << bits)) / size
        ty = (y + half - (vy << bits)) / size
        tz = (z + half - (vz << bits)) / size
        n = 0.0
        for s in range(8):
            j = cells[corner, s]
            weights[s] = 0.0
            if j >= 0:
                weights[s] = share(s, tx, ty, tz)
                n += weights[s] * counts[j]
        if n > 0:
            used = missing if last else min(missing, n)
            mass[k] += used
            for s in range(8):
                if weights[s] > 0:
                    scale = weights[s] * used / (n * ONE)
                    for c in range(total.shape[1]):
                        total[k, c] += scale * sums[cells[corner, s], c]
