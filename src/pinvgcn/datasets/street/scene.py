"""The whole street, put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.datasets.street.houses import houses
from pinvgcn.datasets.street.plants import park, street_trees
from pinvgcn.datasets.street.poles import gantry, lamps, signs, utility_line
from pinvgcn.datasets.street.shapes import Ground, Shape
from pinvgcn.datasets.street.site import GROUND, LEFT, LENGTH, MARGIN, NOTHING, RIGHT, Site


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
