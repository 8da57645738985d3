"""Shapes and means over several processes are those of one with all points, and little travels."""

from __future__ import annotations

import numpy as np
import pytest
from ranks import SIZES, shares

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.features.averages import Averages
from pinvgcn.features.exchange import averages_of_all, pyramid_of_all
from pinvgcn.features.geometry import cell_of, lattice_for
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import Pyramid

KINDS = ("even", "uneven", "empty")
CELL = 1.0


def grid(n: int) -> np.ndarray:
    """Coordinates rounded to tenths, on both sides of zero; some points at the same place."""
    return np.round(np.random.default_rng(3).uniform(-9, 9, size=(n, 3)) * [1, 1, 0.3], 1)


def shared(process_group, points, values, lattice, kind):
    """Shapes and means at the points of this process, and what was sent for each."""
    group = Group.of(process_group)
    mine = shares(len(points), group.size, kind)[group.rank]
    own = points[mine]
    shapes = pyramid_of_all(Pyramid.of(own, lattice), own, group).shapes(own)
    middle = group.sent
    means = averages_of_all(Averages.of(own, values[mine], CELL), own, group).at(own, values[mine])
    return shapes, means, middle, group.sent


def check(ranks, points, size, kind, lattice=Lattice(0.5)):  # noqa: B008
    """To the bit; gives the bytes that all processes sent, for shapes and for means."""
    values = np.random.default_rng(4).random((len(points), 2))
    found = [shared(None, points, values, lattice, kind)] if size == 1 else None
    found = found or ranks.run(size, shared, points, values, lattice, kind)
    shapes, means = (np.concatenate([one[i] for one in found]) for i in (0, 1))
    np.testing.assert_array_equal(shapes, Pyramid.of(points, lattice).shapes(points))
    np.testing.assert_array_equal(means, Averages.of(points, values, CELL).at(points, values))
    return sum(one[2] for one in found), sum(one[3] - one[2] for one in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, *SIZES])
def test_shares_that_overlap(ranks, size, kind):
    """Every process has points everywhere."""
    check(ranks, grid(1_500), size, kind)


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("size", SIZES)
def test_tiles(ranks, size, axis):
    """Strips and layers of a cloud, with a point far away."""
    points = grid(2_000)
    points[5] += 5_000
    check(ranks, points[np.argsort(points[:, axis], kind="stable")], size, "even", Lattice(0.25, 3))


def test_heights_in_plan_are_those_of_all_processes(ranks):
    """A wire 300 m above the ground, each with a process of its own."""
    ground = grid(600) * [1, 1, 0]
    wire = grid(600) * [1, 0.01, 0] + [0, 0, 300]
    check(ranks, np.vstack([ground, wire]), 2, "even", Lattice(0.5, 4))


@pytest.mark.parametrize("n", [1, 3, 7])
def test_fewer_points_than_processes(ranks, n):
    check(ranks, grid(n), 4, "uneven")


def test_little_travels_between_tiles(ranks):
    """Two halves of a street far longer than the margin: a strip between them, not the cloud."""
    points = np.random.default_rng(6).uniform(0, 1, size=(20_000, 3)) * [2_000, 10, 1]
    points = points[np.argsort(points[:, 0])]
    lattice = Lattice(1.0)
    for_shapes, for_means = check(ranks, points, 2, "even", lattice)
    row = 15 * 8  # a cell: its key, ten sums, lowest and highest
    cells = Pyramid.of(points, lattice).finest
    assert len(cells.keys) > 10_000
    assert for_shapes < 0.05 * len(cells.keys) * row
    assert for_means < 0.1 * points.nbytes


def sizes(process_group, points, kind):
    group = Group.of(process_group)
    return lattice_for(points[shares(len(points), group.size, kind)[group.rank]], group=group)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_the_cells_are_those_of_the_whole_cloud(ranks, size, kind):
    """Of more points than are asked, and of few."""
    for n in (40, 6_000):
        points = grid(n)
        assert ranks.run(size, sizes, points, kind) == [Lattice(cell_of(points) / 2)] * size


def test_alone():
    points = grid(50)
    own, means = Pyramid.of(points, Lattice(0.5)), Averages.of(points, np.ones((50, 1)), CELL)
    assert pyramid_of_all(own, points, ALONE) is own
    assert averages_of_all(means, points, ALONE) is means
