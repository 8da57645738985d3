"""Picking: what is seen is taken, what is behind it is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinvgcn.app.picking import Camera, pick, within

UP = np.array([0.0, 0.0, 1.0])
WHOLE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
# an arrowhead: the middle of its bounding box is outside it
CONCAVE = np.array([[0.2, 0.2], [0.8, 0.25], [0.45, 0.45], [0.3, 0.8]])


def wall(distance: float, *, spacing: float = 0.05, size: float = 2.0) -> np.ndarray:
    """A grid of points across the view along +y."""
    side = np.arange(-size / 2, size / 2 + 1e-9, spacing)
    x, z = np.meshgrid(side, side)
    return np.stack([x.ravel(), np.full(x.size, distance), z.ravel()], axis=1)


def camera(aspect: float = 1.5) -> Camera:
    return Camera.looking(np.zeros(3), np.array([0.0, 5.0, 0.0]), UP, fov=np.pi / 3, aspect=aspect)


def crossings(at: np.ndarray, corners: np.ndarray) -> bool:
    """Whether a place lies in a polygon: an odd number of its sides crosses the line to the right."""
    odd = False
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if (ay > at[1]) != (by > at[1]) and at[0] < ax + (at[1] - ay) / (by - ay) * (bx - ax):
            odd = not odd
    return odd


def test_the_projection_is_that_of_a_pinhole() -> None:
    # at fov 60° and distance 2 the half height is 2 tan 30°
    half = 2 * np.tan(np.pi / 6)
    points = np.array([[0, 2, 0], [0, 2, half], [0, 2, -half], [1.5 * half, 2, 0], [0, -2, 0]])
    screen, depth = camera().project(points)
    assert screen[:4] == pytest.approx(np.array([[0.5, 0.5], [0.5, 0], [0.5, 1], [1, 0.5]]), abs=1e-12)
    assert depth == pytest.approx([2, 2, 2, 2, -2])
    assert camera().unproject(screen[:4], 2.0) == pytest.approx(points[:4], abs=1e-12)


def test_a_click_takes_the_front_not_what_is_behind() -> None:
    front, back = wall(4.0), wall(6.0)
    points = np.concatenate([back, front])
    # the ray passes exactly through a point of the wall behind, and 2 cm beside one of the front
    target = np.array([0.5, 6.0, 0.5])
    assert np.any(np.isclose(back, target).all(axis=1))
    taken = pick(points, np.zeros(3), target)
    assert taken is not None
    assert taken >= len(back)
    assert points[taken] == pytest.approx([0.35, 4.0, 0.35], abs=1e-9)


def test_nothing_is_picked_beside_the_cloud_or_behind_the_camera() -> None:
    assert pick(wall(4.0), np.zeros(3), np.array([0.0, 1.0, 2.0])) is None
    assert pick(wall(-4.0), np.zeros(3), np.array([0.0, 1.0, 0.0])) is None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_a_click_on_a_lone_point_finds_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (50, 3)) + np.array([0, 5, 0])
    angles = points / np.linalg.norm(points, axis=1, keepdims=True)
    apart = (angles @ angles.T - 2 * np.eye(50)).max(axis=1) < np.cos(0.02)
    for row in np.flatnonzero(apart):
        assert pick(points, np.zeros(3), points[row]) == row


def test_an_outline_takes_what_is_seen_in_it() -> None:
    front, back = wall(4.0, size=1.0), wall(6.0, size=4.0)
    points = np.concatenate([back, front])
    seen = within(points, camera(), WHOLE, radius=0.05)
    hidden = np.setdiff1d(np.arange(len(points)), seen)
    assert set(range(len(back), len(points))) <= set(seen.tolist())  # the whole of the front
    # behind it, the shadow of a square of half side 0.5 at distance 4 is one of 0.75 at 6
    shadow = np.abs(back[:, [0, 2]]).max(axis=1)
    assert np.all(shadow[hidden] < 0.75 + 0.1)
    assert np.isin(np.flatnonzero(shadow < 0.75 - 0.1), hidden).all()
    assert within(points, camera(), WHOLE, radius=0.05, through=True).tolist() == list(range(len(points)))


@pytest.mark.parametrize("through", [True, False])
def test_a_concave_polygon_with_hidden_points(through: bool) -> None:
    front, back = wall(4.0, size=1.5), wall(6.0, size=4.0)
    points = np.concatenate([back, front])
    screen, _ = camera().project(points)
    inside = np.array([crossings(at, CONCAVE) for at in screen])
    taken = within(points, camera(), CONCAVE, radius=0.03, through=through)
    if through:
        assert taken.tolist() == np.flatnonzero(inside).tolist()
        return
    shadow = np.abs(points[:, [0, 2]]).max(axis=1) * 4 / points[:, 1] < 0.75  # behind the front wall
    seen = inside & ((points[:, 1] == 4.0) | ~shadow)
    border = np.abs(np.abs(points[:, [0, 2]]).max(axis=1) * 4 / points[:, 1] - 0.75) < 0.06
    differ = np.setxor1d(taken, np.flatnonzero(seen))
    assert border[differ].all()  # only along the edge of the shadow, by the width of a drawn point
    assert np.isin(np.flatnonzero(inside & (points[:, 1] == 4.0)), taken).all()


def test_the_outline_bounds_the_choice() -> None:
    points = wall(4.0)
    screen, _ = camera().project(points)
    corners = np.array([[0.4, 0.45], [0.6, 0.45], [0.6, 0.7], [0.4, 0.7]])
    inside = (screen >= [0.4, 0.45]).all(axis=1) & (screen <= [0.6, 0.7]).all(axis=1)
    assert within(points, camera(), corners).tolist() == np.flatnonzero(inside).tolist()
    assert len(within(points, camera(), corners / 100)) == 0
    assert len(within(wall(-4.0), camera(), WHOLE)) == 0
