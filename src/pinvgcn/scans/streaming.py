"""Probabilities at every point of a cloud of any size, as if the cloud had been in memory.

Tile by tile: local shapes, and the probabilities of the first trees, which are kept on disk; then p at each
point, with the first probabilities around it as context; then q = (p + k p̄)/(k + 1) with the means p̄ over
the cells around, across the borders of tiles (`docs/maths.md`, 9). For prediction sets the p of each member
is averaged the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pinvgcn.features.averages import LEVELS
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.tiles import Tiles
from pinvgcn.fitting.fitted_model import ELSEWHERE, FittedModel
from pinvgcn.fitting.nodes import CloudNodes, outside
from pinvgcn.jobs import Progress
from pinvgcn.spectra import KernelExtension

AT_A_TIME = 65_536  # points whose basis values are in memory
SHAPES = 0.3  # of the time of a point goes to its local shape, roughly
PREDICTED, OUTSIDE, ALONE = 0, 1, 2  # in the training cloud; outside it; joined to nothing, not predicted


@dataclass(frozen=True)
class TileAnswers:
    """The answers at the points of one tile."""

    index: np.ndarray  # (k,) their numbers in the cloud
    proba: np.ndarray  # (k, classes)
    flags: np.ndarray  # (k,) PREDICTED, OUTSIDE or ALONE
    sets: np.ndarray | None = None  # (k, classes), a mask


class TileProgress:
    """Reports a stage over ``total`` points that come in tiles, also while a tile is worked on."""

    def __init__(self, progress: Progress, stage: str, total: int) -> None:
        self.progress, self.stage, self.total = progress, stage, total
        self.done, self.size, self._shown = 0, 0, 0
        progress(stage, 0, total)

    def begin(self, size: int) -> None:
        self.size = size

    def part(self, low: float = 0.0, high: float = 1.0, *, of: int | None = None) -> Callable[[int], None]:
        """A callback for the work between two shares of a tile's, which receives how many points are done,
        ``of`` all that are worked on."""
        count = self.size if of is None else of

        def heard(done: int) -> None:
            share = low + (high - low) * min(done, count) / max(count, 1)
            self._show(self.done + int(share * self.size))

        return heard

    def end(self) -> None:
        self.done += self.size
        self._show(self.done)

    def _show(self, count: int) -> None:
        if count > self._shown:
            self._shown = count
            self.progress(self.stage, count, self.total)


def answers(
    fitted: FittedModel,
    tiles: Tiles,
    report: Progress,
    *,
    coverage: float | None = None,
    fitted_here: bool = False,
) -> Iterator[TileAnswers]:
    """The answers at all points, tile by tile: ``predict_proba(points, among="own")``, and with a
    ``coverage`` ``predict_set``. ``fitted_here`` says that the model was fitted to this cloud."""
    nodes = fitted.nodes
    assert isinstance(nodes, CloudNodes)
    thresholds = None if coverage is None else fitted.thresholds(coverage)
    share = SHAPES if nodes.geometry else 0.0
    total = sum(tiles.counts[tile] for tile in tiles.mine)
    todo = [tile for tile in tiles.mine if tile not in tiles.kept_before]

    def loaded(tile: int, progress: TileProgress) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        piece = tiles.load(tile)
        local = None
        if nodes.geometry:
            assert nodes.lattice is not None
            around = tiles.pyramid(tile, nodes.lattice)
            local = around.shapes(piece.points, heard=progress.part(0, share))
        width = tiles.columns - tiles.beside
        return piece.points, piece.columns[:, :width] if width else None, local

    if fitted.first is not None:
        unseen = [tile for tile in todo if not tiles.has("first", tile)]
        progress = TileProgress(report, "A first look", sum(tiles.counts[tile] for tile in unseen))
        for tile in unseen:
            progress.begin(tiles.counts[tile])
            _, columns, local = loaded(tile, progress)
            assert local is not None
            tiles.keep("first", tile, fitted.first_probabilities(local, columns))
            progress.end()
        tiles.group.wait()
    progress = TileProgress(report, "Classifying", sum(tiles.counts[tile] for tile in todo))
    for tile in todo:
        progress.begin(tiles.counts[tile])
        points, columns, local = loaded(tile, progress)
        context = None
        if fitted.first is not None:
            cells = tiles.averages(tile, "first", fitted.first.lattice)
            context = cells.context(points, tiles.kept("first", tile))
        P, flag = node_proba(
            fitted, points, columns, local, context,
            members=thresholds is not None, heard=progress.part(share, 1),
        )  # fmt: skip
        tiles.keep("flags", tile, flag)
        tiles.keep("proba", tile, P)
        progress.end()
    tiles.group.wait()
    elsewhere = fitted.places is not None and not fitted_here and _is_elsewhere(tiles)
    sums = np.zeros(len(fitted.classes))
    for tile in _share(tiles) if elsewhere else ():
        sums += tiles.kept("proba", tile)[:, : len(sums)].sum(axis=0)
    smoothing = fitted.smoothing.at(elsewhere, tiles.group.sum(sums), tiles.count)
    rounds, last = smoothing.rounds_at(elsewhere), "proba"
    if coverage is not None:
        thresholds = fitted.thresholds(coverage, elsewhere=elsewhere)

    def averaged(tile: int, number: int, progress: TileProgress) -> np.ndarray:
        """After this number of rounds, from what was kept after the one before."""
        weigh = smoothing.weighed if number <= 1 else lambda values: values
        q = weigh(np.array(tiles.kept(last, tile)))
        if number:
            assert smoothing.cell is not None
            progress.begin(len(q))
            means = tiles.averages(tile, last, Lattice(smoothing.cell, LEVELS), of=weigh)
            q = smoothing.averaged(q, tiles.load(tile).points, means, "training", heard=progress.part())
            progress.end()
        return q

    def stage(number: int) -> TileProgress:
        name = "Averaging" if rounds <= 1 else f"Averaging, round {number} of {rounds}"
        return TileProgress(report, name, total)

    for number in range(1, rounds):  # all tiles of a round before the next
        progress = stage(number)
        for tile in tiles.mine:
            tiles.keep(f"round{number}", tile, averaged(tile, number, progress))
        tiles.group.wait()
        last = f"round{number}"
    progress = stage(rounds)
    for tile in tiles.mine:
        piece = tiles.load(tile)
        proba, above = fitted.smoothed(averaged(tile, rounds, progress), elsewhere=elsewhere)
        found = None if thresholds is None else above < thresholds
        flags = np.array(tiles.kept("flags", tile))
        yield TileAnswers(piece.index, proba, flags, found)


def _share(tiles: Tiles) -> range:
    """Of all tiles, also those that an earlier job has finished: what this process sums over."""
    return range(tiles.group.rank, len(tiles), tiles.group.size)


def _is_elsewhere(tiles: Tiles) -> bool:
    """Whether most points of the cloud lie outside that of training: it is another scan."""
    without = sum(int((tiles.kept("flags", tile) == OUTSIDE).sum()) for tile in _share(tiles))
    return float(tiles.group.sum(without)) > ELSEWHERE * tiles.count


def node_proba(
    fitted: FittedModel,
    points: np.ndarray,
    columns: np.ndarray | None,
    local: np.ndarray | None,
    context: np.ndarray | None = None,
    *,
    members: bool = False,
    heard: Callable[[int], None] = lambda count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """p (m, classes) before it is averaged, and flags (m,); at an ALONE point p says nothing.

    With ``members`` the p of each of them alone stands beside it: (m, (1 + members) · classes). ``heard`` is
    told how many points are done.
    """
    extension, classes = fitted.spectrum.extension, len(fitted.classes)
    assert isinstance(extension, KernelExtension)
    assert isinstance(fitted.nodes, CloudNodes)
    width = classes * (1 + fitted.ensemble.members if members else 1)
    P = np.full((len(points), width), 1 / classes)
    flags = np.full(len(points), PREDICTED, dtype=np.uint8)
    for start in range(0, len(points), AT_A_TIME):
        rows = np.arange(start, min(start + AT_A_TIME, len(points)))
        trust = None
        if fitted.places is not None:
            V, trust = fitted.trusted(points[rows])
            flags[rows[trust == 0]] = OUTSIDE
        else:
            V, alone = extension.where_joined(points[rows])
            flags[rows[outside(V, fitted.spectrum)]] = OUTSIDE
            flags[rows[alone]] = ALONE
            rows, V = rows[~alone], V[~alone]
        if len(rows):
            shapes, beside, around = (
                None if some is None else some[rows] for some in (local, columns, context)
            )
            placed = fitted.place_points(
                points[rows], V, shapes=shapes, features=beside, trust=trust, context=around
            )
            P[rows] = fitted.point_probabilities(placed, members=members)
        heard(min(start + AT_A_TIME, len(points)))
    return P, flags
