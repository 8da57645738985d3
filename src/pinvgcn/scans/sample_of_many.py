"""The points that a model of several scans is fitted to, in one order whatever the number of ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.features.shared_tiles import for_rank
from pinvgcn.features.tiles import Tiles
from pinvgcn.fitting.nodes import SCAN
from pinvgcn.jobs import Progress
from pinvgcn.scans.fitting import Sample, fitted
from pinvgcn.scans.requests import SegmentRequest
from pinvgcn.scans.survey_of_many import Overview
from pinvgcn.scans.thinning import Drawn
from pinvgcn.scans.within import Within


def sample_over_ranks(tiles: Tiles, drawn: Drawn, tell: Progress) -> Sample:
    """This rank's share of the points that are ``drawn``, with their local shapes in the whole cloud.

    Shares are consecutive blocks of the points' numbers: all ranks together have one order.
    """
    own = for_rank(tiles, list(range(len(tiles))))
    scan = tiles.count >= SCAN  # fewer points have no local shapes
    lattice = Lattice(tiles.cell_size() / 2) if scan else None
    width = tiles.columns + 3 + (0 if lattice is None else len(lattice.names))
    index, rows = [np.empty(0, dtype=np.int64)], [np.empty((0, width))]
    progress = Within(tell, "Local shapes", sum(tiles.counts[tile] for tile in own.mine))
    for tile in own.mine:
        piece = own.load(tile)
        progress.begin(len(piece.index))
        some = np.flatnonzero(drawn(piece.index, piece.columns[:, -1].astype(np.int64)))
        if len(some):
            found = [] if lattice is None else [own.pyramid(tile, lattice).shapes(piece.points[some])]
            index.append(piece.index[some])
            rows.append(np.hstack([piece.points[some], piece.columns[some], *found]))
        progress.end()
    numbers, values = _in_order(np.concatenate(index), np.concatenate(rows), tiles.group)
    width = tiles.columns - tiles.beside
    points, columns, beside, shape = np.split(values, np.cumsum([3, width, tiles.beside]), axis=1)
    extra = columns if columns.shape[1] else None
    local = None if lattice is None else LocalShapes(shape, lattice)
    return Sample(numbers, points, extra, local, beside[:, -1].astype(np.int64))


def _in_order(index: np.ndarray, rows: np.ndarray, group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Rows by rising index over all ranks, equally many on each."""
    every = np.sort(group.rows(index))
    firsts = every[np.arange(1, group.size) * len(every) // group.size] if len(every) else np.empty(0)
    to = np.searchsorted(firsts, index, side="right")
    parts = [to == rank for rank in range(group.size)]
    numbers = np.concatenate(group.swap([index[part] for part in parts]))
    values = np.concatenate(group.swap([rows[part] for part in parts]))
    order = np.argsort(numbers)
    return numbers[order], values[order]


def fit_and_save(
    request: SegmentRequest,
    overview: Overview,
    sample: Sample,
    path: Path,
    *,
    about: dict[str, Any],
    group: Group,
    tell: Progress,
) -> None:
    """A model of all ranks' samples, in a file that is there when it is whole, for all of them to load."""
    model = fitted(request, overview.classes, sample, tell, group=group)
    model.save(path, about=about)
    group.wait()
