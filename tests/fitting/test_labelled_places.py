"""Where the place of a point counts: against distances to all labels and sets of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.datasets import generate_street
from pinvgcn.features.lattice import Lattice
from pinvgcn.fitting.scan import COVERED, LabelledPlaces

RNG = np.random.default_rng(0)
STREET = generate_street(3_000, random_state=0).X
LABELS = STREET[RNG.permutation(len(STREET))[:12]]
LATTICE = Lattice(0.5, 5)
HELD = RNG.random(40) * 8  # distances of held-out labels
AROUND = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def cells_of(points: np.ndarray, size: float) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.floor(points / size).tolist()]


def level_by_hand(points: np.ndarray, lattice: Lattice) -> int:
    """The first at which 98 of 100 points share their cell, the coarsest if there is none."""
    for level in range(lattice.levels):
        cells = cells_of(points, lattice.cell * 2**level)
        counts = {cell: cells.count(cell) for cell in set(cells)}
        if np.mean([counts[cell] > 1 for cell in cells]) >= COVERED:
            return level
    return lattice.levels - 1


def inside_by_hand(points: np.ndarray, cloud: np.ndarray, size: float) -> np.ndarray:
    """Whether a point of the cloud is in one of the eight cells around: half a cell away along each axis."""
    there = set(cells_of(cloud, size))
    return np.array([any(cell in there for cell in cells_of(x + AROUND * size, size)) for x in points])


def trust_by_hand(points: np.ndarray, places: LabelledPlaces, cloud: np.ndarray) -> np.ndarray:
    d = np.linalg.norm(points[:, None] - places.points[None], axis=2).min(axis=1)
    phi = np.minimum(1, np.sqrt(places.reach / np.maximum(d, 1e-300)))
    return phi * inside_by_hand(points, cloud, places.lattice.cell * 2**places.level)


# multiples of 2⁻¹⁰: cells are decided without rounding
CLOUD = np.round(STREET * 1024) / 1024
PLACES = LabelledPlaces.of(LABELS, HELD, CLOUD, LATTICE)
NEW = np.round(
    np.vstack([STREET[:300] + RNG.normal(size=(300, 3)) * 3, RNG.uniform(-60, 160, size=(200, 3))]) * 1024
) / 1024  # fmt: skip


def test_it_is_what_the_formula_says():
    expected = trust_by_hand(NEW, PLACES, CLOUD)
    assert 0.1 < (expected == 0).mean() < 0.9
    assert ((expected > 0) & (expected < 1)).any()
    np.testing.assert_allclose(PLACES.trust(NEW), expected, atol=1e-12)
    np.testing.assert_array_equal(PLACES.trust(NEW) == 0, expected == 0)


def test_distances_are_those_to_the_nearest_label():
    expected = np.linalg.norm(NEW[:, None] - LABELS[None], axis=2).min(axis=1)
    np.testing.assert_allclose(PLACES.distances(NEW), expected, atol=1e-12)
    assert PLACES.distances(NEW[:0]).shape == PLACES.trust(NEW[:0]).shape == (0,)


def test_points_of_training_are_inside():
    trust = PLACES.trust(CLOUD)
    assert trust.min() > 0
    np.testing.assert_allclose(trust, trust_by_hand(CLOUD, PLACES, CLOUD), atol=1e-12)


def test_labels_are_trusted_and_the_farther_the_less():
    assert (PLACES.trust(LABELS) == 1).all()
    order = np.argsort(PLACES.distances(CLOUD))
    trust = PLACES.trust(CLOUD)[order]
    assert (np.diff(trust) <= 1e-12).all()
    near = PLACES.distances(CLOUD)[order] <= PLACES.reach
    assert (trust[near] == 1).all()
    assert (trust[~near] < 1).all()


def test_the_reach_is_a_quantile_of_held_out_distances():
    assert PLACES.reach == np.quantile(HELD, 0.9)
    unknown = LabelledPlaces.of(LABELS, HELD[:0], CLOUD, LATTICE)
    assert unknown.reach == 1e30
    np.testing.assert_array_equal(unknown.trust(NEW), inside_by_hand(NEW, CLOUD, 0.5 * 2**unknown.level))


@pytest.mark.parametrize("reach", [0.0, 1e-300])
def test_a_reach_of_nothing(reach):
    """Labels that lie on each other: the place is trusted over a cell at least."""
    places = LabelledPlaces.of(LABELS, np.full(3, reach), CLOUD, LATTICE)
    assert (places.trust(LABELS) == 1).all()
    trust = places.trust(CLOUD)
    assert np.isfinite(trust).all()
    assert places.reach == LATTICE.cell
    assert (trust[places.distances(CLOUD) <= LATTICE.cell] == 1).all()


@pytest.mark.parametrize("cell", [0.03125, 0.125, 0.5, 2.0, 16.0])
def test_cells_are_the_first_that_most_points_share(cell):
    lattice = Lattice(cell, 5)
    places = LabelledPlaces.of(LABELS, HELD, CLOUD, lattice)
    assert places.level == level_by_hand(CLOUD, lattice)
    keys = {tuple(key) for key in places.cells.tolist()}
    assert keys == set(cells_of(CLOUD, cell * 2**places.level))


@given(st.lists(st.tuples(*[st.integers(-40, 40)] * 3), min_size=1, max_size=30), st.data())
def test_any_cloud(grid, data):
    """On borders of cells, too; a point of the cloud is always inside."""
    cloud = np.array(grid) / 8
    new = np.array(data.draw(st.lists(st.tuples(*[st.integers(-60, 60)] * 3), min_size=1, max_size=9))) / 8
    lattice = Lattice(0.25, 3)
    places = LabelledPlaces.of(cloud[:2], np.ones(1), cloud, lattice)
    assert places.level == level_by_hand(cloud, lattice)
    assert (places.trust(cloud) > 0).all()
    np.testing.assert_allclose(places.trust(new), trust_by_hand(new, places, cloud), atol=1e-12)


def test_a_whole_number_of_cells_away():
    """Far away is outside; there and back is the same."""
    assert (PLACES.trust(NEW + 1024.0) == 0).all()
    np.testing.assert_array_equal(PLACES.trust((NEW + 1024.0) - 1024.0), PLACES.trust(NEW))
