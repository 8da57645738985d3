"""Means by cells against a plain loop, and all that must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features import averages as module
from pinvgcn.features.averages import ONE, Averages, context_width

GRIDS = arrays(np.int64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=st.integers(-9, 9)).map(
    lambda grid: grid / 8
)


def values_of(points: np.ndarray, columns: int = 2) -> np.ndarray:
    return np.random.default_rng(len(points)).random((len(points), columns))


def by_hand(
    points: np.ndarray, cloud: np.ndarray, values: np.ndarray, cell: float, otherwise: np.ndarray
) -> np.ndarray:
    """Point after point: the weight of a point of the cloud is that of its cell. Larger cells fill up what
    smaller ones lack of three points; the largest count for all that is missing."""
    found = []
    for x, kept in zip(points, otherwise, strict=True):
        mass, total = 0.0, np.zeros(values.shape[1])
        for side in (cell, 2 * cell, 4 * cell):
            corner = np.floor(x / side + 0.5)
            t = x / side + 0.5 - corner
            step = np.floor(cloud / side) - (corner - 1)
            w = np.where(step == 1, t, np.where(step == 0, 1 - t, 0)).prod(axis=1)
            # missing coordinates are 0, on the border of two cells: one of them counts
            w = w / 2 ** (3 - points.shape[1])
            if w.sum() > 0 and mass < 3:
                used = 3 - mass if side == 4 * cell else min(3 - mass, w.sum())
                mass, total = mass + used, total + used * (w @ values) / w.sum()
        found.append(total / mass if mass > 0 else kept)
    return np.array(found)


class TestLoop:
    @given(GRIDS, st.sampled_from([0.25, 0.5, 2.0]))
    def test_at_the_points_themselves(self, cloud, cell):
        values = values_of(cloud)
        found = Averages.of(cloud, values, cell).at(cloud, values)
        np.testing.assert_allclose(found, by_hand(cloud, cloud, values, cell, values), atol=1e-6)

    @pytest.mark.parametrize("dimensions", [1, 2, 3])
    def test_at_other_points(self, dimensions):
        """Some of which have nothing around them."""
        rng = np.random.default_rng(dimensions)
        cloud = np.round(rng.normal(size=(300, dimensions)) * 2048) / 1024
        new = np.round(rng.normal(size=(200, dimensions)) * 8192) / 1024
        values, otherwise = values_of(cloud, 3), rng.random((200, 3))
        found = Averages.of(cloud, values, 0.5).at(new, otherwise)
        expected = by_hand(new, cloud, values, 0.5, otherwise)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        alone = (expected == otherwise).all(axis=1)
        assert 10 < alone.sum() < 190
        np.testing.assert_array_equal(found[alone], otherwise[alone])

    def test_at_map_coordinates(self):
        rng = np.random.default_rng(0)
        cloud = np.round(rng.random((300, 3)) * [20, 20, 3] + [412_345, 5_654_321, 230], 3)
        values = values_of(cloud)
        found = Averages.of(cloud, values, 2.0).at(cloud, values)
        np.testing.assert_allclose(found, by_hand(cloud, cloud, values, 2.0, values), atol=2e-6)

    def test_a_far_stray(self):
        cloud = np.vstack([np.random.default_rng(0).random((50, 3)), [[1e7, 1e7, -1e7]]])
        values = values_of(cloud)
        found = Averages.of(cloud, values, 0.5).at(cloud, values)
        expected = Averages.of(cloud[:-1], values[:-1], 0.5).at(cloud[:-1], values[:-1])
        np.testing.assert_array_equal(found[:-1], expected)
        np.testing.assert_allclose(found[-1], values[-1], rtol=0, atol=0.5 / ONE)


class TestValues:
    def test_zero_and_one_stay(self):
        """A mean of ones is one and of zeros zero, so that means may be averaged again."""
        cloud = np.random.default_rng(0).random((500, 3)) * 3
        values = np.tile([0.0, 1.0], (500, 1))
        found = Averages.of(cloud, values, 0.25).at(cloud, values)
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-12)
        assert found.max() <= 1

    def test_means_stay_in_range_over_many_rounds(self):
        cloud = np.random.default_rng(0).random((500, 3)) * 3
        values = np.random.default_rng(1).dirichlet([0.1, 0.1, 0.1], 500)
        for _ in range(20):
            values = Averages.of(cloud, values, 0.5).at(cloud, values)
            assert values.min() >= 0
            assert values.max() <= 1
            np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-4)

    def test_rounded_to_the_nearest(self):
        """Values of points that are alone."""
        cloud = np.arange(300.0)[:, None] * 50
        values = values_of(cloud)
        found = Averages.of(cloud, values, 1.0).at(cloud, values)
        np.testing.assert_allclose(found, values, rtol=0, atol=0.5 / ONE)

    def test_otherwise_is_not_changed(self):
        cloud = np.zeros((3, 3))
        otherwise = np.full((3, 1), 0.25)
        found = Averages.of(cloud, np.ones((3, 1)), 1.0).at(cloud, otherwise)
        assert (found == 1).all()
        assert (otherwise == 0.25).all()

    @pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, 7.0])
    def test_outside_of_zero_to_one(self, value):
        values = np.full((5, 2), 0.5)
        values[3, 1] = value
        with pytest.raises(DataError, match=r"values must be from 0 to 1\. Got .* instead"):
            Averages.of(np.zeros((5, 3)), values, 1.0)

    def test_refusals(self):
        points = np.zeros((5, 3))
        with pytest.raises(
            DataError, match=r"values must have one row for each of the 5 points\. Got 4 rows"
        ):
            Averages.of(points, np.ones((4, 1)), 1.0)
        with pytest.raises(DataError, match="values must be finite"):
            Averages.of(points, np.full((5, 1), np.nan), 1.0)
        with pytest.raises(DataError, match=r"points must have three coordinates at most\. Got 4"):
            Averages.of(np.zeros((5, 4)), np.ones((5, 1)), 1.0)
        with pytest.raises(ParameterError, match="cell must be a power of two"):
            Averages.of(points, np.ones((5, 1)), 0.3)
        with pytest.raises(DataError, match=r"coordinates below 1\.71799e\+10 for cells of 1\. Got 1e\+11"):
            Averages.of(points + 1e11, np.ones((5, 1)), 1.0)


class TestToTheBit:
    @given(GRIDS, st.randoms(use_true_random=False))
    def test_order_and_parts(self, cloud, random):
        values = values_of(cloud)
        expected = Averages.of(cloud, values, 0.5).at(cloud, values)
        order = random.sample(range(len(cloud)), len(cloud))
        mixed, beside = cloud[order], values[order]
        np.testing.assert_array_equal(Averages.of(mixed, beside, 0.5).at(mixed, beside), expected[order])
        cuts = sorted(random.choices(range(len(cloud) + 1), k=2))
        pairs = zip(np.split(mixed, cuts), np.split(beside, cuts), strict=True)
        parts = [Averages.of(some, known, 0.5) for some, known in pairs]
        np.testing.assert_array_equal(Averages.sum(parts).at(cloud, values), expected)
        np.testing.assert_array_equal(Averages.sum(parts[::-1]).at(cloud, values), expected)

    def test_chunks_and_a_shift_by_cells(self, monkeypatch):
        cloud = np.random.default_rng(0).integers(-900, 900, size=(700, 3)) / 256
        values = values_of(cloud)
        expected = Averages.of(cloud, values, 0.5).at(cloud, values)
        moved = cloud + np.array([4096.0, -78.0, 1024.0])
        np.testing.assert_array_equal(Averages.of(moved, values, 0.5).at(moved, values), expected)
        monkeypatch.setattr(module, "CHUNK", 11)
        np.testing.assert_array_equal(Averages.of(cloud, values, 0.5).at(cloud, values), expected)

    def test_state(self):
        cloud = np.random.default_rng(0).normal(size=(200, 3))
        values = values_of(cloud)
        whole = Averages.of(cloud, values, 0.5)
        expected = whole.at(cloud, values)
        np.testing.assert_array_equal(Averages.from_state(0.5, whole.state()).at(cloud, values), expected)
        halves = [Averages.of(cloud[some], values[some], 0.5).state() for some in np.split(np.arange(200), 2)]
        both = {name: np.concatenate([half[name] for half in halves]) for name in halves[0]}
        np.testing.assert_array_equal(Averages.from_state(0.5, both).at(cloud, values), expected)


class TestContext:
    """Means at each size of cells apart, and over whole columns."""

    def test_by_hand(self):
        """Each of the eight cells around a point counts by its share, whatever the others hold."""
        rng = np.random.default_rng(5)
        cloud, values = rng.normal(size=(300, 3)) * 3, rng.random((300, 2))
        new, otherwise = rng.normal(size=(20, 3)) * 4, rng.random((20, 2))
        found = Averages.of(cloud, values, 0.5, levels=4).context(new, otherwise)
        assert found.shape == (20, context_width(4) * 2) == (20, 6 * 2)
        sizes = [(0.5 * 2**level, 3) for level in range(4)] + [(0.5, 2), (2.0, 2)]
        for number, (side, axes) in enumerate(sizes):
            for row, point in enumerate(new):
                cells = np.floor(cloud / side)[:, :axes]
                lag = np.abs(point[:axes] / side - (cells + 0.5))
                weight = np.prod(np.maximum(1 - lag, 0), axis=1)
                mean = weight @ values / weight.sum() if weight.sum() > 0 else otherwise[row]
                np.testing.assert_allclose(found[row, 2 * number : 2 * number + 2], mean, atol=1e-5)

    def test_it_does_not_depend_on_order_or_parts(self):
        rng = np.random.default_rng(6)
        cloud, values = rng.normal(size=(200, 3)), rng.random((200, 3))
        whole = Averages.of(cloud, values, 0.25, levels=5)
        expected = whole.context(cloud, values)
        order = rng.permutation(200)
        mixed = Averages.of(cloud[order], values[order], 0.25, levels=5)
        np.testing.assert_array_equal(mixed.context(cloud[order], values[order]), expected[order])
        parts = [Averages.of(cloud[s], values[s], 0.25, levels=5) for s in (slice(90), slice(90, None))]
        np.testing.assert_array_equal(Averages.sum(parts).context(cloud, values), expected)
        again = Averages.from_state(0.25, whole.state(), levels=5)
        np.testing.assert_array_equal(again.context(cloud, values), expected)
