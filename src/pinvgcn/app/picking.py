"""From a click or a polygon on the screen to points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.path import Path as Outline
from scipy.ndimage import minimum_filter

NEAR_RAY = 0.008  # radians off the ray that still count as a hit: about six pixels of a screen
FRONT = 0.02  # of the distance: how far behind the foremost point another is still its surface
CELLS = 400  # of the height of the screen
WIDEST = 64  # cells that a point covers to each side at most


@dataclass(frozen=True)
class Camera:
    """A pinhole at ``position``; the columns of ``rotation`` are right, down and forward (OpenCV)."""

    position: np.ndarray  # (3,)
    rotation: np.ndarray  # (3, 3)
    fov: float  # radians, vertical
    aspect: float  # width / height

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places on the screen (n, 2), from (0, 0) top left to (1, 1), and depths (n,), ≤ 0 behind it."""
        local = (points - self.position) @ self.rotation
        depth = local[:, 2]
        half = np.tan(self.fov / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            x = 0.5 + local[:, 0] / depth / (2 * half * self.aspect)
            y = 0.5 + local[:, 1] / depth / (2 * half)
        return np.stack([x, y], axis=1), depth

    def unproject(self, screen: np.ndarray, depth: float) -> np.ndarray:
        """The points at a depth that are seen at places of the screen (k, 2): (k, 3)"""
        half = np.tan(self.fov / 2)
        x, y = (2 * half * depth * (screen - 0.5) * [self.aspect, 1.0]).T
        found: np.ndarray = self.position + np.stack([x, y, np.full_like(x, depth)], axis=1) @ self.rotation.T
        return found

    @classmethod
    def looking(
        cls, position: np.ndarray, target: np.ndarray, up: np.ndarray, *, fov: float, aspect: float
    ) -> Camera:
        """From ``position`` towards ``target``, with ``up`` upwards on the screen."""
        forward = (target - position) / np.linalg.norm(target - position)
        right = np.cross(forward, up)
        right /= np.linalg.norm(right)
        return cls(position, np.stack([right, np.cross(forward, right), forward], axis=1), fov, aspect)


def pick(points: np.ndarray, origin: np.ndarray, direction: np.ndarray, *, radius: float = 0.0) -> int | None:
    """The visible point nearest to the ray, or None where the ray meets nothing.

    A point is hit where the ray passes within ``NEAR_RAY`` radians of it, or within the ``radius`` with which
    points are drawn. Of those hit the foremost hides the others; of those beside it (within ``FRONT``), the
    one nearest to the ray is taken.
    """
    direction = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
    away = points - np.asarray(origin)
    along = away @ direction
    ahead = np.flatnonzero(along > 0)
    if len(ahead) == 0:
        return None
    along, away = along[ahead], away[ahead]
    off = np.sqrt(np.maximum((away**2).sum(axis=1) - along**2, 0.0))
    hit = np.flatnonzero(off <= np.maximum(NEAR_RAY * along, radius))
    if len(hit) == 0:
        return None
    surface = hit[along[hit] <= (1 + FRONT) * along[hit].min() + radius]
    return int(ahead[surface[np.argmin(off[surface] / along[surface])]])


def within(
    points: np.ndarray, camera: Camera, corners: np.ndarray, *, radius: float = 0.0, through: bool = False
) -> np.ndarray:
    """The points in a polygon of the screen (k, 2), in order: all of them, or only those that are seen.

    The height of the screen is divided into ``CELLS``. A point covers the cells within the ``radius`` with
    which it is drawn, and hides what is clearly farther there (``FRONT``).
    """
    screen, depth = camera.project(points)
    low, high = corners.min(axis=0), corners.max(axis=0)
    rows = np.flatnonzero((depth > 0) & (screen >= low).all(axis=1) & (screen <= high).all(axis=1))
    if len(rows) == 0:
        return rows
    if not through:
        rows = rows[_foremost(screen[rows], depth[rows], camera, radius)]
    inside: np.ndarray = rows[Outline(corners).contains_points(screen[rows])]
    return inside


def _foremost(screen: np.ndarray, depth: np.ndarray, camera: Camera, radius: float) -> np.ndarray:
    """Which of these are seen: rows, rising."""
    low = screen.min(axis=0)
    cell = np.floor((screen - low) * [camera.aspect * CELLS, CELLS]).astype(np.int64)
    width, height = (cell.max(axis=0) + 1).tolist()
    half = radius / (2 * np.tan(camera.fov / 2) * depth) * CELLS  # of a drawn point, in cells
    reach = 2 ** np.floor(np.log2(np.clip(half, 1, WIDEST))).astype(np.int64)
    reach[half < 1] = 0
    nearest = np.full((width, height), np.inf)
    for size in np.unique(reach).tolist():
        some = np.full((width, height), np.inf)
        own = reach == size
        np.minimum.at(some, (cell[own, 0], cell[own, 1]), depth[own])
        nearest = np.minimum(nearest, minimum_filter(some, 2 * size + 1, mode="constant", cval=np.inf))
    seen = depth <= (1 + FRONT) * nearest[cell[:, 0], cell[:, 1]] + 2 * radius
    return np.flatnonzero(seen)
