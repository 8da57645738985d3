"""Where a laser beam meets the things in a street, and the ground that they are put on.

A shape answers `distance`: how far along each beam it is first met, infinity where it is missed.
Beams are origins and unit directions, (k, 3) each. Solid shapes are met at their surface. Foliage
is met somewhere inside or not at all, with a constant chance per metre: a beam that is not stopped
goes on to what lies behind, as in a real scan.

Distances are in metres; x runs along the street, y to its left, z up. What is in none of the five
classes (parked cars, window panes) is labelled ``NOTHING``: it casts shadows and returns no points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Cuboid:
    """Axis-aligned and solid, or, with ``depth``, foliage that stops a beam after that mean distance."""

    low: Array  # (3,)
    high: Array  # (3,)
    label: int
    depth: float = 0.0

    def distance(self, origins: Array, directions: Array, rng: np.random.Generator) -> Array:
        enter, leave = np.full(len(origins), -np.inf), np.full(len(origins), np.inf)
        for i in range(3):
            slant = np.where(np.abs(directions[:, i]) < 1e-12, 1e-12, directions[:, i])
            a, b = (self.low[i] - origins[:, i]) / slant, (self.high[i] - origins[:, i]) / slant
            enter, leave = np.maximum(enter, np.minimum(a, b)), np.minimum(leave, np.maximum(a, b))
        return _stopped(enter, leave, self.depth, rng)


def around(centre: Array, size: tuple[float, float, float], label: int) -> Cuboid:
    """A solid box by its centre and edges."""
    return Cuboid(centre - np.array(size) / 2, centre + np.array(size) / 2, label)


@dataclass(frozen=True)
class Clump:
    """An ellipsoid of leaves that stops a beam after ``depth`` metres in the mean."""

    centre: Array  # (3,)
    axes: Array  # (3,)
    label: int
    depth: float

    @property
    def low(self) -> Array:
        return self.centre - self.axes

    @property
    def high(self) -> Array:
        return self.centre + self.axes

    def distance(self, origins: Array, directions: Array, rng: np.random.Generator) -> Array:
        o, d = (origins - self.centre) / self.axes, directions / self.axes
        a, b, c = dot(d, d), dot(o, d), dot(o, o) - 1
        root = np.sqrt(np.maximum(b * b - a * c, 0))
        return _stopped((-b - root) / a, (-b + root) / a, self.depth, rng)


@dataclass(frozen=True)
class Rod:
    """A straight round bar from ``start`` to ``end``: pole, arm, trunk, branch, piece of wire."""

    start: Array  # (3,)
    end: Array  # (3,)
    thickness: float  # its radius
    label: int

    @property
    def low(self) -> Array:
        return np.minimum(self.start, self.end) - self.thickness

    @property
    def high(self) -> Array:
        return np.maximum(self.start, self.end) + self.thickness

    def distance(self, origins: Array, directions: Array, rng: np.random.Generator) -> Array:
        length = np.linalg.norm(self.end - self.start)
        axis = (self.end - self.start) / length
        apart = origins - self.start
        cosine = directions @ axis
        across = np.maximum(1 - cosine**2, 1e-9)  # squared sine of the angle between beam and rod
        closest = (cosine * (apart @ axis) - dot(apart, directions)) / across  # along the beam
        along = apart @ axis + closest * cosine
        gap = apart + closest[:, None] * directions - along[:, None] * axis
        inside = self.thickness**2 - dot(gap, gap)
        t = closest - np.sqrt(np.maximum(inside, 0) / across)
        met = (inside > 0) & (along >= 0) & (along <= length) & (t > 0)
        return np.where(met, t, np.inf)


@dataclass(frozen=True)
class Wall:
    """The front of a house: an upright sheet along the street, with rows of window openings."""

    low: Array  # (3,), of equal y
    high: Array  # (3,)
    label: int
    spacing: float  # of the windows; each takes 45 % of it
    storey: float  # height; windows take its part from 30 to 80 %

    def distance(self, origins: Array, directions: Array, rng: np.random.Generator) -> Array:
        along = directions[:, 1]
        t = (self.low[1] - origins[:, 1]) / np.where(np.abs(along) < 1e-9, 1e-9, along)
        x, z = (origins[:, i] + t * directions[:, i] for i in (0, 2))
        column, row = (x - self.low[0]) / self.spacing % 1, (z - self.low[2]) / self.storey % 1
        window = (column > 0.3) & (column < 0.75) & (row > 0.3) & (row < 0.8)
        inside = (x > self.low[0]) & (x < self.high[0]) & (z > self.low[2]) & (z < self.high[2])
        return np.where(inside & ~window & (t > 0), t, np.inf)


@dataclass(frozen=True)
class Ground:
    """Carriageway with a crown, kerbs, pavements and front gardens, all following a gentle slope."""

    label: int
    slope: float
    wave: float  # phase of the long undulation
    banks: tuple[float, float]  # how much the ground rises towards the far right and far left, in metres
    kerb: float = 5.2  # half the width of the carriageway
    step: float = 0.13  # height of the kerb

    low = np.full(3, -1e3)
    high = np.full(3, 1e3)

    def height(self, x: Array | float, y: Array | float) -> Array:
        """Of the surface above or below the origin, (k,)."""
        return np.where(np.abs(y) < self.kerb, self._road(x, y), self._pavement(x, y))

    def distance(self, origins: Array, directions: Array, rng: np.random.Generator) -> Array:
        met = np.full(len(origins), np.inf)
        down = np.flatnonzero(directions[:, 2] < -0.02)
        o, d = origins[down], directions[down]
        road, pavement = (self._meet(sheet, o, d) for sheet in (self._road, self._pavement))
        # a beam that passes above the pavement's edge and below its surface ends at the face of the kerb
        edge = (self.kerb - np.sign(d[:, 1]) * o[:, 1]) / np.maximum(np.abs(d[:, 1]), 1e-9)
        met[down] = np.where(road < edge, road, np.maximum(pavement, edge))
        return met

    def _road(self, x: Array | float, y: Array | float) -> Array:
        return self.slope * x + 0.25 * np.sin(np.asarray(x) / 11 + self.wave) - 0.025 * np.abs(y)

    def _pavement(self, x: Array | float, y: Array | float) -> Array:
        rise = np.clip((np.abs(y) - 8.0) / 6, 0, 1) ** 2
        bank = np.where(np.asarray(y) < 0, *self.banks)
        return self._road(x, self.kerb) + self.step + 0.015 * (np.abs(y) - self.kerb) + bank * rise

    @staticmethod
    def _meet(sheet: Callable[[Array, Array], Array], origins: Array, directions: Array) -> Array:
        """Distance to a nearly level sheet by the secant method; a beam that skims it returns nothing."""
        (x, y, z), (dx, dy, dz) = np.ascontiguousarray(origins.T), np.ascontiguousarray(directions.T)

        def above(t: Array) -> Array:
            return z + t * dz - sheet(x + t * dx, y + t * dy)

        last, t = np.zeros(len(x)), np.full(len(x), 0.01)
        height_last = above(last)
        for _ in range(7):
            height = above(t)
            descent = np.minimum((height - height_last) / np.where(t == last, 1, t - last), -1e-3)
            last, height_last, t = t, height, np.clip(t - height / descent, 0, 60)
        return np.where(np.abs(above(t)) < 1e-3, t, np.inf)


def dot(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->i", a, b)


def _stopped(enter: Array, leave: Array, depth: float, rng: np.random.Generator) -> Array:
    """Where beams end that are inside a shape from ``enter`` to ``leave``."""
    if depth > 0:
        enter = np.maximum(enter, 0) + rng.exponential(depth, len(enter))
    return np.where((enter < leave) & (enter > 0), enter, np.inf)


Shape = Cuboid | Clump | Rod | Wall | Ground  # each with a label, and the corners of a box that holds it
Span = tuple[float, float]

CLASSES = ("vegetation", "wire", "pole", "ground", "facade")
VEGETATION, WIRE, POLE, GROUND, FACADE = range(5)
NOTHING = -1

LENGTH, WIDTH = 100.0, 30.0
MARGIN = 15.0  # the street goes on past both ends: what stands there casts shadows too
LEFT, RIGHT = 1, -1


@dataclass(frozen=True)
class Site:
    """Where things are placed; every draw that decides the look of the street comes from ``rng``."""

    ground: Ground
    rng: np.random.Generator

    def at(self, x: float, y: float, above: float = 0.0) -> np.ndarray:
        """The point ``above`` the ground at (x, y)."""
        return np.array([x, y, float(self.ground.height(x, y)) + above])

    def block(self, x: Span, y: Span, z: Span, label: int, depth: float = 0.0) -> Cuboid:
        """A box whose ``z`` counts from the ground under its middle; ``y`` in either order."""
        base = self.at(sum(x) / 2, sum(y) / 2)[2]
        low, high = zip(sorted(x), sorted(y), (base + z[0], base + z[1]), strict=True)
        return Cuboid(np.array(low), np.array(high), label, depth)

    def places(self, spacing: float, wobble: float) -> np.ndarray:
        """Positions along the street, about evenly spaced, from a random start."""
        x = np.arange(-MARGIN + self.rng.uniform(0, spacing), LENGTH + MARGIN, spacing)
        return x + self.rng.uniform(-wobble, wobble, len(x))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)
