"""The size of cells against a plain median of blends, and all that must not change it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.datasets import generate_street
from pinvgcn.features import geometry as module
from pinvgcn.features.geometry import ASKED, cell_of, cell_size, drawn, lattice_for
from pinvgcn.features.lattice import Lattice

STREET = generate_street(6_000, random_state=0).X


def masses(places: np.ndarray, cloud: np.ndarray, size: float) -> np.ndarray:
    """Points in the blend of the eight cells around each place."""
    cell = np.floor(cloud / size)
    found = []
    for x in places:
        corner = np.floor(x / size + 0.5)
        t = x / size + 0.5 - corner
        step = cell - (corner - 1)
        weight = np.where(step == 1, t, np.where(step == 0, 1 - t, 0)).prod(axis=1)
        found.append(weight.sum())
    return np.array(found)


def by_hand(cloud: np.ndarray, enough: int = 8) -> float:
    """The smallest power of two at which the median place has enough."""
    places = np.unique(cloud, axis=0)
    sizes = [2.0**exponent for exponent in range(-12, 12)]
    return next(size for size in sizes if np.median(masses(places, cloud, size)) >= enough)


def plane(spacing: float, n: int = 20) -> np.ndarray:
    a, b = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n)))
    return np.column_stack([a, b, np.zeros(n * n)]) * spacing


class TestBruteForce:
    @pytest.mark.parametrize("spacing", [0.0625, 0.3, 1.0, 1.7, 40.0])
    @pytest.mark.parametrize("offset", [[0, 0, 0], [3.3, -50, 0.4]])
    def test_a_plane(self, spacing, offset):
        points = plane(spacing) + np.array(offset) * spacing
        assert cell_of(points) == by_hand(points)

    def test_a_plane_in_numbers(self):
        """Spacing 1 at z = 0, on the border of cells, where half of a cell above counts: s²/2 points."""
        assert np.median(masses(plane(1.0), plane(1.0), 2.0)) < 8
        assert np.median(masses(plane(1.0), plane(1.0), 4.0)) >= 8
        assert cell_of(plane(1.0)) == 4.0
        assert cell_of(plane(1.0) + np.array([0, 0, 2.0])) == 4.0

    @pytest.mark.parametrize("enough", [3, 8, 20])
    def test_clouds_at_random(self, enough):
        rng = np.random.default_rng(enough)
        for scale in ([1, 1, 1], [9, 9, 0.1], [100, 1, 1]):
            points = rng.random((400, 3)) * scale
            assert cell_size([points].copy, len(points), enough=enough) == by_hand(points, enough)

    def test_a_line(self):
        points = np.column_stack([np.arange(300) * 0.5, np.zeros((300, 2))])
        assert cell_of(points) == by_hand(points) == 16.0

    def test_duplicates_count_as_points_but_are_asked_once(self):
        points = np.repeat(plane(1.0), 5, axis=0)
        assert cell_of(points) == by_hand(points) == 2.0
        lopsided = np.vstack([plane(1.0), np.tile(plane(1.0)[:1], (1_000, 1))])
        assert cell_of(lopsided) == by_hand(lopsided) == 4.0

    def test_a_wrong_guess_is_mended(self):
        """Pairs of clusters: nearest neighbours say far less than the size that is needed, or far more."""
        rng = np.random.default_rng(0)
        centres = np.floor(rng.random((120, 3)) * 4_000) + 0.5
        sevens = np.repeat(centres, 7, axis=0) + rng.random((840, 3)) * 1e-4
        assert cell_of(sevens) == by_hand(sevens, 8)


class TestToTheBit:
    @pytest.mark.parametrize("n", [900, 6_000])
    def test_order_and_pieces(self, n):
        """Of fewer points than are asked, and of more."""
        points = STREET[:n]
        expected = cell_of(points)
        rng = np.random.default_rng(0)
        shuffled = points[rng.permutation(n)]
        assert cell_of(shuffled) == expected
        for cuts in ([1], [n // 2], sorted(rng.integers(0, n, 9))):
            parts = np.split(shuffled, cuts)
            assert cell_size(lambda parts=parts: iter(parts), n) == expected

    @pytest.mark.parametrize("n", [900, 6_000])
    def test_types(self, n):
        single = STREET[:n].astype(np.float32)
        assert cell_of(single) == cell_of(single.astype(float))
        whole = np.round(STREET[:n] * 10).astype(np.int32)
        assert cell_of(whole) == cell_of(whole.astype(float))
        assert cell_of(np.asfortranarray(STREET[:n])) == cell_of(STREET[:n])
        assert cell_of(STREET[:n].tolist()) == cell_of(STREET[:n])

    @given(st.integers(-20, 20), st.integers(0, 3))
    def test_scale(self, exponent, seed):
        points = np.random.default_rng(seed).normal(size=(200, 3)) * [5, 3, 0.2]
        assert cell_of(points * 2.0**exponent) == cell_of(points) * 2.0**exponent

    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_missing_coordinates_are_zero(self, dimensions):
        flat = STREET * (np.arange(3) < dimensions)
        assert cell_of(STREET[:, :dimensions]) == cell_of(flat)


class TestDrawn:
    def test_about_as_many_as_wanted_by_coordinates_alone(self):
        points = np.random.default_rng(0).random((50_000, 3))
        mask = drawn(points, len(points))
        assert abs(mask.sum() - ASKED) < 4 * math.sqrt(ASKED)
        order = np.random.default_rng(1).permutation(len(points))
        np.testing.assert_array_equal(drawn(points[order], len(points)), mask[order])
        np.testing.assert_array_equal(drawn(points[:99], len(points)), mask[:99])

    def test_all_where_there_are_few(self):
        assert drawn(STREET[:100], ASKED).all()

    def test_on_a_grid(self):
        """Coordinates with few bits are drawn evenly, too."""
        points = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
        mask = drawn(points, len(points))
        assert 0.5 * ASKED < mask.sum() < 2 * ASKED
        for axis in range(3):
            counts = np.bincount(points[mask, axis].astype(int), minlength=40)
            assert counts.min() > 0.2 * counts.mean()

    def test_zero_has_one_sign(self):
        points = np.round(STREET)
        negative = np.where(points == 0, -0.0, points)
        assert cell_of(points) == cell_of(negative)


class TestOddClouds:
    @pytest.mark.parametrize("n", [1, 2, 9, 100, 9_000])
    @pytest.mark.parametrize("at", [0.0, 5e6])
    def test_one_place(self, n, at):
        assert cell_of(np.full((n, 3), at)) == 1.0

    def test_two_points(self):
        """Their distance, to a power of two."""
        assert cell_of(np.array([[0.0, 0, 0], [3, 4, 0]])) == 4.0
        assert cell_of(np.array([[1e6, 0, 0], [1e6 + 1, 0, 0]])) == 1.0

    @pytest.mark.parametrize("n", range(2, 66, 7))
    def test_fewer_points_than_a_blend_needs(self, n):
        """Far away from a place only an eighth of 63 points counts: the search ends all the same."""
        points = np.random.default_rng(n).normal(size=(n, 3))
        assert 0.25 <= cell_of(points) <= 8

    def test_most_points_in_one_place(self):
        """Returns without an echo, at the origin: the size is that of the rest."""
        for n in (2_000, 6_000):
            rest = STREET[:n]
            points = np.vstack([np.zeros((2 * n, 3)), rest])
            assert cell_of(points) in (cell_of(rest) / 2, cell_of(rest))

    def test_every_place_eight_times(self):
        """No size is small enough; a guess by the spacing, of about one or two steps of the grid."""
        points = np.repeat(plane(1.0), 8, axis=0)
        assert 0.25 <= cell_of(points) <= 4

    def test_a_stray_point(self):
        for far in (1e7, 1e30, 1e300):
            assert cell_of(np.vstack([STREET, [[far, -far, far]]])) == cell_of(STREET)

    @pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
    def test_absurd_units(self, scale):
        """Whatever comes out, a lattice takes it."""
        for n in (3, 30, 500):
            lattice = lattice_for(STREET[:n] / np.abs(STREET).max() * scale)
            assert isinstance(lattice, Lattice)

    def test_how_often_a_cloud_is_read(self):
        """Twice."""
        read = []

        def pieces():
            read.append(1)
            yield STREET

        cell_size(pieces, len(STREET))
        assert len(read) == 2

    def test_the_search_is_bounded(self):
        read = []

        def pieces():
            read.append(1)
            yield np.repeat(plane(1.0), 8, axis=0)

        cell_size(pieces, 3_200)
        assert len(read) <= 2 + module.AWAY // (module.TRIED - 1)


@pytest.mark.parametrize("often", [2, 10, 18, 20, 50])
def test_many_points_in_each_place(often):
    """Places that all have as many points: the cell shrinks by the root of their number at most."""
    places = np.random.default_rng(0).uniform(0, 100, (3_000, 3)) * [1, 1, 0] + [412_000.0, 5_654_000.0, 0]
    once, several = cell_of(places), cell_of(np.repeat(places, often, axis=0))
    assert once / np.sqrt(often) / 2 <= several <= once
