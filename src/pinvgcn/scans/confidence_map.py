"""ConfidenceMap: how sure a model is, seen from above, for clouds of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.scans.cell_sums import CoarseningSums
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.seen import ONE, Parts

MOST = 2**18  # cells
ENOUGH = 4  # points of a cell on average


@dataclass(frozen=True)
class ConfidenceMap:
    """Square cells in plan that have points, but for protected ones."""

    side: float  # in the unit of the file
    low: np.ndarray  # (c, 2) their lower left corners, in its coordinates
    confidence: np.ndarray  # (c,) mean over points without a label, NaN where there are none
    points: np.ndarray  # (c,) without a label
    labels: np.ndarray  # (c,) labelled points

    @classmethod
    def of(cls, parts: Parts, frame: Frame) -> ConfidenceMap:
        """In one pass over the points."""
        sums = CoarseningSums(2, 3, MOST)
        for seen in parts():
            free, rows = ~seen.labelled, seen.changeable
            values = np.column_stack([seen.confidence * free, free, seen.labelled])
            sums.add(seen.points[rows], values[rows])
        sums.coarsen_to(int(sums.sums[:, 1].sum()) / ENOUGH)
        sure, points, labels = sums.sums.T
        mean = np.divide(sure / ONE, points, out=np.full(len(sums), np.nan), where=points > 0)
        corners = np.column_stack([sums.cells * sums.side, np.zeros(len(sums))])
        low = frame.coordinates(corners)[:, :2]
        return cls(sums.side / frame.metres, low, mean, points, labels)
