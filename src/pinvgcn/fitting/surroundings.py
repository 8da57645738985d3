"""How far from the labels a place says something about the class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.parallel import cores

REACHED = 0.9  # the quantile of held-out distances up to which a place is trusted
BEYOND = 1.25  # times the largest distance from a training point to a label: what is farther is elsewhere


@dataclass(frozen=True)
class LabelledPlaces:
    """φ(x) = min(1, √(D/d)) with d the distance from x to the nearest label; 0 where x is elsewhere.

    D is the 90 % quantile of the distances from labels to those that remain when they are held out: up to
    there it is known how well the place tells the class. A point is elsewhere if it is farther from all
    labels than the training points are (docs/maths.md, 9.7).
    """

    points: np.ndarray  # (m, d) the labels
    reach: float  # D
    farthest: float  # of a training point

    @classmethod
    def of(cls, points: np.ndarray, held_out: np.ndarray, farthest: float) -> LabelledPlaces:
        """From the distances of held-out labels (t,), and the largest of a training point to a label."""
        reach = float(np.quantile(held_out, REACHED)) if len(held_out) else farthest
        return cls(points, reach, BEYOND * farthest)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """From any points to the nearest label: (m,)."""
        found: np.ndarray = self._tree.query(points, workers=cores())[0]
        return found

    def trust(self, points: np.ndarray) -> np.ndarray:
        """φ at any points: (m,)."""
        d = self.distances(points)
        with np.errstate(divide="ignore"):
            phi = np.minimum(1.0, np.sqrt(self.reach / d))
        phi[d == 0] = 1.0
        phi[d > self.farthest] = 0.0
        return phi

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.points)
