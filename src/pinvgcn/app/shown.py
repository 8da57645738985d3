"""What is drawn of a scan: the points within a clipping box, up to a budget, spread evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.app.cloud import PIECE, Cloud

BUDGET = 500_000  # points in the browser at most


@dataclass(frozen=True)
class Clip:
    """A box along the axes, in metres about the middle of the scan; a slab where only heights are bounded."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    def inside(self, cloud: Cloud) -> np.ndarray:
        """The numbers of the points of a scan that lie in it, borders included."""
        low = cloud.middle + np.array(self.low) / cloud.metres
        high = cloud.middle + np.array(self.high) / cloud.metres
        found = []
        for start in range(0, len(cloud), PIECE):
            some = cloud.points[start : start + PIECE]
            found.append(start + np.flatnonzero(((some >= low) & (some <= high)).all(axis=1)))
        return np.concatenate(found)

    def holds(self, places: np.ndarray) -> np.ndarray:
        """Which places (k, 3) lie in it, as the page shows them: a mask (k,)."""
        inside = (places >= np.array(self.low)) & (places <= np.array(self.high))
        return np.asarray(inside.all(axis=1))


@dataclass(frozen=True)
class Shown:
    """Points that are drawn; everything that a person points at is among them."""

    index: np.ndarray  # (m,) their numbers in the scan, rising
    points: np.ndarray  # (m, 3) float32, in metres about the middle of the scan
    rows: np.ndarray  # (m,) the point of the sample that each is, or is nearest to
    clip: Clip | None
    of: int  # points within the clip, drawn or not

    @classmethod
    def of_cloud(cls, cloud: Cloud, clip: Clip | None = None, *, budget: int = BUDGET) -> Shown:
        """All points in the clip where the budget allows it, else those whose turn comes first."""
        if clip is None:
            count = len(cloud)
            index = np.flatnonzero(cloud.turn < budget)
        else:
            index = clip.inside(cloud)
            count = len(index)
            if count > budget:
                turn = cloud.turn[index]
                index = index[turn <= np.partition(turn, budget - 1)[budget - 1]]
        return cls(index, cloud.places(index), cloud.rows(index), clip, count)

    def __len__(self) -> int:
        return len(self.index)
