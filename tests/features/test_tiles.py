"""Tiles against the whole cloud: the same neighbourhoods, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.datasets import generate_street
from pinvgcn.features import local_average, local_geometry
from pinvgcn.features import tiles as tiles_module
from pinvgcn.features.averages import average_and_reach
from pinvgcn.features.cut import Cut, draw
from pinvgcn.features.geometry import geometry_and_reach
from pinvgcn.features.tiles import Piece, Tiles


def clouds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    street = generate_street(2_500, random_state=1).X
    dense = np.vstack(
        [rng.uniform(0, 100, (1_200, 3)), rng.uniform(0, 1, (1_200, 3)) + np.array([50, 50, 0])]
    )
    stray = np.vstack([street, [[1e4, 0, 0], [0, 0, 5e3], [5e3, 5e3, 5e3], [50, 15, -800]]])
    return {
        "street": street,
        "map coordinates": np.round(street + np.array([412_345.0, 5_654_321.0, 230.0]), 3),
        "millimetres": np.round(street, 1),  # many at equal distances, some at equal places
        "grid": np.stack(np.meshgrid(np.arange(48.0), np.arange(48.0), [0.0]), -1).reshape(-1, 3),
        "dense in one place": dense,
        "strays": stray,
        "a line": np.column_stack([np.sort(rng.uniform(0, 500, 1_500)), np.zeros((1_500, 2))]),
        "a post": np.column_stack([np.zeros((900, 2)), rng.uniform(0, 9, 900)]),
        "few": rng.normal(size=(40, 3)),
    }  # fmt: skip


CLOUDS = clouds()


def tiles_of(points: np.ndarray, folder, size: int, columns: np.ndarray | None = None) -> Tiles:
    beside = np.empty((len(points), 0)) if columns is None else columns

    def pieces():
        for start in range(0, len(points), 400):
            rows = np.arange(start, min(start + 400, len(points)))
            yield Piece(rows, points[rows], beside[rows])

    return Tiles.of(pieces, folder, columns=beside.shape[1], size=size)


def shapes(queries, around):
    return geometry_and_reach(queries, around.points)


def means(queries, around):
    found, reach = average_and_reach(queries, around.values, cloud=around.points, neighbours=10)
    return found, np.column_stack([reach, np.zeros(len(reach))])


def whole(tiles: Tiles, ask) -> np.ndarray:
    """Answers of all tiles in the order of the cloud."""
    parts = [(tiles.load(tile).index, ask(tile)) for tile in range(len(tiles))]
    order = np.argsort(np.concatenate([index for index, _ in parts]))
    return np.concatenate([answers for _, answers in parts])[order]


@pytest.mark.parametrize("name", CLOUDS)
def test_shapes_are_those_of_the_whole_cloud(name, tmp_path):
    points = CLOUDS[name]
    tiles = tiles_of(points, tmp_path, 700)
    found = whole(tiles, lambda tile: tiles.ask(shapes, tile, near=300))
    expected = local_geometry(points)
    scale = np.maximum(np.abs(expected), 1.0)
    assert np.abs((found - expected) / scale).max() < 1e-12


@pytest.mark.parametrize("name", CLOUDS)
def test_averages_are_those_of_the_whole_cloud(name, tmp_path):
    points = CLOUDS[name]
    values = np.random.default_rng(1).random((len(points), 3))
    tiles = tiles_of(points, tmp_path, 500)
    for tile in range(len(tiles)):
        tiles.keep("values", tile, values[tiles.load(tile).index])
    found = whole(tiles, lambda tile: tiles.ask(means, tile, near=10, kept="values"))
    np.testing.assert_allclose(found, local_average(points, values, neighbours=10), rtol=0, atol=1e-14)


def test_some_rows_of_a_tile(tmp_path):
    points = CLOUDS["street"]
    tiles = tiles_of(points, tmp_path, 700)
    expected = local_geometry(points)
    for tile in range(len(tiles)):
        rows = np.arange(3, tiles.counts[tile], 50)
        found = tiles.ask(shapes, tile, near=300, rows=rows)
        np.testing.assert_allclose(found, expected[tiles.load(tile).index[rows]], rtol=1e-11, atol=1e-12)


def test_tiles_hold_every_point_once_with_what_belongs_to_it(tmp_path):
    points = CLOUDS["strays"]
    columns = np.random.default_rng(2).random((len(points), 2))
    tiles = tiles_of(points, tmp_path, 800, columns)
    pieces = [tiles.load(tile) for tile in range(len(tiles))]
    index = np.concatenate([piece.index for piece in pieces])
    assert sorted(index) == list(range(len(points)))
    np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), points[index])
    np.testing.assert_array_equal(np.concatenate([piece.columns for piece in pieces]), columns[index])
    for piece in pieces:
        assert (np.diff(piece.index) > 0).all()
    # a stray does not empty the other tiles, as it would on a grid
    assert 300 <= min(tiles.counts) <= max(tiles.counts) <= 800


def test_where_little_fits_into_memory(tmp_path, monkeypatch):
    """The neighbours of strays are far: what lies between need not be loaded at once."""
    monkeypatch.setattr(tiles_module, "ROOM", 1_000)
    monkeypatch.setattr(tiles_module, "CROWD", 1)
    points = CLOUDS["strays"]
    tiles = tiles_of(points, tmp_path, 700)
    seen = []

    def counted(queries, around):
        seen.append(len(around.points))
        return shapes(queries, around)

    found = whole(tiles, lambda tile: tiles.ask(counted, tile, near=300))
    expected = local_geometry(points)
    assert (np.abs(found - expected) / np.maximum(np.abs(expected), 1.0)).max() < 1e-12
    assert max(seen) <= 1_700


class TestCut:
    def test_parts_have_about_equally_many(self):
        points = CLOUDS["street"]
        cut = Cut.of([points[:1_000], points[1_000:]], 400)
        counts = np.bincount(cut(points[:, :2]), minlength=cut.parts)
        assert cut.parts == 8
        assert counts.max() <= 400
        assert counts.min() >= 300

    def test_equal_places_stay_together(self):
        points = np.repeat([[0.0, 0, 0], [1.0, 0, 0], [1.0, 2.0, 0]], [10, 500, 20], axis=0)
        cut = Cut.of([points], 5)
        assert cut.parts == 3
        assert len(np.unique(cut(points[:, :2]))) == 3

    def test_one_part(self):
        cut = Cut.of([np.zeros((4, 3))], 2)
        assert cut.parts == 1
        assert (cut(np.zeros((4, 2))) == 0).all()

    def test_a_draw_does_not_depend_on_the_pieces(self):
        points = CLOUDS["street"]
        once, count = draw([points], 500)
        twice, _ = draw([points[:17], points[17:1_300], points[1_300:]], 500)
        np.testing.assert_array_equal(once, twice)
        assert (len(once), count) == (500, len(points))
