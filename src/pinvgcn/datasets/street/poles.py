"""Lamps, signs and a gantry; utility poles and the wires that hang between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pinvgcn.datasets.street.shapes import Rod, Shape, around
from pinvgcn.datasets.street.site import LEFT, POLE, RIGHT, WIRE, Site

WIRE_RADIUS = 0.04  # of wire and beam together: a beam that grazes a thin wire still returns
PIECES = 10  # straight ones that stand for the curve of a hanging wire


def lamps(site: Site) -> list[Shape]:
    """Lamp posts on the left, each with an arm over the road and sign plates."""
    shapes: list[Shape] = []
    for x in site.places(spacing=29, wobble=2):
        foot, top = site.at(x, LEFT * 5.6, -0.1), site.at(x, LEFT * 5.6, site.rng.uniform(7.0, 8.5))
        tip = top - [0, 2.4 * LEFT, -0.5]
        shapes += [
            Rod(foot, top, 0.14, POLE),
            Rod(top, tip, 0.08, POLE),
            around(tip, (0.4, 1.1, 0.2), POLE),
            around(foot + np.array([-0.2, 0, 3.4]), (0.05, 0.7, 1.4), POLE),  # sign plates
        ]
    return shapes


def signs(site: Site, side: int) -> list[Shape]:
    """Thin posts with one or two plates that face the traffic."""
    rng = site.rng
    shapes: list[Shape] = []
    for x in site.places(spacing=60, wobble=8):
        y = side * rng.uniform(5.5, 5.9)
        foot, top = site.at(x, y, -0.1), site.at(x, y, rng.uniform(2.4, 3.2))
        shapes.append(Rod(foot, top, 0.045, POLE))
        for k in range(rng.integers(1, 3)):
            shapes.append(around(top - [0.06, 0, 0.35 + 0.75 * k], (0.04, 0.65, 0.65), POLE))
    return shapes


def gantry(site: Site, x: float) -> list[Shape]:
    """A mast with an arm across the road that carries traffic lights and two large signs."""
    foot, top = site.at(x, RIGHT * 5.8, -0.1), site.at(x, RIGHT * 5.8, 6.4)
    boards = [around(top - [0.15, RIGHT * y, -0.3], (0.1, 2.8, 1.6), POLE) for y in (4.2, 7.2)]
    lights = [around(top - [0.2, RIGHT * y, 0.4], (0.3, 0.4, 1.1), POLE) for y in (2.4, 8.8)]
    return [Rod(foot, top, 0.17, POLE), Rod(top, top - [0, RIGHT * 9, 0], 0.12, POLE), *boards, *lights]


def utility_line(site: Site, fronts: Sequence[np.ndarray]) -> list[Shape]:
    """Wooden poles on the right, wires from each to the next and from each to a house or two."""
    rng = site.rng
    shapes: list[Shape] = []
    last: list[np.ndarray] = []
    for x in site.places(spacing=33, wobble=1.5):
        foot, top = site.at(x, RIGHT * 6.0, -0.2), site.at(x, RIGHT * 6.0, rng.uniform(11.0, 11.8))
        beam, reach = top - [0, 0, 0.5], np.array([0, 1.1, 0])
        shapes += [Rod(foot, top, 0.2, POLE), Rod(beam - reach, beam + reach, 0.07, POLE)]
        if site.chance(0.5):  # a transformer
            shapes.append(Rod(beam - [0.45, 0, 1.7], beam - [0.45, 0, 0.6], 0.32, POLE))
        across = [beam + s * reach for s in (-0.95, 0.5, 0.95)]
        hooks = [*across, top - [0, 0.2, 2.6], top - [0, 0.2, 3.0]]
        for here, there in zip(hooks, last, strict=False):
            shapes += wire(here, there, rng.uniform(0.4, 0.9))
        nearest = np.argsort([np.linalg.norm(front - top) for front in fronts])
        for front in (fronts[i] for i in nearest[: rng.integers(1, 3)]):
            shapes += wire(hooks[3], front, rng.uniform(0.2, 0.5))
        last = hooks
    return shapes


def wire(start: np.ndarray, end: np.ndarray, sag: float) -> list[Shape]:
    """A wire that hangs ``sag`` metres below the straight line in its middle."""
    s = np.linspace(0, 1, PIECES + 1)[:, None]
    curve = start + s * (end - start) - 4 * sag * s * (1 - s) * [0, 0, 1]
    return [Rod(a, b, WIRE_RADIUS, WIRE) for a, b in pairwise(curve)]
