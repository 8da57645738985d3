"""Cells and positions against whole numbers of Python and dictionaries."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.compute.compiled import compiled
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features.lattice import BITS, Lattice, find, grouped, in_curve_order, tabulated

CLOSE = st.integers(-3, 3)
ALIASES = st.sampled_from([0, 1, -1, 2**21, 2**21 + 1, -(2**21), 2**22 - 1, 2**42, -(2**42) + 1])
CELLS = arrays(np.int64, st.tuples(st.integers(0, 60), st.just(3)), elements=CLOSE | ALIASES)


@compiled
def found(table, keys, asked):
    rows = np.empty(len(asked), np.int64)
    for i in range(len(asked)):
        rows[i] = find(table, keys, asked[i, 0], asked[i, 1], asked[i, 2])
    return rows


class TestLattice:
    @pytest.mark.parametrize("cell", [0.25, 1.0, 2, 1024.0, 2.0**-60, 2.0**60, np.float32(0.5)])
    @pytest.mark.parametrize("levels", [1, 5, 20])
    def test_powers_of_two(self, cell, levels):
        lattice = Lattice(cell, levels)
        assert lattice.unit * 2**lattice.bits == cell
        assert lattice.unit * 2**BITS == cell * 2 ** (levels - 1)
        assert lattice.margin == 1.5 * cell * 2 ** (levels - 1)

    @pytest.mark.parametrize(
        "cell", [0.3, 3, 0, -1.0, np.nan, np.inf, None, True, "1", 5e-324, 2.0**61, 10**400, 1 + 2**-52]
    )
    def test_nothing_else(self, cell):
        with pytest.raises(ParameterError, match=r"cell must be a power of two .* Got .* instead\."):
            Lattice(cell)

    @pytest.mark.parametrize("levels", [0, -1, 21, 2.0, True, "5", None])
    def test_levels(self, levels):
        with pytest.raises(ParameterError, match=r"levels must be .* Got .* instead\."):
            Lattice(1.0, levels)

    def test_names(self):
        names = Lattice(0.25, 2).names
        assert len(names) == len(set(names)) == 2 * 12 + 2 + 2 * 6 + 3 * 12
        assert (names[0], names[6], names[12], names[24:27], names[-1]) == (
            "linearity_0.25",
            "thickness_0.25",
            "linearity_0.5",
            ["ground_0.5", "top_0.5", "straightness_0.25"],
            "rise_near2",
        )
        assert [len(Lattice(1.0, levels).names) for levels in (1, 2, 3, 4, 5)] == [54, 74, 92, 112, 124]

    @pytest.mark.parametrize("levels", [1, 2, 3, 4, 5, 20])
    def test_which_are_of_one_size_and_which_say_what_is_close(self, levels):
        lattice = Lattice(1.0, levels)
        near = [name.split("_")[-1] in ("near0", "near1", "near2") for name in lattice.names]
        assert near == [False] * lattice.fixed + [True] * 36
        close = [
            place
            for place, name in enumerate(lattice.names)
            if near[place]
            or (name.split("_")[-1] in ("1", "2", "4") and name.split("_")[0] not in ("ground", "top"))
        ]
        assert lattice.fine.tolist() == close


class TestPositions:
    @given(
        arrays(float, (7, 3), elements=st.floats(-1e6, 1e6)), st.integers(-6, 8), st.sampled_from([1, 3, 5])
    )
    def test_rounded_once_to_the_nearest(self, points, exponent, levels):
        lattice = Lattice(2.0**exponent, levels)
        found = lattice.positions(points)
        assert found.dtype == np.int64
        unit = Fraction(lattice.unit)
        expected = [[round(Fraction(x) / unit) for x in row] for row in points.tolist()]  # halves to even
        assert found.tolist() == expected

    def test_whole_numbers_of_units_are_exact(self):
        lattice = Lattice(0.5)
        whole = np.random.default_rng(0).integers(-(2**51), 2**51, size=(100, 3))
        np.testing.assert_array_equal(lattice.positions(whole * lattice.unit), whole)

    @pytest.mark.parametrize("dimensions", [1, 2])
    def test_missing_coordinates_are_zero(self, dimensions):
        found = Lattice(1.0).positions(np.full((4, dimensions), 2.0))
        assert found.shape == (4, 3)
        assert (found[:, dimensions:] == 0).all()
        assert (found[:, :dimensions] == 2 * 2**16).all()

    def test_no_points(self):
        assert Lattice(1.0).positions(np.empty((0, 3))).shape == (0, 3)

    def test_more_than_three_dimensions(self):
        with pytest.raises(DataError, match=r"cloud must have three coordinates at most\. Got 4 instead"):
            Lattice(1.0).positions(np.ones((2, 4)), "cloud")

    @pytest.mark.parametrize(
        ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
    )
    def test_what_is_not_finite(self, value, what):
        points = np.zeros((5, 3))
        points[3, 1] = value
        with pytest.raises(DataError, match=f"points must be finite. Got {what} in row 3"):
            Lattice(1.0).positions(points)

    @pytest.mark.parametrize("far", [2.0**36, -(2.0**36), 1e300])
    def test_too_far(self, far):
        """2⁵² units of 2⁻¹⁶: the message names the cell and how far the points reach."""
        points = np.zeros((5, 3))
        points[2, 2] = far
        with pytest.raises(DataError) as caught:
            Lattice(1.0).positions(points, "cloud")
        assert "cloud must have coordinates below 6.87195e+10 for cells of 1. " in str(caught.value)
        assert f"Got {abs(far):g} instead; remove stray points" in str(caught.value)
        points[2, 2] = math.nextafter(2.0**36, 0)
        assert Lattice(1.0).positions(points)[2, 2] == 2**52


class TestCells:
    @given(CELLS, st.integers(0, 3), st.randoms(use_true_random=False))
    def test_grouped(self, positions, bits, random):
        """In any order: equal numbers for equal cells, counted as they come up."""
        order = np.array(random.sample(range(len(positions)), len(positions)), dtype=np.int64)
        cell, keys = grouped(positions, order, bits)
        seen: dict[tuple[int, ...], int] = {}
        for i in order:
            seen.setdefault(tuple(int(x) // 2**bits for x in positions[i]), len(seen))
        assert [tuple(key) for key in keys.tolist()] == list(seen)
        assert cell.tolist() == [seen[tuple(x // 2**bits for x in row)] for row in positions.tolist()]

    @given(CELLS, CELLS)
    def test_find(self, some, others):
        keys = np.unique(some, axis=0)
        table = tabulated(keys)
        rows = {tuple(key): row for row, key in enumerate(keys.tolist())}
        asked = np.vstack([some, others])
        assert found(table, keys, asked).tolist() == [rows.get(tuple(key), -1) for key in asked.tolist()]

    def test_many_cells_that_alias(self):
        """Equal modulo 2²¹ along each axis, on both sides of zero: one Morton code, 343 cells."""
        steps = np.array([-(2**40), -(2**22), -(2**21), 0, 2**21, 2**22, 2**40])
        keys = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        shuffled = keys[np.random.default_rng(0).permutation(len(keys))]
        twice = np.vstack([shuffled, shuffled[::-1]])
        cell, distinct = grouped(twice, in_curve_order(twice, 0), 0)
        assert len(distinct) == len(keys)
        np.testing.assert_array_equal(distinct[cell], twice)
        assert (np.bincount(cell) == 2).all()
        np.testing.assert_array_equal(found(tabulated(distinct), distinct, twice), cell)
        assert (found(tabulated(distinct), distinct, twice + 1) == -1).all()

    def test_a_table_is_at_most_half_full(self):
        """A search ends at an empty place: there must be one, also for 1, 2, 4, 8 … cells."""
        for count in (0, 1, 2, 3, 4, 8, 100, 128):
            keys = np.random.default_rng(0).permutation(1000)[: 3 * count].reshape(-1, 3)
            table = tabulated(keys)
            assert np.sort(table[table >= 0]).tolist() == list(range(count))
            assert len(table) >= 2 * count
            assert (table < 0).any()

    @given(CELLS, st.integers(0, 3))
    def test_the_curve_visits_every_point_once(self, positions, bits):
        assert sorted(in_curve_order(positions, bits).tolist()) == list(range(len(positions)))

    def test_the_curve_stays_close(self):
        """A step along the curve through a cube of 32³ cells is a short one, on average below two cells."""
        cube = np.stack(np.meshgrid(*[np.arange(-16, 16)] * 3), axis=-1).reshape(-1, 3)
        along = cube[in_curve_order(cube << 4, 4)]
        steps = np.abs(np.diff(along, axis=0)).sum(axis=1)
        assert np.median(steps) == 1
        assert steps.mean() < 2.5

    def test_points_of_one_cell_follow_each_other_at_all_levels(self):
        """Which is why the order of the finest level serves all."""
        cells = np.random.default_rng(0).integers(-9, 9, size=(3_000, 3))
        along = cells[in_curve_order(cells, 0)]
        for level in range(6):
            coarse = along >> level
            runs = 1 + (np.diff(coarse, axis=0) != 0).any(axis=1).sum()
            assert runs == len(np.unique(coarse, axis=0))
