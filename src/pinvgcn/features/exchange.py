"""Cells across processes: every point sees the sums of the cells around it, whichever process has the points.

Sums add. Each process says which blocks of cells its points may look at, and gets from every other one the
cells there: whole numbers, so that the result is that of one process with all points, to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pinvgcn.compute.compiled import compiled
from pinvgcn.distributed.group import Group
from pinvgcn.features.averages import Averages
from pinvgcn.features.lattice import Lattice, find, grouped, tabulated
from pinvgcn.features.pyramid import CellSums, Pyramid

BLOCK = 4  # cells of averages come in blocks of 2⁴ along each axis


def pyramid_of_all(own: Pyramid, points: Any, group: Group) -> Pyramid:
    """The pyramid of the points of all processes, as far as these ``points`` of one can see."""
    if group.alone:
        return own
    lattice, cells = own.lattice, own.finest
    rows = np.column_stack([cells.keys, cells.sums, cells.low, cells.high])
    # heights in plan are those of whole columns, far above and below the cells around a point
    bits = lattice.levels - 1
    parts = _exchanged(rows, _blocks(points, lattice, bits, columns=True), bits, group, columns=True)
    # the columns of an array that came over are no arrays of their own
    every = [
        Pyramid(
            lattice, CellSums(*(np.ascontiguousarray(a) for a in (p[:, :3], p[:, 3:-2], p[:, -2], p[:, -1])))
        )
        for p in parts
    ]
    return Pyramid.sum(every)


def averages_of_all(own: Averages, points: Any, group: Group, *, columns: bool = False) -> Averages:
    """The same for means; with ``columns``, also for those of whole columns."""
    if group.alone:
        return own
    rows = np.column_stack([own.keys, own.counts, own.sums])
    bits = max(BLOCK, own.lattice.levels - 1)
    parts = _exchanged(
        rows, _blocks(points, own.lattice, bits, columns=columns), bits, group, columns=columns
    )
    return Averages.sum([replace(own, keys=p[:, :3], counts=p[:, 3], sums=p[:, 4:]) for p in parts])


def _blocks(points: Any, lattice: Lattice, bits: int, *, columns: bool = False) -> np.ndarray:
    """The blocks of 2^bits cells that points are in, and those around them: (b, 3); z = 0 for columns."""
    positions = lattice.positions(points)
    own = grouped(positions, np.arange(len(positions)), lattice.bits + bits)[1]
    steps = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    around = (own[:, None] + steps).reshape(-1, 3)
    if columns:
        around[:, 2] = 0
    return grouped(around, np.arange(len(around)), 0)[1]


def _exchanged(
    rows: np.ndarray, blocks: np.ndarray, bits: int, group: Group, *, columns: bool = False
) -> list[np.ndarray]:
    """Of the cells of each process, whose keys are the first columns, those in the blocks wanted here."""
    at = rows[:, :3] >> bits
    if columns:
        at[:, 2] = 0
    return group.swap([rows[_inside(at, some, tabulated(some))] for some in group.parts(blocks)])


@compiled
def _inside(keys, wanted, table):  # type: ignore[no-untyped-def]
    """Which of the keys (c, 3) are among the ``wanted`` (b, 3)."""
    inside = np.empty(len(keys), np.bool_)
    for i in range(len(keys)):
        inside[i] = find(table, wanted, keys[i, 0], keys[i, 1], keys[i, 2]) >= 0
    return inside
