"""The ground of a street and a way to put things on it.

Distances are in metres; x runs along the street, y to its left, z up. What is in none of the five
classes (parked cars, window panes) is labelled ``NOTHING``: it casts shadows and returns no points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.datasets.street.shapes import Cuboid, Ground

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
