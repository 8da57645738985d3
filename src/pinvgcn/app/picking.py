"""From a click or a rectangle on the screen to the points that are seen there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NEAR_RAY = 0.008  # radians off the ray that still count as a hit: about six pixels of a screen
FRONT = 0.02  # of the distance: how far behind the foremost point another is still its surface
CELLS = 400  # of a side of the screen, in which the foremost point hides what is behind it


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


def visible_in(
    points: np.ndarray,
    camera: Camera,
    corner: tuple[float, float],
    opposite: tuple[float, float],
    *,
    radius: float = 0.0,
) -> np.ndarray:
    """The points seen in a rectangle of the screen, in order.

    The screen is divided into cells as small as a point is drawn, at most ``CELLS`` a side; in each, what is
    clearly farther than its foremost point (``FRONT``) is hidden.
    """
    screen, depth = camera.project(points)
    low, high = np.minimum(corner, opposite), np.maximum(corner, opposite)
    inside = (depth > 0) & (screen >= low).all(axis=1) & (screen <= high).all(axis=1)
    rows = np.flatnonzero(inside)
    if len(rows) == 0:
        return rows
    depth, screen = depth[rows], screen[rows]
    drawn = 2 * radius / (2 * np.tan(camera.fov / 2) * np.median(depth))  # a point's share of the height
    side = int(np.clip(1 / max(drawn, 1 / CELLS), 1, CELLS))
    cell = np.floor(screen * side).astype(np.int64)
    key = cell[:, 0] * (side + 2) + cell[:, 1]
    order = np.lexsort((depth, key))
    first = np.ones(len(order), dtype=bool)
    first[1:] = key[order][1:] != key[order][:-1]
    foremost = depth[order][first][np.cumsum(first) - 1]
    seen = depth[order] <= (1 + FRONT) * foremost + 2 * radius
    return np.sort(rows[order[seen]])
