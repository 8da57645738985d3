"""Trees, hedges and bushes."""

from __future__ import annotations

import numpy as np

from pinvgcn.datasets.street.shapes import Clump, Cuboid, Rod, Shape
from pinvgcn.datasets.street.site import VEGETATION, Site, Span


def tree(site: Site, x: float, y: float) -> list[Shape]:
    """A leaning trunk that forks into branches, each with a clump of leaves at its end."""
    rng = site.rng
    height, spread = rng.uniform(7.0, 11.5), rng.uniform(2.0, 3.0)
    lean = np.append(rng.normal(0, 0.25, 2), 0)
    foot, fork = site.at(x, y, -0.1), site.at(x, y, 0.32 * height) + lean
    shapes: list[Shape] = [Rod(foot, fork, rng.uniform(0.12, 0.22), VEGETATION)]
    for _ in range(rng.integers(14, 22)):
        angle, out = rng.uniform(0, 2 * np.pi), spread * np.sqrt(rng.random())
        tip = fork + np.array([out * np.cos(angle), out * np.sin(angle), 0])
        tip[2] = foot[2] + height * rng.uniform(0.4, 0.9 - 0.15 * out / spread)
        shapes.append(Rod(fork, tip, 0.05, VEGETATION))
        shapes.append(Clump(tip, rng.uniform([0.8, 0.8, 0.6], [1.5, 1.5, 1.2]), VEGETATION, depth=0.6))
    return shapes


def street_trees(site: Site, side: int, until: float) -> list[Shape]:
    """A broken row of trees at the edge of the pavement."""
    shapes: list[Shape] = []
    for x in site.places(spacing=10, wobble=2.5):
        if x < until and site.chance(0.35):
            shapes += tree(site, x, side * site.rng.uniform(5.8, 6.5))
    return shapes


def park(site: Site, side: int, start: float, end: float) -> list[Shape]:
    """A lawn with trees and bushes, behind a low hedge."""
    rng = site.rng
    shapes: list[Shape] = []
    for x in np.arange(start, end, 3.6):
        for y in (9.4, 13.2):
            if site.chance(0.9):
                shapes += tree(site, x + rng.uniform(-1.5, 1.5), side * (y + rng.uniform(-1.2, 1.2)))
        if site.chance(0.4):
            shapes += bush(site, x + rng.uniform(0, 4), side * rng.uniform(9, 14))
        if site.chance(0.3):
            shapes.append(hedge(site, (x, x + 4), (side * 7.7, side * 8.4), rng.uniform(0.6, 1.0)))
    return shapes


def bush(site: Site, x: float, y: float) -> list[Shape]:
    """A few low clumps."""
    rng = site.rng
    return [
        Clump(
            site.at(x + rng.normal(0, 0.5), y + rng.normal(0, 0.4), rng.uniform(0.2, 0.7)),
            rng.uniform([0.4, 0.4, 0.4], [1.0, 0.8, 0.9]),
            VEGETATION,
            depth=0.2,
        )
        for _ in range(3)
    ]


def hedge(site: Site, x: Span, y: Span, height: float) -> Cuboid:
    return site.block(x, y, (0, height), VEGETATION, depth=0.12)
