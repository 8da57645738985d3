"""local_geometry against brute force, closed forms, and everything that must not change it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.datasets import generate_street
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features import geometry, geometry_names, local_geometry, neighbours, shapes

SMALL = {"neighbours": (2, 5, 12), "columns": (1, 4, 9)}
# scans in small: integer coordinates, so that distances tie and points coincide
GRIDS = arrays(np.int64, st.tuples(st.integers(1, 60), st.just(3)), elements=st.integers(0, 4)).map(
    lambda grid: grid.astype(float)
)


def nearest(x: np.ndarray, points: np.ndarray, k: int) -> tuple[np.ndarray, float]:
    """w (n,) of sum min(k, n) and r: formula 7.1."""
    distance = np.sqrt(((points - x) ** 2).sum(axis=1))
    k = min(k, len(points))
    r = np.sort(distance)[k - 1]
    at = np.isclose(distance, r, rtol=1e-7, atol=0)
    inside = (distance < r) & ~at
    return inside + at * (k - inside.sum()) / at.sum(), r


def by_hand(
    points: np.ndarray, cloud: np.ndarray, *, neighbours: tuple[int, ...], columns: tuple[int, ...]
) -> np.ndarray:
    """The formulas of docs/maths.md, 7, point after point."""
    features = []
    for x in points:
        row = []
        for k in neighbours:
            w, r = nearest(x, cloud, k)
            mean = w @ cloud / w.sum()
            C = (w[:, None] * (cloud - mean)).T @ (cloud - mean) / w.sum()
            (l3, l2, l1), E = np.linalg.eigh(C)
            if np.ptp(cloud[w > 0], axis=0).max() == 0:  # a single place
                row += [0, 0, 0, 0, 2 / 3, 1 / 3]
            else:
                l3, l2 = max(l3, 0), max(l2, 0)
                lam = np.array([l3, l2, l1])
                low = 1 / (1 + ((lam - l3) / (1e-3 * l1)) ** 4)
                top = 1 / (1 + ((l1 - lam) / (1e-3 * l1)) ** 4)
                row += [(l1 - l2) / l1, (l2 - l3) / l1, l3 / l1, (l1 - l3) / l1]
                row += [1 - low @ E[2] ** 2 / low.sum(), top @ E[2] ** 2 / top.sum()]
            z = cloud[w > 0, 2]
            row += [(4 / 3 * np.pi * r**3 / w.sum()) ** (1 / 3), x[2] - z.min(), np.ptp(z)]
        for k in columns:
            w, _ = nearest(x[:2], cloud[:, :2], k)
            z = cloud[w > 0, 2]
            row += [x[2] - z.min(), z.max() - x[2]]
        features.append(row)
    return np.array(features)


def column(name: str, X: np.ndarray, **sizes: tuple[int, ...]) -> np.ndarray:
    return X[:, geometry_names(**sizes).index(name)]


class TestBruteForce:
    def test_a_scan(self):
        points = generate_street(1000, random_state=0).X
        expected = by_hand(points, points, neighbours=(10, 40, 150), columns=(50, 300))
        np.testing.assert_allclose(local_geometry(points), expected, rtol=1e-9, atol=1e-9)

    def test_new_points_in_a_scan_with_map_coordinates(self):
        """Seven digits before the point, millimetres after it; some new points far outside."""
        rng = np.random.default_rng(0)
        points = np.round(generate_street(1000, random_state=1).X, 2)
        new = np.concatenate(
            [points[900:], points[:9] + rng.normal(size=(9, 3)), [[0, 0, 1e3], [-4e3, 0, 0]]]
        )
        expected = by_hand(new, points[:900], **SMALL)
        np.testing.assert_allclose(local_geometry(new, points[:900], **SMALL), expected, rtol=1e-9, atol=1e-9)
        offset = np.array([691_000.0, 5_336_000.0, 500.0])
        moved = local_geometry(new + offset, points[:900] + offset, **SMALL)
        np.testing.assert_allclose(moved, expected, atol=2e-6)

    @given(GRIDS, GRIDS)
    def test_ties_and_duplicates(self, points, cloud):
        np.testing.assert_allclose(
            local_geometry(points, cloud, **SMALL), by_hand(points, cloud, **SMALL), atol=1e-10
        )

    def test_more_ties_than_were_asked_for(self):
        """The centre of a sphere: all 200 points of the sphere lie at the second smallest distance."""
        rng = np.random.default_rng(0)
        sphere = rng.normal(size=(200, 3))
        sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
        points = np.concatenate([[[0, 0, 0]], sphere, 3 + rng.random((50, 3))])
        np.testing.assert_allclose(
            local_geometry(points, **SMALL), by_hand(points, points, **SMALL), atol=1e-10
        )


class TestClosedForms:
    def test_a_tilted_plane(self):
        """A square grid turned by θ about y: planarity 1, verticality sin²θ; its directions are all alike."""
        a, b = (axis.ravel() for axis in np.mgrid[-6:7, -6:7].astype(float))
        for tilt in (0, 0.3, np.pi / 4, np.pi / 2):
            plane = np.stack([a * np.cos(tilt), b, a * np.sin(tilt)], axis=1)
            X = local_geometry([[0, 0, 0]], plane, neighbours=(9, 40), columns=())
            for k in (9, 40):
                sizes = {"neighbours": (9, 40), "columns": ()}
                found = [column(f"{name}_{k}", X, **sizes)[0] for name in shapes.NAMES[:6]]
                sine = np.sin(tilt) ** 2
                np.testing.assert_allclose(found, [0, 1, 0, 1, sine, sine / 2], atol=1e-11)

    def test_a_line(self):
        """Linearity 1 and the sine of its slope; the normals of a line are those of all planes through it."""
        along = np.linspace(-1, 1, 41)[:, None]
        for slope in (0, 0.5, np.pi / 2):
            line = along * [np.cos(slope), 0, np.sin(slope)]
            X = local_geometry(line, neighbours=(5,), columns=())
            sine = np.sin(slope) ** 2
            expected = [1, 0, 0, 1, 1 - (1 - sine) / 2, sine]
            np.testing.assert_allclose(X[:, :6], np.tile(expected, (41, 1)), atol=1e-11)
            np.testing.assert_allclose(
                X[2:-2, 7:], [[0.1 * np.sqrt(sine), 0.2 * np.sqrt(sine)]] * 37, atol=1e-12
            )

    def test_a_lattice_has_no_direction(self):
        """k = 10 of a cubic lattice: itself, the 6 at distance 1 and a quarter of the 12 at distance √2."""
        lattice = np.stack(np.mgrid[-3:4, -3:4, -3:4], axis=-1).reshape(-1, 3)
        X = local_geometry([[0, 0, 0]], lattice, neighbours=(10,), columns=(5,))
        spacing = np.sqrt(2) * (4 * np.pi / 30) ** (1 / 3)
        np.testing.assert_allclose(X, [[0, 0, 1, 0, 2 / 3, 1 / 3, spacing, 1, 2, 3, 3]], atol=1e-12)

    def test_a_ball_scatters(self):
        rng = np.random.default_rng(0)
        ball = rng.normal(size=(20_000, 3))
        ball *= rng.random((20_000, 1)) ** (1 / 3) / np.linalg.norm(ball, axis=1, keepdims=True)
        X = local_geometry([[0, 0, 0]], ball, neighbours=(20_000,), columns=())
        assert column("scattering_20000", X, neighbours=(20_000,), columns=())[0] > 0.96
        density = 20_000 / (4 / 3 * np.pi)
        assert column("spacing_20000", X, neighbours=(20_000,), columns=())[0] ** -3 == pytest.approx(
            density, rel=1e-3
        )

    def test_what_stands_above_and_below(self):
        """A wire 6 above the ground: no neighbour in space knows the other, the column does."""
        ground = np.stack([*np.mgrid[0:10, 0:10], np.zeros((10, 10))], axis=-1).reshape(-1, 3)
        wire = np.stack([np.linspace(0, 9, 100), np.full(100, 4.5), np.full(100, 6.0)], axis=1)
        sizes = {"neighbours": (8,), "columns": (40,)}
        X = local_geometry(np.concatenate([ground, wire]), **sizes)
        assert (column("height_8", X, **sizes) == 0).all()
        assert (column("below_40", X, **sizes)[100:] == 6).all()
        assert (column("above_40", X, **sizes)[40:60] == 6).any()
        assert (column("above_40", X, **sizes)[100:] == 0).all()


class TestWhatChangesNothing:
    @given(GRIDS, st.randoms(use_true_random=False))
    def test_order_and_company(self, points, random):
        """Bit by bit: a shuffled file, and some of its points asked for on their own."""
        X = local_geometry(points, **SMALL)
        order = random.sample(range(len(points)), len(points))
        assert (local_geometry(points[order], **SMALL) == X[order]).all()
        some = order[: 1 + len(order) // 3]
        assert (local_geometry(points[some], points[order], **SMALL) == X[some]).all()

    @given(GRIDS, st.floats(0, 6.3), arrays(float, 3, elements=st.floats(-1e3, 1e3)))
    def test_motions(self, points, angle, shift):
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        X = local_geometry(points, **SMALL)
        np.testing.assert_allclose(local_geometry(points @ turn.T + shift, **SMALL), X, atol=1e-7)

    @given(GRIDS, st.floats(1e-3, 1e3))
    def test_the_unit(self, points, unit):
        """Ratios stay, lengths follow."""
        names = geometry_names(**SMALL)
        lengths = np.array([name.split("_")[0] not in shapes.NAMES[:6] for name in names])
        expected = local_geometry(points, **SMALL) * np.where(lengths, unit, 1)
        np.testing.assert_allclose(
            local_geometry(points * unit, **SMALL), expected, rtol=1e-9, atol=1e-9 * min(unit, 1)
        )

    @given(GRIDS, st.sampled_from([0, 1, 2]))
    def test_which_column_holds_the_height(self, points, up):
        """Bitwise the same as with the columns in their usual places."""
        usual = points[:, [axis for axis in range(3) if axis != up] + [up]]
        assert (local_geometry(points, up=up, **SMALL) == local_geometry(usual, **SMALL)).all()

    @pytest.mark.parametrize(("chunk", "entries", "spare"), [(1, 1, 1), (7, 100, 0), (64, 10**6, 50)])
    def test_chunks(self, monkeypatch, chunk, entries, spare):
        points = np.round(generate_street(1000, random_state=0).X[:300], 1)
        expected = local_geometry(points, **SMALL)
        monkeypatch.setattr(geometry, "CHUNK", chunk)
        monkeypatch.setattr(neighbours, "ENTRIES", entries)
        monkeypatch.setattr(neighbours, "SPARE", spare)
        np.testing.assert_allclose(local_geometry(points, **SMALL), expected, rtol=1e-12, atol=1e-12)

    def test_order_and_company_in_a_scan(self, data_set):
        """Bit by bit, with the default sizes, on a scan rounded to centimetres."""
        points = data_set("oakland1").X[:6000]
        X = local_geometry(points)
        order = np.random.default_rng(0).permutation(len(points))
        assert (local_geometry(points[order]) == X[order]).all()
        assert (local_geometry(points[order[:100]], points) == X[order[:100]]).all()
        assert np.isfinite(X).all()


class TestOddClouds:
    @pytest.mark.parametrize("n", [1, 2, 400])
    def test_one_place(self, n):
        """No shape, no extent; as upright as all directions are on average."""
        X = local_geometry(np.full((n, 3), 1e6 / 3))
        expected = [0, 0, 0, 0, 2 / 3, 1 / 3, 0, 0, 0] * 3 + [0] * 4
        np.testing.assert_allclose(X, np.tile(expected, (n, 1)), atol=1e-12)

    def test_memory_does_not_hold_all_neighbourhoods(self):
        """Per point less than the indices of its largest neighbourhood would take."""
        peak = {}
        for n in (5_000, 30_000):
            points = np.random.default_rng(0).random((n, 3))
            tracemalloc.start()
            local_geometry(points, columns=())
            peak[n] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert (peak[30_000] - peak[5_000]) / 25_000 < 150 * 8

    def test_frames_and_single_precision(self):
        points = np.round(np.random.default_rng(0).random((50, 3)), 2).astype(np.float32)
        X = local_geometry(points.astype(float), **SMALL)
        assert (local_geometry(points, **SMALL) == X).all()
        assert (local_geometry(pd.DataFrame(points, columns=list("xyz")), **SMALL) == X).all()


class TestNamesAndRefusals:
    def test_names_go_with_the_columns(self):
        names = geometry_names()
        assert len(names) == len(set(names)) == local_geometry(np.eye(3)).shape[1] == 31
        assert names[:2] == ["linearity_10", "planarity_10"]
        assert names[-2:] == ["below_300", "above_300"]
        assert geometry_names(neighbours=(), columns=(7,)) == ["below_7", "above_7"]
        assert local_geometry(np.eye(3), neighbours=(), columns=(7,)).tolist() == [[0, 1], [0, 1], [1, 0]]

    @pytest.mark.parametrize("dimensions", [1, 2, 4])
    def test_points_must_be_in_space(self, dimensions):
        with pytest.raises(
            DataError, match=f"cloud must have three columns.*Got {dimensions} instead; .*zeros"
        ):
            local_geometry(np.eye(3), np.ones((5, dimensions)))

    @pytest.mark.parametrize(
        ("points", "message"),
        [
            ([[0, 0, np.nan]], "points must be finite.*row 0"),
            ([[0, 0, 1e200]], "points must be coordinates of at most 1e\\+100. Got 1e\\+200"),
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
            ({"neighbours": (10, 10)}, "neighbours must be increasing whole numbers, 2 or more"),
            ({"neighbours": (1, 10)}, "neighbours must be increasing"),
            ({"neighbours": 10}, "neighbours must be increasing"),
            ({"columns": (0.5,)}, "columns must be increasing whole numbers, 1 or more"),
            ({"neighbours": (), "columns": ()}, "neighbours or columns must hold a size"),
            ({"up": 3}, "up must be the column that holds the height"),
            ({"up": 1.0}, "up must be .* Got 1.0 instead"),
            ({"up": "z"}, "up must be .* Got 'z' instead"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ParameterError, match=message) as caught:
            local_geometry(np.eye(3), **arguments)
        assert "\n" not in str(caught.value)
