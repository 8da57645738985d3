"""Tools: from gestures to points, against what geometry says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from test_picking import CONCAVE, camera, crossings, wall

from pinvgcn.app.canvas import round_length
from pinvgcn.app.picking import Camera
from pinvgcn.app.tools import (
    SIZES,
    SMALLEST,
    STEP,
    Ball,
    Click,
    Point,
    Polygon,
    Region,
    Regions,
    Sight,
    rectangle,
)


def sight(points: np.ndarray, seen: Camera | None = None, *, through: bool = True) -> Sight:
    return Sight(points, seen or camera(), 0.02, through)


def at(point: np.ndarray, screen: np.ndarray | None = None) -> Click:
    return Click(np.zeros(3), point, np.zeros(2) if screen is None else screen)


def test_point_and_ball() -> None:
    points = wall(4.0)
    row = 840
    assert Point().click(sight(points), at(points[row])).rows.tolist() == [row]
    ball = Ball(0.2)
    for steps, radius in ((0, 0.2), (2, 0.2 * 1.25**2), (-3, 0.2 / 1.25)):
        ball.resize(steps)
        choice = ball.click(sight(points), at(points[row]))
        assert choice.taken
        inside = np.linalg.norm(points - points[row], axis=1) <= radius
        assert choice.rows.tolist() == np.flatnonzero(inside).tolist()
    assert len(ball.click(sight(points), at(np.array([0.0, -1.0, 0.0]))).rows) == 0


def test_a_polygon_is_set_corner_by_corner() -> None:
    points, polygon = wall(4.0), Polygon()
    assert len(polygon.enter(sight(points)).rows) == 0  # no corner yet
    for number, corner in enumerate(CONCAVE, start=1):
        choice = polygon.click(sight(points), at(points[0], corner))
        assert choice.outline is not None
        assert choice.outline.tolist() == CONCAVE[:number].tolist()
        assert not choice.taken
    taken = polygon.enter(sight(points))
    screen, _ = camera().project(points)
    assert taken.taken
    assert taken.rows.tolist() == [row for row, place in enumerate(screen) if crossings(place, CONCAVE)]
    assert len(polygon.enter(sight(points)).rows) == 0  # it begins anew


def test_a_polygon_belongs_to_one_view() -> None:
    points, polygon = wall(4.0), Polygon()
    elsewhere = Camera.looking(
        np.array([0.5, 0.0, 0.0]), np.array([0.0, 5.0, 0.0]), np.array([0.0, 0.0, 1.0]), fov=1.0, aspect=1.5
    )
    for corner in CONCAVE[:3]:
        polygon.click(sight(points), at(points[0], corner))
    choice = polygon.click(sight(points, elsewhere), at(points[0], CONCAVE[3]))
    assert choice.outline is not None
    assert len(choice.outline) == 1
    for corner in CONCAVE[:2]:
        polygon.click(sight(points, elsewhere), at(points[0], corner))
    assert len(polygon.enter(sight(points)).rows) == 0  # closed from yet another view


def test_a_rectangle_from_any_corner() -> None:
    points = wall(4.0)
    one = rectangle(sight(points), np.array([0.4, 0.45]), np.array([0.6, 0.7]))
    other = rectangle(sight(points), np.array([0.6, 0.45]), np.array([0.4, 0.7]))
    screen, _ = camera().project(points)
    inside = (screen >= [0.4, 0.45]).all(axis=1) & (screen <= [0.6, 0.7]).all(axis=1)
    assert one.rows.tolist() == other.rows.tolist() == np.flatnonzero(inside).tolist()


@given(st.integers(0, 10_000), st.integers(0, SIZES - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_region_is_a_connected_component_of_like_points(seed: int, size: int, classes: bool) -> None:
    rng = np.random.default_rng(seed)
    n, k = 120, 5
    points, shapes = rng.uniform(size=(n, 3)), 0.4 * rng.normal(size=(n, 4))
    near = cKDTree(points).query(points, k)[1]
    around = sp.csr_array((np.full(n * k, 1 / k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    answer = rng.integers(0, 2, n) if classes else None
    start = int(rng.integers(n))
    found = Regions(shapes, around).around(start, size, answer)
    mean = around @ shapes
    like = ((mean - mean[start]) ** 2).mean(axis=1) <= SMALLEST * STEP**size
    if answer is not None:
        like &= answer == answer[start]
    joined = around.toarray() * like * like[:, None]
    piece = connected_components(joined, directed=False)[1]
    assert found.tolist() == np.flatnonzero(like & (piece == piece[start])).tolist()
    if size:
        assert set(Regions(shapes, around).around(start, size - 1, answer)) <= set(found)


def test_a_region_is_shown_before_it_is_taken_and_resized() -> None:
    points = wall(4.0)
    asked = []

    def around(row: int, size: int) -> np.ndarray:
        asked.append((row, size))
        return np.arange(row, row + size)

    region = Region(around)
    assert region.resize(1) is None  # nothing was clicked
    choice = region.click(sight(points), at(points[840]))
    assert not choice.taken
    larger = region.resize(1)
    assert larger is not None
    assert len(larger.rows) == len(choice.rows) + 1
    assert [row for row, _ in asked] == [840, 840]
    region.forget()
    assert region.resize(-1) is None
    for _ in range(2 * SIZES):
        region.resize(-1)
    assert region.size == f"size 1 of {SIZES}"


@pytest.mark.parametrize(("most", "length"), [(37.0, 20), (5.0, 5), (0.3, 0.2), (1.0, 1), (999, 500)])
def test_scale_bars_are_round(most: float, length: float) -> None:
    assert round_length(most) == pytest.approx(length)
