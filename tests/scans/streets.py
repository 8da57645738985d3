"""Small streets as files, written by laspy, and quick settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import laspy
import numpy as np

from pinvgcn.datasets import generate_street, random_split

QUICK = {"epochs": 25, "members": 1, "rank": 12, "trees": 20}
CORNER = np.array([412_345.0, 5_654_321.0, 230.0])
NOISE = 4
WATER = 9  # a class that no model of these tests knows


@dataclass(frozen=True)
class Street:
    """A scan on disk, and what was put into it."""

    path: Path
    points: np.ndarray
    truth: np.ndarray  # classes 2 to 6
    given: np.ndarray  # 1 where unlabelled, 7 for noise
    intensity: np.ndarray


def write_street(
    path: Path, n: int = 2_600, *, unit: float = 1.0, corner: np.ndarray = CORNER, seed: int = 0
) -> Street:
    """As LAS 1.4 with map coordinates in millimetres, 20 labels a class and some noise."""
    street = generate_street(n, random_state=seed)
    labels = random_split(street.y, per_class=20, random_state=seed)
    truth = street.y + 2
    given = np.where(labels < 0, 1, truth)
    given[np.flatnonzero(given == 1)[:NOISE]] = 7
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = np.full(3, 0.001 / unit), corner / unit
    las = laspy.LasData(header)
    las.x, las.y, las.z = ((np.round(street.X, 3) + corner) / unit).T
    las.classification = given
    intensity = np.random.default_rng(seed).integers(0, 60, n) + 20 * street.y
    las.intensity = intensity
    las.gps_time = np.arange(n) * 0.5
    las.write(path)
    points = np.column_stack([las.x, las.y, las.z])
    return Street(path, points, truth, given, intensity)
