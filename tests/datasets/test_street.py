"""The generated street: its beams meet shapes where they should, and it looks like a scan."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from sklearn.tree import DecisionTreeClassifier

from pinvgcn.datasets import generate_street
from pinvgcn.datasets.street.scanner import Profiles, scan
from pinvgcn.datasets.street.scene import build_scene
from pinvgcn.datasets.street.shapes import (
    FACADE,
    GROUND,
    NOTHING,
    POLE,
    VEGETATION,
    WIRE,
    Clump,
    Cuboid,
    Ground,
    Rod,
    Wall,
)
from pinvgcn.errors import ParameterError

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def street():
    return generate_street(30_000)


@pytest.fixture(scope="module")
def dense_street():
    return generate_street(100_000)


# -- as a data set -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1_000, 12_345, 70_000])
def test_it_has_exactly_n_points(n):
    data = generate_street(n)
    assert data.X.shape == (n, 3)
    assert data.y.shape == (n,)
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert np.isfinite(data.X).all()
    assert set(data.y) == set(range(5))


def test_equal_seeds_give_equal_streets_and_others_differ(street):
    again = generate_street(30_000, random_state=np.random.default_rng(0))
    assert np.array_equal(street.X, again.X)
    assert np.array_equal(street.y, again.y)
    assert not np.array_equal(street.X, generate_street(30_000, random_state=1).X)


def test_more_points_are_a_denser_scan_of_the_same_street(street, dense_street):
    dense = dense_street
    for label in (POLE, FACADE):
        near, _ = cKDTree(dense.X[dense.y == label]).query(street.X[street.y == label])
        assert np.quantile(near, 0.9) < 0.5


@pytest.mark.parametrize("n", [999, 0, -5, 2.5e4, "many", None])
def test_too_few_points_are_refused(n):
    with pytest.raises(ParameterError, match="n must be a whole number, 1000 or more"):
        generate_street(n)


@pytest.mark.parametrize("seed", range(3))
def test_classes_have_realistic_shares_and_the_street_its_extent(seed):
    data = generate_street(20_000, random_state=seed)
    shares = dict(zip(data.target_names, np.bincount(data.y) / len(data.y), strict=True))
    assert 0.008 < shares["wire"] < 0.025
    assert 0.015 < shares["pole"] < 0.035
    assert 0.40 < shares["ground"] < 0.55
    assert 0.17 < shares["facade"] < 0.33
    assert 0.18 < shares["vegetation"] < 0.34
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    assert 0 <= low[0] < 0.5
    assert 99.5 < high[0] <= 100
    assert -15 <= low[1] < -10
    assert 10 < high[1] <= 15
    assert 9 < high[2] - low[2] < 16


def test_height_alone_does_not_separate_the_classes(street):
    tree = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(street.X[:, 2:], street.y)
    assert tree.score(street.X[:, 2:], street.y) < 0.8


def test_density_falls_with_the_distance_from_the_path(street):
    road = street.X[street.y == GROUND]
    counts = [np.sum((road[:, 1] > y) & (road[:, 1] < y + 1)) for y in (1, 3, 6)]
    assert counts[0] > 1.5 * counts[1] > 2 * counts[2]


def test_nothing_lies_behind_a_front(street):
    """In every metre of the street, façade points end the view: few points lie beyond the deepest."""
    X, facade = street.X, street.y == FACADE
    left = X[:, 1] > 0
    behind = total = 0
    for x in range(100):
        here = left & (X[:, 0] >= x) & (X[:, 0] < x + 1)
        if (here & facade).sum() > 20:
            deepest = X[here & facade, 1].max()
            behind += np.sum(X[here & ~facade, 1] > deepest + 0.3)
            total += here.sum()
    assert total > 5_000
    assert behind < 0.005 * total


def test_wires_run_through_trees_and_end_at_fronts(dense_street):
    data = dense_street
    wire = data.X[data.y == WIRE]
    to_leaf, _ = cKDTree(data.X[data.y == VEGETATION]).query(wire)
    to_front, _ = cKDTree(data.X[data.y == FACADE]).query(wire)
    assert (to_leaf < 0.5).sum() > 20
    assert (to_front < 0.5).sum() > 5


# -- as a measurement ----------------------------------------------------------------------------------


def test_what_stands_in_the_street_casts_shadows():
    """Without trees and poles the same scan sees more of the fronts; without cars, the ground they hide."""
    scene = build_scene(np.random.default_rng(5))
    cars = [s for s in scene.shapes if isinstance(s, Cuboid) and s.label == NOTHING and s.depth == 0]
    assert cars

    def seen(*hidden: int) -> tuple[np.ndarray, np.ndarray]:
        shapes = tuple(s for s in scene.shapes if s.label not in hidden)
        return scan(dataclasses.replace(scene, shapes=shapes), 15_000, np.random.default_rng(0))

    def ground_under_cars(points: np.ndarray, labels: np.ndarray) -> int:
        """Ground points where no beam gets under a car: far from the road and from both of its ends."""
        ground = points[labels == GROUND]
        under = np.zeros(len(ground), dtype=bool)
        for car in cars:
            low, high = car.low[:2] - [-1, 0], car.high[:2] - [1, 0]
            middle = (low[1] + high[1]) / 2
            (low if middle > 0 else high)[1] = middle
            under |= ((ground[:, :2] > low) & (ground[:, :2] < high)).all(axis=1)
        return int(under.sum())

    full, without_cars, bare = seen(), seen(NOTHING), seen(NOTHING, VEGETATION, POLE, WIRE)
    assert ground_under_cars(*without_cars) > 100
    assert ground_under_cars(*full) == 0
    assert (bare[1] == FACADE).mean() > (full[1] == FACADE).mean() + 0.02


def test_ground_is_measured_with_a_noise_of_two_centimetres():
    ground = Ground(GROUND, slope=0.02, wave=0.0, banks=(0.0, 0.0))
    scene = dataclasses.replace(build_scene(np.random.default_rng(0)), ground=ground, shapes=(ground,))
    points, _ = scan(scene, 20_000, np.random.default_rng(0))
    near = np.abs(points[:, 1] + 1.7) < 2
    error = points[near, 2] - ground.height(points[near, 0], points[near, 1])
    assert np.abs(error.mean()) < 2e-3
    assert 0.01 < error.std() < 0.025
    kerb = np.abs(np.abs(points[:, 1]) - ground.kerb) < 0.02
    assert kerb.any()


def test_no_beam_that_meets_a_shape_is_left_out():
    """`towards` selects beams to save time; the answer is that of trying all of them."""
    rng = np.random.default_rng(1)
    scene = build_scene(rng)
    turns, beams = 40, 60
    yaw = rng.uniform(-0.6, 0.6, turns)
    right = np.column_stack([np.sin(yaw), np.cos(yaw), np.zeros(turns)])
    forward = np.column_stack([np.cos(yaw), -np.sin(yaw), np.zeros(turns)])
    up = 0.5 * forward + [0, 0, np.sqrt(0.75)]
    origins = np.column_stack([rng.uniform(0, 100, turns), rng.uniform(-3, 0, turns), np.full(turns, 3.0)])
    profiles = Profiles(origins, right, up, rng.uniform(0, 6, turns), beams)
    everything = profiles.directions.reshape(-1, 3), np.repeat(origins, beams, axis=0)
    for shape in scene.shapes[1::7]:
        if getattr(shape, "depth", 0):
            shape = dataclasses.replace(shape, depth=1e-9)  # leaves as a surface: no chance involved
        met = np.isfinite(shape.distance(everything[1], everything[0], rng)).reshape(turns, beams)
        chosen = np.zeros_like(met)
        some_turns, some_beams = profiles.towards(shape)
        chosen[some_turns[:, None], some_beams] = True
        assert not (met & ~chosen).any()


# -- shapes --------------------------------------------------------------------------------------------

coordinate = st.floats(-4, 4).filter(lambda v: abs(v) > 1e-3)


@given(st.tuples(coordinate, coordinate, coordinate), st.tuples(coordinate, coordinate, coordinate))
def test_solid_shapes_are_met_on_their_surface(place, aim):
    """A beam from outside towards a point within ends where the surface is, not before or behind it."""
    centre = np.array([20.0, 0, 0]) + place
    inside = centre + 0.05 * np.array(aim)
    origin = np.zeros((1, 3))
    direction = inside[None] / np.linalg.norm(inside)
    box = Cuboid(centre - 1, centre + 1, FACADE)
    t = box.distance(origin, direction, RNG)[0]
    assert np.abs(t * direction[0] - centre).max() == pytest.approx(1, abs=1e-9)
    half = np.array([0, 0, 3])
    rod = Rod(centre - half, centre + half, 0.5, POLE)
    t = rod.distance(origin, direction, RNG)[0]
    assert np.hypot(*(t * direction[0] - centre)[:2]) == pytest.approx(0.5, abs=1e-9)
    clump = Clump(centre, np.array([1.0, 2.0, 0.7]), VEGETATION, depth=1e-9)
    t = clump.distance(origin, direction, RNG)[0]
    assert np.linalg.norm((t * direction[0] - centre) / clump.axes) == pytest.approx(1, abs=1e-6)


def test_beams_away_from_a_shape_or_past_it_miss():
    origins = np.zeros((3, 3))
    directions = np.array([[-1.0, 0, 0], [0, 1, 0], [0.8, 0.6, 0]])
    low, high = np.array([4.0, -1, -1]), np.array([6.0, 1, 1])
    shapes = [
        Cuboid(low, high, FACADE),
        Clump(np.array([5.0, 0, 0]), np.ones(3), VEGETATION, 0.1),
        Rod(np.array([5.0, 0, -1]), np.array([5.0, 0, 1]), 0.2, POLE),
        Wall(np.array([4.0, -1, -1]), np.array([6.0, -1, 1]), FACADE, 1.0, 1.0),
    ]
    for shape in shapes:
        assert np.isinf(shape.distance(origins, directions, RNG)).all()


def test_leaves_stop_beams_after_their_depth_in_the_mean():
    n = 40_000
    origins, directions = np.zeros((n, 3)), np.tile([1.0, 0, 0], (n, 1))
    hedge = Cuboid(np.array([2.0, -1, -1]), np.array([3.0, 1, 1]), VEGETATION, depth=0.5)
    met = hedge.distance(origins, directions, RNG)
    assert np.isinf(met).mean() == pytest.approx(np.exp(-2), abs=0.01)
    stopped = met[np.isfinite(met)]
    assert stopped.min() >= 2
    assert stopped.max() <= 3
    assert np.quantile(met, 0.5) == pytest.approx(2 + 0.5 * np.log(2), abs=0.01)


def test_a_wall_has_windows():
    wall = Wall(np.array([0.0, 8, 0]), np.array([10.0, 8, 6]), FACADE, spacing=2.0, storey=3.0)
    x, z = np.meshgrid(np.linspace(0.005, 9.995, 500), np.linspace(0.005, 5.995, 300))
    targets = np.column_stack([x.ravel(), np.full(x.size, 8.0), z.ravel()])
    origin = np.array([5.0, 0, 2])
    distance = np.linalg.norm(targets - origin, axis=1)
    met = wall.distance(np.tile(origin, (x.size, 1)), (targets - origin) / distance[:, None], RNG)
    hit = np.isfinite(met)
    assert np.allclose(met[hit], distance[hit])
    assert 1 - hit.mean() == pytest.approx(0.45 * 0.5, abs=0.01)


def test_the_ground_is_met_where_it_is():
    ground = Ground(GROUND, slope=0.02, wave=1.0, banks=(-0.3, 0.5))
    rng = np.random.default_rng(0)
    origins = np.tile([50.0, -1.7, 3.0], (5_000, 1))
    targets = np.column_stack([rng.uniform(40, 60, 5_000), rng.uniform(-13, 13, 5_000)])
    targets = np.column_stack([targets, ground.height(*targets.T)])
    directions = targets - origins
    length = np.linalg.norm(directions, axis=1)
    met = ground.distance(origins, directions / length[:, None], rng)
    reached = origins + met[:, None] * directions / length[:, None]
    off = reached[:, 2] - ground.height(reached[:, 0], reached[:, 1])
    edge = np.abs(np.abs(reached[:, 1]) - ground.kerb) < 1e-6  # the face of the kerb: between two levels
    assert np.abs(off[~edge]).max() < 2e-3
    assert (np.abs(off[edge]) <= ground.step + 1e-6).all()
    assert edge.mean() < 0.05
    assert np.isinf(ground.distance(origins[:1], np.array([[0.0, 0.6, 0.8]]), rng)).all()
