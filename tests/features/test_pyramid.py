"""Local shapes against sums of whole numbers, a plain loop with LAPACK, and all that must not change them."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.compute.compiled import compiled
from pinvgcn.datasets import generate_street
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features import geometry_names, local_geometry, pyramid
from pinvgcn.features.blends import ENOUGH, eigenvalues, upright
from pinvgcn.features.lattice import ADAPTED, NAMES, Lattice
from pinvgcn.features.pyramid import CellSums, ColumnSums, Pyramid

LATTICE = Lattice(0.5, 4)
STREET = generate_street(1_000, random_state=0).X
# coordinates on a coarse grid and off it: points coincide, and lie on the borders of cells
GRIDS = arrays(np.int64, st.tuples(st.integers(1, 50), st.just(3)), elements=st.integers(-9, 9)).map(
    lambda grid: grid / 8
)


def cells_by_hand(points: np.ndarray, lattice: Lattice, level: int) -> dict[tuple[int, ...], list[int]]:
    """Ten sums and the lowest and highest z of each cell of one level, in Python's whole numbers."""
    size = 2 ** (lattice.bits + level)
    cells: dict[tuple[int, ...], list[list[int]]] = {}
    for row in lattice.positions(points).tolist():
        cells.setdefault(tuple(v // size for v in row), []).append(row)
    sums = {}
    for key, rows in cells.items():
        offsets = [[v - (k * size + size // 2) for v, k in zip(row, key, strict=True)] for row in rows]
        pairs = [(a, b) for a in range(3) for b in range(a, 3)]
        first = [sum(o[a] for o in offsets) for a in range(3)]
        second = [sum(o[a] * o[b] for o in offsets) for a, b in pairs]
        heights = [row[2] for row in rows]
        sums[key] = [len(rows), *first, *second, min(heights), max(heights)]
    return sums


def shapes_by_hand(
    points: np.ndarray, cloud: np.ndarray, lattice: Lattice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The features, (m, levels, 3) eigenvalues and (m, levels) masses of blends: a loop over points, the
    cells around each, and eigh."""
    asked, there = lattice.positions(points), lattice.positions(cloud)
    features, spectra, masses = [], [], []
    for x in asked:
        row, lams, mass = [], [], []
        for level in range(lattice.levels):
            size = 2 ** (lattice.bits + level)
            cell = there // size
            corner = (x + size // 2) // size
            t = (x + size // 2 - corner * size) / size
            step = cell - (corner - 1)  # 0 or 1 for the cells around
            around = ((step >= 0) & (step <= 1)).all(axis=1)
            w = np.where(step == 1, t, 1 - t).prod(axis=1) * around
            z = there[around, 2]
            below = max(0, x[2] - z.min()) if len(z) else 0
            above = max(0, z.max() - x[2]) if len(z) else 0
            lam, vertical, steep, lift = np.zeros(3), 2 / 3, 1 / 3, 0.0
            mu, rise = np.zeros(2), 1 / 3
            if w.sum() > 0:
                offsets = (there - x) / size
                mean = w @ offsets / w.sum()
                C = (w[:, None] * (offsets - mean)).T @ (offsets - mean) / w.sum()
                lift = -mean[2] * size
                if np.trace(C) > 1e-12:
                    lam, E = np.linalg.eigh(C)
                    lam = np.maximum(lam, 0)
                    vertical, steep = 1 - E[2, 0] ** 2, E[2, 2] ** 2
                    rise = C[2, 2] / np.trace(C)
                    if C[0, 0] + C[1, 1] > 1e-12:
                        mu = np.maximum(np.linalg.eigvalsh(C[:2, :2]), 0)
            l3, l2, l1 = lam
            scale = l1 or 1.0
            row += [(l1 - l2) / scale, (l2 - l3) / scale, l3 / scale, vertical, steep]
            row += [math.sqrt(l1), math.sqrt(l3)]
            row += [lift * lattice.unit, below * lattice.unit, above * lattice.unit]
            row += [(mu[1] - mu[0]) / (mu[1] or 1.0), rise]
            lams.append([l1, l2, l3])
            mass.append(w.sum())
        straight = []
        for level in lattice.plans:
            size = 2 ** (lattice.bits + level)
            cell = there // size
            corner = (x[:2] + size // 2) // size
            t = (x[:2] + size // 2 - corner * size) / size
            step = there[:, :2] // size - (corner - 1)
            around = ((step >= 0) & (step <= 1)).all(axis=1)
            w = np.where(step == 1, t, 1 - t).prod(axis=1) * around
            z = there[around, 2]
            if level in lattice.heights:
                row += [max(0, x[2] - z.min()) * lattice.unit if len(z) else 0]
                row += [max(0, z.max() - x[2]) * lattice.unit if len(z) else 0]
            lam = np.zeros(2)
            if w.sum() > 0:
                offsets = (there - x)[:, :2] / size
                offsets = offsets - w @ offsets / w.sum()
                C = (w[:, None] * offsets).T @ offsets / w.sum()
                if np.trace(C) > 1e-12:
                    lam = np.maximum(np.linalg.eigvalsh(C), 0)
            straight += [(lam[1] - lam[0]) / (lam[1] or 1.0), math.sqrt(lam[0])]
            storeys = {int(q[2]) for q in cell if (q[:2] == x[:2] // size).all()}
            here, cell_height = int(x[2] // size), size * lattice.unit
            below = sorted(here - storey for storey in storeys if storey < here)
            above = sorted(storey - here for storey in storeys if storey > here)
            straight += [len(away) / away[-1] if away else 1 for away in (below, above)]
            straight += [(away[0] - 1) * cell_height if away else 0 for away in (below, above)]
        row += straight
        last = lattice.levels - 1
        first = next((level for level, w in enumerate(mass) if w >= ENOUGH), last)
        for level in (min(first + number, last) for number in range(ADAPTED)):
            row += row[len(NAMES) * level : len(NAMES) * (level + 1)]
        features.append(row)
        spectra.append(lams)
        masses.append(mass)
    return np.array(features), np.array(spectra), np.array(masses)


def check(points: np.ndarray, cloud: np.ndarray, lattice: Lattice, tolerance: float = 2e-6) -> None:
    """Directions are compared where their eigenvalue is apart from the others, levels that follow the density
    where rounding does not decide which they are."""
    found = Pyramid.of(cloud, lattice).shapes(points)
    expected, lams, masses = shapes_by_hand(points, cloud, lattice)
    assert found.shape == expected.shape == (len(points), len(lattice.names))
    assert found.dtype == np.float32
    sure = (np.abs(masses - ENOUGH) > 1e-9).all(axis=1)
    l1, l2, l3 = np.moveaxis(lams, -1, 0)
    normal, main = (l2 - l3 > 1e-3 * l1) | (l1 == 0), (l1 - l2 > 1e-3 * l1) | (l1 == 0)
    levels = np.tile(np.arange(lattice.levels), (len(points), 1))
    first = np.where((masses >= ENOUGH).any(axis=1), (masses >= ENOUGH).argmax(axis=1), lattice.levels - 1)
    near = np.minimum(first[:, None] + np.arange(ADAPTED), lattice.levels - 1)
    known = np.ones(found.shape, dtype=bool)
    known[~sure, lattice.fixed :] = False
    rows = np.arange(len(points))
    for start, which in ((0, levels), (lattice.fixed, near)):
        for number, level in enumerate(which.T):
            column = start + len(NAMES) * number
            known[:, column + 3] &= normal[rows, level]
            known[:, column + 4] &= main[rows, level]
    thick = np.array([name.startswith(("thickness", "breadth")) for name in lattice.names])
    power = np.where(thick, 2, 1)  # a root of nearly nothing is nothing but rounding
    found, expected = found.astype(float) ** power, expected**power
    error = np.abs(found - expected) / np.maximum(1, np.abs(expected))
    assert error[known].max() < tolerance


class TestSums:
    @given(GRIDS, st.sampled_from([Lattice(0.25, 3), Lattice(1.0, 2), Lattice(0.125, 5)]))
    def test_every_level_is_the_sum_over_its_points(self, points, lattice):
        """In whole numbers, exactly; coarser levels are made of finer ones."""
        for level, cells in enumerate(Pyramid.of(points, lattice).levels):
            rows = np.column_stack([cells.sums, cells.low, cells.high]).tolist()
            found = {tuple(key): row for key, row in zip(cells.keys.tolist(), rows, strict=True)}
            assert len(found) == len(rows)
            assert found == cells_by_hand(points, lattice, level)

    def test_a_street_with_map_coordinates(self):
        points = np.round(STREET[:300] + np.array([412_345.0, 5_654_321.0, -230.0]), 3)
        for level, cells in enumerate(Pyramid.of(points, LATTICE).levels):
            rows = np.column_stack([cells.sums, cells.low, cells.high]).tolist()
            found = {tuple(key): row for key, row in zip(cells.keys.tolist(), rows, strict=True)}
            assert found == cells_by_hand(points, LATTICE, level)

    def test_columns(self):
        """Sums in plan, lowest and highest of whole columns of cells."""
        for level, plan in zip(LATTICE.plans, Pyramid.of(STREET, LATTICE).plans, strict=True):
            expected: dict[tuple[int, ...], list[int]] = {}
            for (x, y, _), row in cells_by_hand(STREET, LATTICE, level).items():
                *sums, low, high = expected.get((x, y, 0), [0] * 6 + [2**62, -(2**62)])
                sums = [known + row[place] for known, place in zip(sums, pyramid.IN_PLAN, strict=True)]
                expected[x, y, 0] = [*sums, min(low, row[-2]), max(high, row[-1])]
            rows = np.column_stack([plan.sums, plan.low, plan.high]).tolist()
            assert dict(zip(map(tuple, plan.keys.tolist()), rows, strict=True)) == expected

    def test_too_many_points_in_a_column(self):
        """Sums of squares would need more than 63 bits."""
        lattice = Lattice(1.0, 1)
        keys, heights = np.zeros((3, 3), dtype=np.int64), np.zeros(3, dtype=np.int64)
        keys[:, 2] = range(3)
        sums = np.full((3, 10), 2**24)
        for bits, most in ((lattice.bits, 2**25), (lattice.bits - 1, 2**27)):
            some = 2 if bits == lattice.bits else 3
            ColumnSums.of(CellSums(keys[:some], sums[:some], heights[:some], heights[:some]), bits=bits)
            message = f"A column of cells may hold {most:,} points at most. Got .*; thin the cloud"
            with pytest.raises(DataError, match=message):
                ColumnSums.of(CellSums(keys, sums * 3, heights, heights), bits=bits)

    def test_the_largest_sums_fit(self):
        """As many points as a cell may hold, in its corner: the sum of squares is 2⁶², not below zero."""
        lattice = Lattice(1.0, 3)
        one = Pyramid.of(np.full((1, 3), -4.0), lattice)
        cells = one.finest
        many = Pyramid(lattice, CellSums(cells.keys, cells.sums * 2**24, cells.low, cells.high))
        sums = Pyramid.sum([many]).levels[-1].sums
        assert sums.tolist() == [[2**24] + [-(2**43)] * 3 + [2**62] * 6]

    def test_too_many_points_in_a_cell(self, monkeypatch):
        monkeypatch.setattr(pyramid, "MOST", 10)
        points = np.full((11, 3), 0.3)
        assert len(Pyramid.of(points[:10], LATTICE).finest.keys) == 1
        message = r"A cell of 4 may hold 10 points at most\. Got 11; thin the cloud"
        with pytest.raises(DataError, match=message):
            Pyramid.of(points, LATTICE)
        with pytest.raises(DataError, match=message):
            local_geometry(points, cell=0.5, levels=4)
        parts = [Pyramid.of(points[:6], LATTICE), Pyramid.of(points[6:], LATTICE)]
        with pytest.raises(DataError, match=message):
            Pyramid.sum(parts)

    def test_state(self):
        """Of one process, and of two one after the other."""
        whole = Pyramid.of(STREET, LATTICE)
        expected = whole.shapes(STREET)
        again = Pyramid.from_state(LATTICE, whole.state())
        np.testing.assert_array_equal(again.shapes(STREET), expected)
        halves = [Pyramid.of(STREET[:600], LATTICE).state(), Pyramid.of(STREET[600:], LATTICE).state()]
        both = {name: np.concatenate([half[name] for half in halves]) for name in halves[0]}
        np.testing.assert_array_equal(Pyramid.from_state(LATTICE, both).shapes(STREET), expected)
        assert len(Pyramid.from_state(LATTICE, both).finest.keys) == len(whole.finest.keys)


@compiled
def spectra_of(matrices):
    found = np.empty((len(matrices), 5))
    for i in range(len(matrices)):
        A = matrices[i]
        found[i, :3] = eigenvalues(A[0, 0], A[0, 1], A[0, 2], A[1, 1], A[1, 2], A[2, 2])
        found[i, 3:] = upright(A[0, 0], A[0, 1], A[1, 1], found[i, 0], found[i, 1], found[i, 2])
    return found


def matrices_with(lams: list[float], count: int = 200) -> np.ndarray:
    """Symmetric, with these eigenvalues and directions at random."""
    rng = np.random.default_rng(0)
    turns = np.linalg.qr(rng.normal(size=(count, 3, 3)))[0]
    A = turns @ np.diag(lams) @ turns.transpose(0, 2, 1)
    return (A + A.transpose(0, 2, 1)) / 2


class TestEigenvalues:
    @pytest.mark.parametrize(
        "lams",
        [
            [3, 2, 1],
            [1, 0.5, 0],
            [1, 0.01, 1e-4],
            [1, 1, 0],
            [1, 0, 0],
            [1, 1, 1],
            [1, 1 - 1e-9, 0.5],
            [2, 2, 1],
        ],
        ids=str,
    )
    @pytest.mark.parametrize("scale", [1e-60, 1e-12, 1.0, 1e60])
    def test_against_lapack(self, lams, scale):
        """Eigenvalues to 3·10⁻⁸ of the largest, where two coincide; to 10⁻¹³ where all are apart."""
        A = scale * matrices_with(lams)
        lam, E = np.linalg.eigh(A)
        found = spectra_of(A)
        apart = min(lams[0] - lams[1], lams[1] - lams[2])
        tolerance = 3e-8 if apart < 1e-3 else 1e-13
        np.testing.assert_allclose(found[:, :3], lam[:, ::-1], rtol=0, atol=tolerance * scale * lams[0])
        assert (np.diff(found[:, :3]) <= 1e-15 * scale * lams[0]).all()
        if lams[0] - lams[1] > 1e-3:
            np.testing.assert_allclose(found[:, 3], E[:, 2, 2] ** 2, atol=1e-6)
        if lams[1] - lams[2] > 1e-3:
            np.testing.assert_allclose(found[:, 4], E[:, 2, 0] ** 2, atol=1e-6)

    def test_random_matrices(self):
        rng = np.random.default_rng(1)
        B = rng.normal(size=(2_000, 3, 3)) * 10.0 ** rng.uniform(-3, 3, size=(2_000, 1, 1))
        A = B @ B.transpose(0, 2, 1)
        lam, E = np.linalg.eigh(A)
        found = spectra_of(A)
        np.testing.assert_allclose(found[:, :3] / lam[:, 2:], lam[:, ::-1] / lam[:, 2:], atol=1e-9)
        l3, l2, l1 = lam.T / lam[:, 2]
        apart = (l1 - l2 > 1e-2) & (l2 - l3 > 1e-2)
        assert apart.mean() > 0.5
        np.testing.assert_allclose(found[apart, 3], E[apart, 2, 2] ** 2, atol=1e-9)
        np.testing.assert_allclose(found[apart, 4], E[apart, 2, 0] ** 2, atol=1e-9)

    @pytest.mark.parametrize("gap", [1e-3, 1e-5, 2e-6])
    def test_directions_of_eigenvalues_that_are_close(self, gap):
        """Down to the gap, 10⁻⁶ of the largest, below which they count as equal."""
        A = np.vstack([matrices_with([1, 1.5 * gap, 0.5 * gap]), matrices_with([1, 1 - gap, 0.1])])
        E = np.linalg.eigh(A)[1]
        found = spectra_of(A)
        np.testing.assert_allclose(found[:200, 4], E[:200, 2, 0] ** 2, atol=4e-16 / gap**2)
        np.testing.assert_allclose(found[200:, 3], E[200:, 2, 2] ** 2, atol=4e-16 / gap**2)

    def test_diagonal_matrices(self):
        """Exactly upright, or not at all."""
        A = np.array([np.diag(d) for d in ([1.0, 2, 3], [3.0, 2, 1], [1.0, 3, 2])])
        np.testing.assert_allclose(
            spectra_of(A), [[3, 2, 1, 1, 0], [3, 2, 1, 0, 1], [3, 2, 1, 0, 0]], rtol=0, atol=1e-14
        )

    def test_equal_eigenvalues_have_the_mean_over_their_plane(self):
        """A horizontal line (steepness 0, normals half upright), a post, a floor, a wall, a ball."""
        A = np.array([np.diag(d) for d in ([1.0, 0, 0], [0, 0, 1.0], [1.0, 1, 0], [1.0, 0, 1], [1.0, 1, 1])])
        expected = [[0, 0.5], [1, 0], [0, 1], [0.5, 0], [1 / 3, 1 / 3]]
        np.testing.assert_allclose(spectra_of(A)[:, 3:], expected, atol=1e-12)
        assert spectra_of(np.zeros((1, 3, 3))).tolist() == [[0, 0, 0, 1 / 3, 1 / 3]]


class TestLoop:
    """Against the loop with eigh."""

    def test_a_street(self):
        check(STREET[:250], STREET, LATTICE)

    def test_dense_and_fine(self):
        """Ten points a cell at the finest level, a hundred times that at the coarsest."""
        rng = np.random.default_rng(2)
        cloud = rng.normal(size=(1_500, 3)) * [1.5, 1.0, 0.3]
        check(cloud[:200], cloud, Lattice(0.25, 5))

    def test_points_that_are_not_in_the_cloud(self):
        rng = np.random.default_rng(3)
        new = np.vstack([STREET[:60] + rng.normal(size=(60, 3)), [[1e3, 0, 0], [0, 0, 1e3], [-900, 3, 1]]])
        check(new, STREET[60:], LATTICE)

    @given(GRIDS, GRIDS)
    def test_borders_of_cells_and_duplicates(self, points, cloud):
        check(points, cloud, Lattice(0.25, 4))

    @pytest.mark.parametrize("levels", [1, 2])
    def test_few_levels(self, levels):
        """Those that follow the density end at the coarsest."""
        check(STREET[:50], STREET, Lattice(2.0, levels))


class TestDensity:
    """Levels that follow it, and how it is counted."""

    def test_twice_as_close_is_one_level_finer(self):
        """A plane of points 0.5 apart, and one that is half as large: what ``near`` says is the same."""
        steps = np.arange(-8, 8, 0.5) + 0.25
        plane = np.stack(np.meshgrid(steps, steps, [0.25]), axis=-1).reshape(-1, 3)
        lattice = Lattice(0.25, 7)
        middle = np.abs(plane[:, :2]).max(axis=1) < 1
        wide, close = (Pyramid.of(p, lattice).shapes(p)[middle] for p in (plane, plane / 2))
        lengths = np.array([name.split("_")[0] in ("lift", "above", "below") for name in lattice.names])
        near = np.arange(len(lattice.names)) >= lattice.fixed
        np.testing.assert_array_equal(close[:, near & ~lengths], wide[:, near & ~lengths])
        np.testing.assert_array_equal(2 * close[:, near & lengths], wide[:, near & lengths])
        assert (close[:, ~near] != wide[:, ~near]).any()

    @given(GRIDS, GRIDS, st.sampled_from([Lattice(0.25, 1), Lattice(0.25, 2), Lattice(0.125, 5)]))
    def test_crowd(self, cloud, points, lattice):
        """Points of the cloud in the cell of each point, twice the finest, or the finest if it is alone."""
        size = lattice.cell * 2 ** min(1, lattice.levels - 1)
        cells = np.floor(cloud / size)
        expected = np.mean([(cells == np.floor(x / size)).all(axis=1).sum() for x in points])
        assert Pyramid.of(cloud, lattice).crowd(points) == pytest.approx(expected, abs=1e-12)


class TestToTheBit:
    @given(GRIDS, st.randoms(use_true_random=False))
    def test_order_company_and_parts(self, points, random):
        lattice = Lattice(0.25, 4)
        expected = Pyramid.of(points, lattice).shapes(points)
        order = random.sample(range(len(points)), len(points))
        shuffled = points[order]
        np.testing.assert_array_equal(Pyramid.of(shuffled, lattice).shapes(shuffled), expected[order])
        some = order[: 1 + len(order) // 3]
        np.testing.assert_array_equal(Pyramid.of(shuffled, lattice).shapes(points[some]), expected[some])
        cuts = sorted(random.choices(range(len(points) + 1), k=3))
        parts = [Pyramid.of(part, lattice) for part in np.split(shuffled, cuts)]
        np.testing.assert_array_equal(Pyramid.sum(parts).shapes(points), expected)
        nested = Pyramid.sum([Pyramid.sum(parts[:2]), Pyramid.sum(parts[2:][::-1])])
        np.testing.assert_array_equal(nested.shapes(points), expected)

    def test_order_company_and_parts_of_a_street(self, monkeypatch):
        expected = local_geometry(STREET)
        order = np.random.default_rng(0).permutation(len(STREET))
        np.testing.assert_array_equal(local_geometry(STREET[order]), expected[order])
        np.testing.assert_array_equal(local_geometry(STREET[order[:90]], STREET), expected[order[:90]])
        monkeypatch.setattr(pyramid, "CHUNK", 7)
        np.testing.assert_array_equal(local_geometry(STREET), expected)

    @pytest.mark.parametrize("shift", [[1024, 0, 0], [-1024, 2048, 512], [2**20, -(2**22), 2**10]])
    def test_a_shift_by_coarsest_cells(self, shift):
        points = np.round(STREET * 256) / 256  # the sums with a shift are exact
        lattice = Lattice(2.0)
        expected = Pyramid.of(points, lattice).shapes(points)
        moved = points + shift
        np.testing.assert_array_equal(Pyramid.of(moved, lattice).shapes(moved), expected)

    def test_map_coordinates_of_ten_million(self):
        """Millimetres as multiples of 2⁻¹⁰: nothing is lost seven digits before the point."""
        points = np.round(STREET * 1024) / 1024
        shift = np.array([10_000_000, -10_000_000, 320]) // 32 * 32.0
        lattice = Lattice(2.0)
        expected = Pyramid.of(points, lattice).shapes(points)
        moved = points + shift
        np.testing.assert_array_equal(Pyramid.of(moved, lattice).shapes(moved), expected)

    def test_decimal_millimetres_at_ten_million(self):
        """0.001 is no multiple of a power of two: the rounding of coordinates, 10⁻⁹, is all that changes."""
        points = np.round(STREET, 3)
        shift = np.array([1e7, 1e7, 0]) // 32 * 32
        lattice = Lattice(2.0)
        expected = Pyramid.of(points, lattice).shapes(points)
        moved = points + shift
        found = Pyramid.of(moved, lattice).shapes(moved)
        # a point on the very border of two cells may fall into the other one
        assert (np.abs(found - expected).max(axis=1) < 1e-3).mean() > 0.98

    @given(GRIDS, st.sampled_from([0, 1, 2]))
    def test_which_column_holds_the_height(self, points, up):
        usual = points[:, [axis for axis in range(3) if axis != up] + [up]]
        found = local_geometry(points, up=up, cell=0.5, levels=2)
        np.testing.assert_array_equal(found, local_geometry(usual, cell=0.5, levels=2))

    @pytest.mark.parametrize("exponent", [-7, 3])
    def test_the_unit(self, exponent):
        """A cloud and cells that are 2ᵏ times as large: ratios stay, lengths follow."""
        scale = 2.0**exponent
        expected = local_geometry(STREET, cell=1.0, levels=4).copy()
        for place, name in enumerate(geometry_names(1.0, levels=4)):
            if name.split("_")[0] in ("lift", "above", "below", "ground", "top", "gap"):
                expected[:, place] *= scale
        np.testing.assert_array_equal(local_geometry(STREET * scale, cell=scale, levels=4), expected)

    def test_frames_and_single_precision(self):
        points = STREET[:80].astype(np.float32)
        expected = local_geometry(points.astype(float))
        np.testing.assert_array_equal(local_geometry(points), expected)
        np.testing.assert_array_equal(local_geometry(pd.DataFrame(points, columns=list("xyz"))), expected)
        np.testing.assert_array_equal(local_geometry(points.tolist()), expected)


NOTHING = [0, 0, 0, 2 / 3, 1 / 3, 0, 0, 0, 0, 0, 0, 1 / 3]  # features of a place without a shape
IN_PLAN = [0, 0, 1, 1, 0, 0]
NOWHERE = NOTHING * 5 + [0] * 4 + IN_PLAN * 4 + NOTHING * ADAPTED  # all features there


class TestOddClouds:
    @pytest.mark.parametrize("n", [1, 2, 400])
    @pytest.mark.parametrize("at", [0.0, -3.3, 1e6 / 3])
    def test_one_place(self, n, at):
        X = local_geometry(np.full((n, 3), at))
        np.testing.assert_allclose(X, np.tile(NOWHERE, (n, 1)), atol=1e-6)

    def test_no_point_around(self):
        X = local_geometry([[1e3, 0, 0]], STREET[:5], cell=0.25)
        np.testing.assert_allclose(X, [NOWHERE], atol=1e-7)

    def test_two_points(self):
        """A line from one to the other, at 45°, seen from its ends; shared evenly at the coarsest level."""
        X = local_geometry([[1.0, 1, 1], [1.5, 1, 1.5]], cell=0.25, levels=4)
        names = geometry_names(0.25, levels=4)
        column = {name: X[:, names.index(name)] for name in names}
        np.testing.assert_allclose(column["linearity_2"], 1, atol=1e-6)
        np.testing.assert_allclose(column["steepness_2"], 0.5, atol=1e-6)
        np.testing.assert_allclose(column["verticality_2"], 0.75, atol=1e-6)
        np.testing.assert_allclose(column["lift_2"], [-0.25, 0.25], atol=1e-6)
        np.testing.assert_allclose(column["extent_2"], np.sqrt(0.125) / 2, rtol=1e-6)
        assert column["below_highest_2"].tolist() == [0.5, 0]
        assert column["above_lowest_2"].tolist() == [0, 0.5]
        np.testing.assert_allclose(column["linearity_0.25"], 0)

    @pytest.mark.parametrize(
        "cloud",
        [
            np.column_stack([np.linspace(0, 50, 300), np.zeros((300, 2))]),
            np.column_stack([np.linspace(0, 50, 300)] * 3),
            np.repeat(STREET[:40], 9, axis=0),
            STREET[:300] * [1, 1, 1e-7],
            STREET[:300] * [1e-9, 1, 1],
            STREET[:9],
            np.vstack([STREET[:200], np.full((500, 3), 2.0)]),
        ],
        ids=["line", "slanted line", "ninefold", "thin", "upright and thin", "nine", "many in one place"],
    )
    def test_finite_and_in_range(self, cloud):
        """In the cloud and beside it, with cells that suit it and with others."""
        new = np.vstack([cloud, cloud + 0.3, cloud * 3, [[1e6, -1e6, 0]]])
        for cell in ("auto", 2.0**-6, 64.0):
            X = local_geometry(new, cloud, cell=cell)
            assert np.isfinite(X).all()
            for level in range(5):
                some = X[:, len(NAMES) * level : len(NAMES) * level + 7]
                ratios, extent, thickness = np.split(some, [5, 6], axis=1)
                assert min(ratios.min(), extent.min(), thickness.min()) >= 0
                assert ratios.max() <= 1
                assert (thickness <= extent).all()
                assert extent.max() <= math.sqrt(3)  # of two cells, from corner to corner
                total = ratios[:, :3].sum(axis=1)
                np.testing.assert_allclose(total, extent[:, 0] > 0, atol=1e-6)
                heights = X[:, len(NAMES) * level + 8 : len(NAMES) * level + 10]
                assert heights.min() >= 0
            assert X[:, 5 * len(NAMES) : Lattice(1.0).fixed].min() >= 0

    def test_a_stray_point_changes_nothing_elsewhere(self):
        stray = np.vstack([STREET, [[1e7, -1e7, 1e7]]])
        lattice = Lattice(2.0)
        whole, more = Pyramid.of(STREET, lattice), Pyramid.of(stray, lattice)
        np.testing.assert_array_equal(more.shapes(STREET), whole.shapes(STREET))
        for one, other in zip(whole.levels, more.levels, strict=True):
            assert len(other.keys) == len(one.keys) + 1
            assert len(other.table) <= 2 * len(one.table)
        np.testing.assert_allclose(more.shapes(stray[-1:]), [NOWHERE], atol=1e-6)

    @pytest.mark.alone
    def test_a_stray_point_costs_nothing(self):
        """A grid over the extent would have 10¹⁹ cells."""
        points = np.random.default_rng(0).random((30_000, 3)) * [60, 60, 3]
        stray = np.vstack([points, [[1e7, -1e7, 1e7]]])
        seconds = {"plain": [], "stray": []}
        for _ in range(5):
            for name, cloud in (("plain", points), ("stray", stray)):
                start = time.perf_counter()
                local_geometry(cloud)
                seconds[name].append(time.perf_counter() - start)
        assert min(seconds["stray"]) < 3 * min(seconds["plain"])

    def test_coordinates_beyond_whole_numbers(self):
        with pytest.raises(
            DataError, match=r"cloud must have coordinates below .* for cells of .* Got 1e\+17"
        ):
            local_geometry(np.vstack([STREET, [[1e17, 0, 0]]]))
        with pytest.raises(DataError, match="cloud must have coordinates below"):
            local_geometry(STREET * 1e200)


def scene(kind: str) -> np.ndarray:
    """About a thousand points at even distances, 4 by 4 by 4 at most."""
    steps = np.arange(-2, 2, 0.125) + 0.0625
    a, b = (axis.ravel() for axis in np.meshgrid(steps, steps))
    flat, zeros = np.column_stack([a, b]), np.zeros(len(a))
    slope = np.pi / 6
    ball = np.stack(np.meshgrid(*[np.arange(-2, 2, 0.25) + 0.125] * 3), axis=-1).reshape(-1, 3)
    return {
        "ground": np.column_stack([flat, zeros]),
        "wall": np.column_stack([a, zeros, b]),
        "roof": np.column_stack([a * np.cos(slope), b, a * np.sin(slope)]),
        "post": np.column_stack([np.zeros((200, 2)), np.linspace(-2, 2, 200)]),
        "wire": np.column_stack([np.linspace(-2, 2, 200), np.zeros((200, 2))]),
        "crown": ball[(ball**2).sum(axis=1) < 4],
    }[kind]


class TestScenes:
    """What a person would say."""

    @pytest.mark.parametrize(
        ("kind", "main", "exact"),
        [
            ("ground", "planarity", {"scattering": 0, "verticality": 0, "steepness": 0}),
            ("wall", "planarity", {"scattering": 0, "verticality": 1}),
            ("roof", "planarity", {"scattering": 0, "verticality": np.sin(np.pi / 6) ** 2}),
            ("post", "linearity", {"linearity": 1, "scattering": 0, "steepness": 1, "verticality": 1}),
            ("wire", "linearity", {"linearity": 1, "scattering": 0, "steepness": 0, "verticality": 0.5}),
            ("crown", "scattering", {}),
        ],
    )
    @pytest.mark.parametrize("offset", [[0, 0, 0], [0.2, -0.4, 0.3]])
    def test_shapes(self, kind, main, exact, offset):
        """In the middle of a scene, wherever its cells begin.

        A blend is up to twice as long along one axis as along another: s²/3 is the variance of two cells of
        equal weight, s²/12 that of one alone. So planarity on a plane may be as low as 1/4, not lower.
        """
        cloud = scene(kind) + offset
        middle = np.abs(cloud - offset).max(axis=1) < 0.9
        X = local_geometry(cloud[middle], cloud, cell=0.5, levels=1)
        column = dict(zip(geometry_names(0.5, levels=1), X.T, strict=True))
        for name, value in exact.items():
            np.testing.assert_allclose(column[f"{name}_0.5"], value, atol=1e-5, err_msg=name)
        assert column[f"{main}_0.5"].min() > 0.2
        assert column[f"{main}_0.5"].mean() > 0.5

    @pytest.mark.parametrize(("kind", "main"), [("ground", 1), ("wall", 1), ("post", 0), ("crown", 2)])
    def test_between_eight_cells(self, kind, main):
        """At a corner of the lattice all cells count alike: exactly a plane, a line, a ball."""
        X = local_geometry([[0.0, 0, 0]], scene(kind), cell=0.5, levels=1)
        np.testing.assert_allclose(X[0, :3], np.eye(3)[main], atol=1e-6)

    def test_heights(self):
        """A lamp 6 above the ground: cells around it do not know the ground, columns do."""
        ground = scene("ground")
        lamp = scene("ground")[:3] * 0.01 + [0, 0, 6]
        names = geometry_names(0.5, levels=2)
        X = local_geometry(np.vstack([ground, lamp]), cell=0.5, levels=2)
        column = {name: X[:, names.index(name)] for name in names}
        assert (column["ground_1"][-3:] == 6).all()
        assert (column["top_1"][-3:] == 0).all()
        assert (column["above_lowest_1"] == 0).all()
        assert (column["ground_1"][:-3] == 0).all()
        near = np.abs(ground[:, :2]).max(axis=1) < 0.5
        assert (column["top_1"][:-3][near] == 6).all()
        far = np.abs(ground[:, :2]).max(axis=1) > 1.5
        assert (column["top_1"][:-3][far] == 0).all()
        assert (column["gap_below_1"][-3:] == 5).all()  # the cell of the ground is the seventh from above
        assert (column["filled_below_1"][-3:] == np.float32(1 / 6)).all()
        assert (column["filled_above_1"][-3:] == 1).all()
        assert (column["gap_above_1"][:-3][far] == 0).all()


class TestArguments:
    @pytest.mark.parametrize("levels", [1, 2, 4, 5, 7])
    def test_names_go_with_the_columns(self, levels):
        names = geometry_names(0.5, levels=levels)
        assert len(names) == len(set(names)) == local_geometry(np.eye(3), cell=0.5, levels=levels).shape[1]

    def test_names(self):
        names = geometry_names(0.25)
        assert names[:2] == ["linearity_0.25", "planarity_0.25"]
        assert names[12:14] == ["linearity_0.5", "planarity_0.5"]
        assert names[60:66] == [
            "ground_0.5",
            "top_0.5",
            "ground_2",
            "top_2",
            "straightness_0.25",
            "breadth_0.25",
        ]
        assert names[86:89] == ["gap_below_2", "gap_above_2", "linearity_near0"]

    @pytest.mark.parametrize("dimensions", [1, 2, 4])
    def test_points_must_be_in_space(self, dimensions):
        message = f"cloud must have three columns.*Got {dimensions} instead; .*zeros"
        with pytest.raises(DataError, match=message):
            local_geometry(np.eye(3), np.ones((5, dimensions)))
        with pytest.raises(DataError, match="points must have three columns"):
            local_geometry(np.ones((5, dimensions)))

    @pytest.mark.parametrize(
        ("points", "message"),
        [
            ([[0, 0, np.nan]], "points must be finite.*row 0"),
            ([[0, 0, np.inf]], "points must be finite.*row 0"),
            (np.empty((0, 3)), "0 sample"),
            ([["a", "b", "c"]], "points must be numbers"),
        ],
    )
    def test_bad_points(self, points, message):
        with pytest.raises(DataError, match=message):
            local_geometry(points)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"up": 3}, "up must be the column that holds the height"),
            ({"up": 1.0}, "up must be .* Got 1.0 instead"),
            ({"up": True}, "up must be .* Got True instead"),
            ({"up": "z"}, "up must be .* Got 'z' instead"),
            ({"cell": "large"}, "cell must be a power of two or 'auto'. Got 'large' instead"),
            ({"cell": 0.3}, "cell must be a power of two .* Got 0.3 instead"),
            ({"cell": None}, "cell must be a power of two .* Got None instead"),
            ({"cell": 1.0, "levels": 0}, "levels must be .* Got 0 instead"),
            ({"cell": 1.0, "levels": 21}, "levels must be 20 at most. Got 21 instead"),
            ({"cell": 1.0, "levels": 2.5}, "levels must be .* Got 2.5 instead"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ParameterError, match=message) as caught:
            local_geometry(np.eye(3), **arguments)
        assert "\n" not in str(caught.value)
