"""Points to pixels: a small perspective renderer for point clouds.

Each point becomes a disc that is smaller the farther it is; nearer discs cover farther ones; and a
pixel darkens where its surroundings are nearer than itself, which shows edges and depth without any
normals. The background stays transparent, so that the picture sits on a light page and a dark one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHADE = 22.0  # how strongly a step in depth darkens
FLOOR = 0.45  # the darkest that a step in depth can make a colour


@dataclass(frozen=True)
class Projection:
    """An eye, three perpendicular directions, and the window of the image plane that is seen."""

    eye: np.ndarray  # (3,)
    axes: np.ndarray  # (3, 3) rows: right, up, towards the scene
    window: tuple[float, float, float, float]  # left, right, bottom, top

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions on the image plane (n, 2) and depths (n,)."""
        seen = (np.asarray(points, dtype=float) - self.eye) @ self.axes.T
        return seen[:, :2] / seen[:, 2:], seen[:, 2]

    @property
    def aspect(self) -> float:
        left, right, bottom, top = self.window
        return (top - bottom) / (right - left)


def camera_for(points: np.ndarray, *, azimuth: float = -62.0, elevation: float = 42.0) -> Projection:
    """A camera that looks down on the whole cloud, the long side of it across the picture."""
    low, high = np.quantile(points, [0.002, 0.998], axis=0)
    centre, extent = (low + high) / 2, high - low
    turn = np.deg2rad(azimuth if extent[0] >= extent[1] else azimuth + 90.0)
    tilt = np.deg2rad(elevation)
    away = np.array([np.cos(turn) * np.cos(tilt), np.sin(turn) * np.cos(tilt), np.sin(tilt)])
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(away, right), -away])
    camera = Projection(centre + 1.5 * np.linalg.norm(extent) * away, axes, (0.0, 1.0, 0.0, 1.0))
    plane, _ = camera.project(points)
    left, bottom = plane.min(axis=0)
    rightmost, top = plane.max(axis=0)
    pad = 0.02 * (rightmost - left)
    return Projection(camera.eye, axes, (left - pad, rightmost + pad, bottom - pad, top + pad))


def render(
    points: np.ndarray,
    colours: np.ndarray,
    camera: Projection,
    *,
    width: int = 1200,
    size: float = 2.2,
    on_top: np.ndarray | None = None,
) -> np.ndarray:
    """An RGBA image (height, width, 4) in 0…1.

    ``colours`` is (n, 3); ``size`` the radius in pixels of a disc at middle depth; points where
    ``on_top`` is true are drawn over all others, so that a few marked ones are never hidden.
    """
    height = max(1, round(width * camera.aspect))
    left, right, bottom, top = camera.window
    plane, depth = camera.project(points)
    column = (plane[:, 0] - left) / (right - left) * width  # (n,)
    row = (top - plane[:, 1]) / (top - bottom) * height
    radius = size * np.median(depth) / depth

    reach = int(np.ceil(radius.max()))
    steps = np.arange(-reach, reach + 1)
    dx, dy = (grid.ravel() for grid in np.meshgrid(steps, steps))
    pixel_column = np.floor(column)[:, None] + dx  # (n, discs)
    pixel_row = np.floor(row)[:, None] + dy
    distance = np.hypot(pixel_column + 0.5 - column[:, None], pixel_row + 0.5 - row[:, None])
    inside = distance <= np.maximum(radius, 0.71)[:, None]
    inside &= (pixel_column >= 0) & (pixel_column < width) & (pixel_row >= 0) & (pixel_row < height)
    point, offset = np.nonzero(inside)
    target = pixel_row[point, offset].astype(int) * width + pixel_column[point, offset].astype(int)

    layer = np.zeros(len(points), dtype=bool) if on_top is None else np.asarray(on_top, dtype=bool)
    order = np.lexsort((-depth[point], layer[point]))  # far to near, marked points last
    owner = np.full(height * width, -1)
    owner[target[order]] = point[order]  # of equal targets the last one stays

    image = np.zeros((height * width, 4))
    filled = owner >= 0
    image[filled, :3] = np.asarray(colours, dtype=float)[owner[filled]]
    image[filled, 3] = 1.0
    depth_image = np.where(filled, np.log(depth[owner]), np.inf).reshape(height, width)
    image[:, :3] *= _shade(depth_image).reshape(-1, 1)
    return image.reshape(height, width, 4)


def _shade(depth: np.ndarray) -> np.ndarray:
    """A factor in (0, 1] for each pixel: 1 where nothing near it is closer to the eye."""
    total = np.zeros_like(depth)
    own = np.where(np.isfinite(depth), depth, 0.0)
    padded = np.pad(depth, 2, constant_values=np.inf)
    rows, columns = depth.shape
    neighbours = [(0, 2), (2, 0), (0, -2), (-2, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]
    for down, across in neighbours:
        other = padded[2 + down : 2 + down + rows, 2 + across : 2 + across + columns]
        total += np.maximum(0.0, np.where(np.isfinite(other), own - other, 0.0))
    return FLOOR + (1 - FLOOR) * np.exp(-SHADE * total / len(neighbours))
