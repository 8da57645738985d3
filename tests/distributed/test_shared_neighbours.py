"""Averages and shapes across ranks are those of the whole cloud, and little travels between tiles."""

from __future__ import annotations

import numpy as np
import pytest
from ranks import SIZES, shares
from scipy.spatial.distance import cdist

from pinvgcn.errors import DataError
from pinvgcn.features import local_average, local_geometry
from pinvgcn.features.spread import Leaves, average_over_ranks, geometry_over_ranks, meet
from pinvgcn.group import ALONE, Group


def grid(n: int) -> np.ndarray:
    """Coordinates rounded to tenths: many points at the same distance, some at the same place."""
    return np.round(np.random.default_rng(3).uniform(0, 12, size=(n, 3)) * [1, 1, 0.3], 1)


def asked(process_group, points, values, kind, k):
    group = Group.of(process_group)
    share = shares(len(points), group.size, kind)[group.rank]
    before = group.sent
    average = average_over_ranks(points[share], values[share], neighbours=k, group=group)
    sent = group.sent - before
    flat = average_over_ranks(points[share, :2], values[share], neighbours=k, group=group)
    return average, flat, geometry_over_ranks(points[share], group=group), sent


def check(ranks, points, size, kind, k=10):
    """Against all rows on one process; returns the bytes that the ranks sent for one average."""
    values = np.random.default_rng(4).random((len(points), 2))
    found = ranks.run(size, asked, points, values, kind, k)
    average, flat, shapes = (np.concatenate([one[i] for one in found]) for i in range(3))
    np.testing.assert_allclose(average, local_average(points, values, neighbours=k), rtol=1e-12)
    np.testing.assert_allclose(flat, local_average(points[:, :2], values, neighbours=k), rtol=1e-12)
    np.testing.assert_allclose(shapes, local_geometry(points), rtol=1e-9, atol=1e-9)
    return sum(one[3] for one in found)


@pytest.mark.parametrize("kind", ["even", "uneven", "empty"])
@pytest.mark.parametrize("size", SIZES)
def test_shares_that_overlap(ranks, size, kind):
    """Every rank has points everywhere."""
    check(ranks, grid(2_000), size, kind)


@pytest.mark.parametrize("size", SIZES)
def test_tiles(ranks, size):
    """Strips of a cloud, one of them with a point far away."""
    points = grid(3_000)
    points = points[np.argsort(points[:, 0], kind="stable")]
    points[-1] += 200
    check(ranks, points, size, "even")


@pytest.mark.parametrize("n", [1, 7, 40, 400])
def test_fewer_points_than_a_neighbourhood(ranks, n):
    """On one rank, or on all together."""
    check(ranks, grid(n), 4, "uneven", k=20)


def test_a_tiny_share_beside_large_ones(ranks):
    """One rank of four with 3 points of 6,000, more than the sample that bounds its reach."""
    points = grid(6_000)
    values = points[:, :1].copy()
    found = ranks.run(
        4, of_slices, points, values, [(0, 2_000), (2_000, 2_003), (2_003, 5_000), (5_000, 6_000)]
    )
    np.testing.assert_allclose(
        np.concatenate(found), local_average(points, values, neighbours=30), rtol=1e-12
    )


def of_slices(process_group, points, values, bounds):
    group = Group.of(process_group)
    mine = slice(*bounds[group.rank])
    return average_over_ranks(points[mine], values[mine], neighbours=30, group=group)


def test_the_formula_itself(ranks):
    """The mean over the k nearest by all distances; random points have no ties."""
    points, values = np.random.default_rng(5).random((2, 300, 3))
    nearest = np.argsort(cdist(points, points), axis=1)[:, :9]
    found = ranks.run(2, asked, points, values, "uneven", 9)
    np.testing.assert_allclose(
        np.concatenate([one[0] for one in found]), values[nearest].mean(axis=1), rtol=1e-12
    )


def test_little_travels_between_tiles(ranks):
    """Two halves of a street far longer than a neighbourhood: a strip between them, not the cloud."""
    points = np.random.default_rng(6).uniform(0, 1, size=(20_000, 3)) * [400, 10, 1]
    points = points[np.argsort(points[:, 0])]
    values = points[:, :1].copy()
    found = ranks.run(2, bytes_sent, points, values)
    np.testing.assert_allclose(np.concatenate([one[0] for one in found]), local_average(points, values))
    boxes = 2 * 256 * 2 * 3 * 8
    assert sum(one[1] for one in found) < boxes + 0.05 * points.nbytes


def bytes_sent(process_group, points, values):
    group = Group.of(process_group)
    share = shares(len(points), group.size, "even")[group.rank]
    return average_over_ranks(points[share], values[share], group=group), group.sent


def refused(process_group, points, values):
    group = Group.of(process_group)
    mine = values if group.rank == 0 else values[:-1]
    with pytest.raises(DataError, match=r"Rank 1: values must have one row for each of the 9 points. Got 8"):
        average_over_ranks(points, mine, group=group)
    with pytest.raises(DataError, match=r"Rank 0: points must have three columns"):
        geometry_over_ranks(points[:, :2], group=group)


def test_every_rank_refuses_what_one_refuses(ranks):
    ranks.run(2, refused, grid(9), np.ones((9, 1)))


def test_alone():
    points = grid(50)
    np.testing.assert_array_equal(geometry_over_ranks(points, group=ALONE), local_geometry(points))
    found = average_over_ranks(points, points, neighbours=3, group=ALONE)
    np.testing.assert_array_equal(found, local_average(points, points, neighbours=3))


def test_leaves_hold_every_point_once():
    points = grid(5_000)
    leaves = Leaves(points)
    assert 128 <= len(leaves.rows) <= 256
    np.testing.assert_array_equal(np.sort(np.concatenate(leaves.rows)), np.arange(5_000))
    boxes = np.array([[[2.0, 3.0, 0.0], [4.0, 5.0, 1.0]], [[9.0, 9.0, -9.0], [10.0, 10.0, np.inf]]])
    expected = ((points >= boxes[:, None, 0]) & (points <= boxes[:, None, 1])).all(axis=2).any(axis=0)
    np.testing.assert_array_equal(leaves.inside(boxes), np.flatnonzero(expected))
    assert meet(boxes, boxes).tolist() == [[True, False], [False, True]]
