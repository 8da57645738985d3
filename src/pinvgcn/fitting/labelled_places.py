"""Where the place of a point says something about its class: near labels, within the training cloud."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import cores
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.features.lattice import Lattice, find, grouped, in_curve_order, tabulated

REACHED = 0.9  # the quantile of held-out distances up to which a place is trusted
FAR = 1e30  # where nothing was held out
COVERED = 0.98  # of the points share their cell of the support with another one


@dataclass(frozen=True)
class LabelledPlaces:
    """φ(x) = min(1, √(D/d)) with d the distance from x to the nearest label; 0 outside the training cloud.

    D is the 90 % quantile of the distances from labels to those that remain when they are held out: up to
    there it is known how well the place tells the class. A point is outside if none of the eight cells
    around it has a training point (docs/maths.md, 9.7). The cells are those of the first level of the lattice
    at which 98 of 100 training points are not alone in their cell.
    """

    points: np.ndarray  # (m, 3) the labels
    reach: float  # D
    lattice: Lattice
    level: int
    cells: np.ndarray  # (c, 3) the keys of cells with training points

    @classmethod
    def of(
        cls,
        points: np.ndarray,
        held_out: np.ndarray,
        cloud: np.ndarray,
        lattice: Lattice,
        *,
        group: Group = ALONE,
    ) -> LabelledPlaces:
        """Of labels at ``points``, from the distances of held-out ones (t,), and of the training ``cloud``,
        of which this process rank has a part."""
        start, total = group.offset(len(cloud))
        own = lattice.positions(cloud)
        some = group.rows(own[in_subsample(start, len(cloud), total)])
        for level in range(lattice.levels):
            cell, _ = grouped(some, in_curve_order(some, lattice.bits), lattice.bits + level)
            if (np.bincount(cell)[cell] > 1).mean() >= COVERED:
                break
        _, keys = grouped(own, in_curve_order(own, lattice.bits), lattice.bits + level)
        keys = np.unique(group.rows(keys), axis=0)  # of all processes
        reach = float(np.quantile(held_out, REACHED)) if len(held_out) else FAR
        return cls(points, max(reach, lattice.cell), lattice, level, keys)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """From any points to the nearest label: (m,)."""
        return nearest(self._tree, points)

    def trust(self, points: np.ndarray) -> np.ndarray:
        """φ at any points: (m,)."""
        positions, bits = self.lattice.positions(points), self.lattice.bits + self.level
        inside = np.flatnonzero(_supported(positions, bits, self._table, self.cells))
        phi = np.zeros(len(points))
        d = self.distances(points[inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            phi[inside] = np.where(d > self.reach, np.sqrt(self.reach / d), 1.0)
        return phi

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.points)

    @cached_property
    def _table(self) -> np.ndarray:
        return tabulated(self.cells)


def nearest(tree: cKDTree, points: np.ndarray) -> np.ndarray:
    """The distance from each point to the nearest one of the tree: (m,)."""
    if not len(points):
        return np.zeros(0)
    found: Any = tree.query(points, workers=cores())[0]
    return np.asarray(found)


@compiled
def _supported(positions, bits, table, keys):  # type: ignore[no-untyped-def]
    """Whether one of the eight cells around each position is there."""
    half = 1 << (bits - 1)
    out = np.zeros(len(positions), np.bool_)
    for i in range(len(positions)):
        x, y, z = (
            (positions[i, 0] + half) >> bits,
            (positions[i, 1] + half) >> bits,
            (positions[i, 2] + half) >> bits,
        )
        for s in range(8):
            if find(table, keys, x - 1 + (s & 1), y - 1 + ((s >> 1) & 1), z - 1 + (s >> 2)) >= 0:
                out[i] = True
                break
    return out
