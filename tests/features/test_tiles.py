"""Tiles against the whole cloud: the same cells around every point, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.datasets import generate_street
from pinvgcn.features import local_geometry
from pinvgcn.features import tiles as tiles_module
from pinvgcn.features.averages import LEVELS, Averages
from pinvgcn.features.geometry import cell_of
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.features.tiles import Cut, Piece, Tiles, shared_tiles


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

    return shared_tiles(pieces(), folder, total=len(points), columns=beside.shape[1], size=size)


def whole(tiles: Tiles, ask) -> np.ndarray:
    """Answers of all tiles in the order of the cloud."""
    parts = [(tiles.load(tile).index, ask(tile)) for tile in range(len(tiles))]
    order = np.argsort(np.concatenate([index for index, _ in parts]))
    return np.concatenate([answers for _, answers in parts])[order]


def few_at_a_time(monkeypatch) -> None:
    """Tiles are read in small pieces, whose sums are added up."""
    monkeypatch.setattr(tiles_module, "READ", 64)
    monkeypatch.setattr(tiles_module, "TOGETHER", 150)


@pytest.mark.parametrize("size", [150, 700, 10_000])
@pytest.mark.parametrize("name", CLOUDS)
def test_shapes_are_those_of_the_whole_cloud(name, size, tmp_path, monkeypatch):
    """To the bit, in small tiles and in one."""
    few_at_a_time(monkeypatch)
    points = CLOUDS[name]
    tiles = tiles_of(points, tmp_path, size)
    assert size < 10_000 or len(tiles) == 1
    lattice = Lattice(cell_of(points) / 2)
    found = whole(tiles, lambda tile: tiles.pyramid(tile, lattice).shapes(tiles.load(tile).points))
    np.testing.assert_array_equal(found, local_geometry(points))


@pytest.mark.parametrize("lattice", [Lattice(0.25, 3), Lattice(4.0, 2)], ids=str)
def test_shapes_by_other_cells(lattice, tmp_path):
    """Cells far smaller and larger than tiles."""
    points = CLOUDS["street"]
    tiles = tiles_of(points, tmp_path, 300)
    found = whole(tiles, lambda tile: tiles.pyramid(tile, lattice).shapes(tiles.load(tile).points))
    np.testing.assert_array_equal(found, Pyramid.of(points, lattice).shapes(points))


@pytest.mark.parametrize("size", [150, 10_000])
@pytest.mark.parametrize("name", CLOUDS)
def test_averages_are_those_of_the_whole_cloud(name, size, tmp_path, monkeypatch):
    few_at_a_time(monkeypatch)
    points = CLOUDS[name]
    values = np.random.default_rng(1).random((len(points), 3))
    tiles = tiles_of(points, tmp_path, size)
    for tile in range(len(tiles)):
        tiles.keep("values", tile, values[tiles.load(tile).index])
    cell = cell_of(points)

    def means(tile: int) -> np.ndarray:
        return tiles.averages(tile, "values", Lattice(cell, LEVELS)).at(
            tiles.load(tile).points, tiles.kept("values", tile)
        )

    np.testing.assert_array_equal(whole(tiles, means), Averages.of(points, values, cell).at(points, values))


@pytest.mark.parametrize("size", [200])
@pytest.mark.parametrize("name", CLOUDS)
def test_the_cells_are_those_of_the_whole_cloud(name, size, tmp_path):
    assert tiles_of(CLOUDS[name], tmp_path, size).cell_size() == cell_of(CLOUDS[name])


def test_the_cells_of_more_points_than_are_asked(tmp_path):
    points = np.round(generate_street(9_000, random_state=2).X, 2)
    assert tiles_of(points, tmp_path, 1_000).cell_size() == cell_of(points)


def test_points_on_the_border_of_the_margin(tmp_path):
    """Steps of half a cell, and tiles that end on them: the margin is exactly wide enough."""
    steps = np.arange(-8, 8) * 0.5
    points = np.stack(np.meshgrid(steps, steps, [0.0, 3.5]), axis=-1).reshape(-1, 3)
    # a few units of the lattice to both sides of the border
    points = np.vstack(
        [points, points + 2.0**-21, points - 2.0**-21, points + 2.0**-20, points - 3 * 2.0**-22]
    )
    tiles = tiles_of(points, tmp_path, 60)
    lattice = Lattice(0.5, 2)
    assert len(tiles) > 20
    found = whole(tiles, lambda tile: tiles.pyramid(tile, lattice).shapes(tiles.load(tile).points))
    np.testing.assert_array_equal(found, Pyramid.of(points, lattice).shapes(points))


def test_what_lies_around_a_tile(tmp_path, monkeypatch):
    """All points within the margin along x and y and no others, a few at a time, with what was kept."""
    few_at_a_time(monkeypatch)
    points = CLOUDS["strays"]
    tiles = tiles_of(points, tmp_path, 300)
    for tile in range(len(tiles)):
        tiles.keep("place", tile, tiles.load(tile).index[:, None].astype(float))
    for tile in range(len(tiles)):
        own = tiles.load(tile).points[:, :2]
        low, high = own.min(axis=0) - 5, own.max(axis=0) + 5
        expected = ((points[:, :2] >= low) & (points[:, :2] <= high)).all(axis=1)
        seen = []
        for some, places in tiles.around(tile, 5, "place"):
            assert len(some) < 150 + 64
            np.testing.assert_array_equal(points[places[:, 0].astype(int)], some)
            seen.append(places[:, 0])
        assert sorted(np.concatenate(seen)) == np.flatnonzero(expected).tolist()
        assert all(values.size == 0 for _, values in tiles.around(tile, 5))


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


class TestCut:
    def test_parts_have_about_equally_many(self):
        points = CLOUDS["street"]
        cut = Cut.by(points, len(points), 400)
        counts = np.bincount(cut(points[:, :2]), minlength=cut.parts)
        assert cut.parts == 8
        assert counts.max() <= 400
        assert counts.min() >= 300

    def test_equal_places_stay_together(self):
        points = np.repeat([[0.0, 0, 0], [1.0, 0, 0], [1.0, 2.0, 0]], [10, 500, 20], axis=0)
        cut = Cut.by(points, len(points), 5)
        assert cut.parts == 3
        assert len(np.unique(cut(points[:, :2]))) == 3

    def test_one_part(self):
        cut = Cut.by(np.zeros((4, 3)), 4, 2)
        assert cut.parts == 1
        assert (cut(np.zeros((4, 2))) == 0).all()
