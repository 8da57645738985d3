"""Houses, and what is built onto them or in front of them. All of it is façade, but for the plants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pinvgcn.datasets.street.plants import bush, hedge
from pinvgcn.datasets.street.shapes import Rod, Shape, Wall
from pinvgcn.datasets.street.site import FACADE, MARGIN, NOTHING, VEGETATION, WIDTH, Site, Span

SETBACKS = (7.9, 8.4, 9.8, 10.8)  # of fronts from the middle of the road
FENCE = 7.7  # where pavement and front gardens meet
GARDEN = 9.0  # a setback beyond which there is room for a front garden
RECESS = 0.22  # of windows behind the front


@dataclass(frozen=True)
class House:
    """Its shapes, a point of its front below the eaves, and where the next house may begin."""

    shapes: list[Shape]
    front: np.ndarray  # (3,)
    end: float


def houses(site: Site, side: int, until: float) -> Iterator[House]:
    """A row of houses along one side, some wall to wall, some with a passage between them."""
    rng = site.rng
    x = -MARGIN - rng.uniform(0, 6)
    while x < until:
        lot = (x, x + rng.uniform(9, 17))
        setback, height = rng.choice(SETBACKS), rng.uniform(8, 13)
        shapes = _house(site, lot, side, setback, height) + _extras(site, lot, side, setback, height)
        if setback > GARDEN:
            shapes += _garden(site, lot, side, setback)
        x = lot[1]
        if site.chance(0.5):
            x += rng.uniform(2.5, 6)
            shapes += _passage(site, (lot[1], x), side)
        yield House(shapes, site.at(sum(lot) / 2, side * setback, 5.5), x)


def _house(site: Site, lot: Span, side: int, setback: float, height: float) -> list[Shape]:
    """A solid body behind a front with windows, whose panes swallow part of the light."""
    rng = site.rng
    front, inner = side * setback, side * (setback + RECESS)
    body = site.block(lot, (inner, side * (WIDTH / 2 + 5)), (-1, height), FACADE)
    panes = site.block(lot, (inner - side * 0.06, inner), (0.3, height - 0.3), NOTHING, depth=0.1)
    plinth = site.block(lot, (front, inner), (-0.5, 0.3), FACADE)
    cornice = site.block(lot, (front - side * rng.uniform(0.2, 0.5), inner), (height - 0.3, height), FACADE)
    sheet = site.block(lot, (front, front), (0.3, height), FACADE)
    wall = Wall(sheet.low, sheet.high, FACADE, spacing=rng.uniform(2, 3), storey=rng.uniform(2.8, 3.3))
    return [body, wall, plinth, panes, cornice]


def _extras(site: Site, lot: Span, side: int, setback: float, height: float) -> list[Shape]:
    """Steps, and now and then an awning, balconies, a bay, a rainwater pipe, ivy."""
    rng = site.rng
    front = side * setback

    def onto(width: float, out: float, z: Span, label: int = FACADE, depth: float = 0.0) -> Shape:
        """A box somewhere on the front that stands ``out`` from it."""
        x = rng.uniform(lot[0] + 0.3, lot[1] - width - 0.3)
        return site.block((x, x + width), (front, front - side * out), z, label, depth)

    door = rng.uniform(lot[0] + 1, lot[1] - 2.6)
    shapes: list[Shape] = [
        site.block((door, door + 1.6), (front, front - side * out), (-0.2, top), FACADE)
        for out, top in ((0.3, 0.5), (0.65, 0.34), (1.0, 0.18))
    ]
    if site.chance(0.4):
        shapes.append(onto(2.8, 1.3, (2.75, 2.85)))
    for _ in range(rng.integers(0, 3)):
        x, floor, outside = rng.uniform(lot[0] + 0.5, lot[1] - 3.5), rng.uniform(3.1, 3.6), front - side * 1.1
        shapes.append(site.block((x, x + 3), (front, outside), (floor - 0.15, floor), FACADE))
        shapes.append(site.block((x, x + 3), (outside, outside + side * 0.06), (floor, floor + 0.95), FACADE))
    if site.chance(0.25):
        shapes.append(onto(2.6, 0.8, (-0.3, 0.7 * height)))
    if site.chance(0.7):  # a pipe, which looks like a pole
        place = lot[0] + 0.3, front - side * 0.1
        shapes.append(Rod(site.at(*place), site.at(*place, height - 0.3), 0.07, FACADE))
    if site.chance(0.3):
        shapes.append(onto(3.5, 0.25, (0, height * rng.uniform(0.5, 0.9)), VEGETATION, depth=0.12))
    return shapes


def _garden(site: Site, lot: Span, side: int, setback: float) -> list[Shape]:
    """Perhaps a hedge or a low wall along the pavement, open at a gate, and bushes behind it."""
    rng = site.rng
    gate = rng.uniform(lot[0] + 2, lot[1] - 3)
    shapes: list[Shape] = []
    for part in ((lot[0], gate), (gate + 1.4, lot[1])):
        if site.chance(0.4):
            shapes.append(hedge(site, part, (side * FENCE, side * (FENCE + 0.7)), rng.uniform(0.8, 1.6)))
        elif site.chance(0.4):
            fence = (side * FENCE, side * (FENCE + 0.25))
            shapes.append(site.block(part, fence, (-0.2, rng.uniform(0.5, 1.0)), FACADE))
    for _ in range(rng.integers(1, 4)):
        shapes += bush(site, rng.uniform(*lot), side * rng.uniform(FENCE + 0.9, setback - 0.3))
    return shapes


def _passage(site: Site, gap: Span, side: int) -> list[Shape]:
    """Bushes, perhaps a wall, and a hedge at the far end of an opening between houses."""
    rng = site.rng
    shapes: list[Shape] = [hedge(site, gap, (side * 13.6, side * 14.8), rng.uniform(1.4, 2.4))]
    if site.chance(0.5):
        shapes.append(site.block(gap, (side * 9.5, side * 9.75), (-0.2, rng.uniform(0.7, 1.6)), FACADE))
    for _ in range(rng.integers(1, 4)):
        shapes += bush(site, rng.uniform(*gap), side * rng.uniform(9.8, 13))
    return shapes
