"""The whole street, put together.

Trees, hedges and bushes; lamps, signs and a gantry; utility poles and the wires that hang between them;
houses and what is built onto them or in front of them: all of that is façade, but for the plants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pinvgcn.datasets.street.shapes import (
    FACADE,
    GROUND,
    LEFT,
    LENGTH,
    MARGIN,
    NOTHING,
    POLE,
    RIGHT,
    VEGETATION,
    WIDTH,
    WIRE,
    Clump,
    Cuboid,
    Ground,
    Rod,
    Shape,
    Site,
    Span,
    Wall,
    around,
)


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


@dataclass(frozen=True)
class Scene:
    """Everything a beam can meet; ``ground`` is also the first of ``shapes``."""

    ground: Ground
    shapes: tuple[Shape, ...]


def build_scene(rng: np.random.Generator) -> Scene:
    """A street with houses and gardens on the left, on the right a few houses and then a park."""
    ground = Ground(
        GROUND,
        slope=rng.uniform(0.012, 0.022),
        wave=rng.uniform(0, 2 * np.pi),
        banks=(rng.uniform(-0.4, 0.0), rng.uniform(0.2, 0.6)),
    )
    site = Site(ground, rng)
    shapes: list[Shape] = [ground]
    fronts: list[np.ndarray] = []  # where a wire can be fastened to a house
    end, corner, last_tree = LENGTH + MARGIN, rng.uniform(15, 25), rng.uniform(40, 55)
    for side, last_house in ((LEFT, end), (RIGHT, corner)):
        for house in houses(site, side, last_house):
            shapes += house.shapes
            fronts.append(house.front)
            last_house = house.end
        shapes += street_trees(site, side, min(last_house, last_tree))
        shapes += park(site, side, last_house + 2, end)
        shapes += signs(site, side)
        shapes += parked_cars(site, side)
    shapes += lamps(site)
    shapes += gantry(site, rng.uniform(30, 70))
    shapes += utility_line(site, fronts)
    return Scene(ground, tuple(shapes))


def parked_cars(site: Site, side: int) -> list[Shape]:
    """Cars along the kerb: no class of ours, so they only cast shadows."""
    shapes: list[Shape] = []
    for x in site.places(spacing=6.2, wobble=0.4):
        if site.chance(0.75):
            y = side * 4.2
            shapes.append(site.block((x, x + 4.2), (y - 0.85, y + 0.85), (0.25, 0.85), NOTHING))
            shapes.append(site.block((x + 0.9, x + 3.4), (y - 0.7, y + 0.7), (0.85, 1.45), NOTHING))
    return shapes
