"""A model's answer at every point of a scan of any size, as if the scan had been in memory.

Tile by tile: local shapes, then p at each point, which is kept on disk; then q = (p + k p̄)/(k + 1) with the
means p̄ over neighbours, across the borders of tiles (`docs/maths.md`, 9).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.averages import average_and_reach
from pinvgcn.features.geometry import geometry_and_reach
from pinvgcn.features.tiles import Surroundings, Tiles
from pinvgcn.nodes import CloudNodes, PlacedNodes, outside
from pinvgcn.scans.survey import Tell
from pinvgcn.spectra import KernelExtension

AT_A_TIME = 65_536  # points whose basis values are in memory
WIDEST = 300  # points that local_geometry looks at
PREDICTED, OUTSIDE, ALONE = 0, 1, 2  # supported; beyond the model's support; joined to nothing, not predicted


@dataclass(frozen=True)
class Answers:
    """Of the points of one tile."""

    index: np.ndarray  # (k,) their numbers in the scan
    proba: np.ndarray  # (k, classes)
    flags: np.ndarray  # (k,) PREDICTED, OUTSIDE or ALONE


def shapes(queries: np.ndarray, around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
    """`local_geometry`, as a question to tiles."""
    return geometry_and_reach(queries, around.points)


def answers(model: PinvGCNClassifier, tiles: Tiles, tell: Tell) -> Iterator[Answers]:
    """Probabilities of the classes at all points, tile by tile: ``predict_proba(points, among="own")``."""
    nodes: Any = model._nodes
    total, done = sum(tiles.counts[tile] for tile in tiles.mine), 0
    tell("Classifying", 0, total)
    for tile in tiles.mine:
        if tile not in tiles.kept_before:
            piece = tiles.load(tile)
            local = tiles.ask(shapes, tile, near=WIDEST) if nodes.geometry else None
            width = tiles.columns - tiles.beside
            P, flag = node_proba(model, piece.points, piece.columns[:, :width] if width else None, local)
            tiles.keep("flags", tile, flag)
            tiles.keep("proba", tile, P)
        done += tiles.counts[tile]
        tell("Classifying", done, total)
    tiles.group.wait()
    k, done = model._outcome.neighbours, 0

    def means(queries: np.ndarray, around: Surroundings) -> tuple[np.ndarray, np.ndarray]:
        assert k is not None
        found, reach = average_and_reach(queries, around.values, cloud=around.points, neighbours=k)
        return found, np.column_stack([reach, np.zeros(len(reach))])

    if k is not None:
        tell("Averaging", 0, total)
    for tile in tiles.mine:
        q = np.array(tiles.kept("proba", tile))
        if k is not None:
            q = (q + k * tiles.ask(means, tile, near=k, kept="proba")) / (k + 1)
            done += len(q)
            tell("Averaging", done, total)
        yield Answers(tiles.load(tile).index, model._outcome.weighed(q), np.array(tiles.kept("flags", tile)))


def node_proba(
    model: PinvGCNClassifier, points: np.ndarray, columns: np.ndarray | None, local: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """p (m, classes) before neighbours are asked, and flags (m,); at an ALONE point p says nothing."""
    extension = model.spectrum_.extension
    assert isinstance(extension, KernelExtension)
    assert isinstance(model._nodes, CloudNodes)
    P = np.full((len(points), len(model.classes_)), 1 / len(model.classes_))
    flags = np.full(len(points), PREDICTED, dtype=np.uint8)
    plain = copy.copy(model)
    plain._outcome = replace(model._outcome, neighbours=None, factors=None)
    for start in range(0, len(points), AT_A_TIME):
        rows = np.arange(start, min(start + AT_A_TIME, len(points)))
        V, alone = extension.where_joined(points[rows])
        flags[rows[outside(V, model.spectrum_)]] = OUTSIDE
        flags[rows[alone]] = ALONE
        rows, V = rows[~alone], V[~alone]
        if len(rows):
            plain._nodes = PlacedNodes(model._nodes, V, None if local is None else local[rows])
            P[rows] = plain.predict_proba(
                points[rows], features=None if columns is None else columns[rows], among="own"
            )
    return P, flags
