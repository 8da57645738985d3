"""The box around a cloud, turned to the cloud's own axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.kernels import Box

seeds = st.integers(0, 10**6)


def turned(dimension: int, seed: int) -> np.ndarray:
    """A random rotation."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(dimension, dimension)))[0]


def blob(n: int, dimension: int, seed: int) -> np.ndarray:
    """A cloud whose principal axes are told apart."""
    return np.random.default_rng(seed).normal(size=(n, dimension)) * 3.0 ** -np.arange(dimension)


@given(seeds, st.integers(1, 40), st.integers(1, 5), st.floats(-1e7, 1e7))
def test_it_holds_its_points_and_no_smaller_one_does(seed: int, n: int, dimension: int, shift: float) -> None:
    points = blob(n, dimension, seed) + shift
    box = Box.around(points)
    assert box.dimension == dimension
    np.testing.assert_allclose(box.axes.T @ box.axes, np.eye(dimension), atol=1e-12)
    rounding = 1e-14 * (1 + abs(shift))
    reached = np.abs(box.axes.T @ (points - box.centre).T)  # by the definition
    np.testing.assert_allclose(reached.max(axis=1), box.half, rtol=0, atol=20 * rounding * np.sqrt(dimension))
    assert box.distance(points).max() <= 20 * rounding * dimension


@given(seeds, st.integers(2, 4))
def test_sides_do_not_depend_on_the_direction_or_place_of_a_cloud(seed: int, dimension: int) -> None:
    points = blob(200, dimension, seed)
    moved = points @ turned(dimension, seed + 1).T + 1e3
    np.testing.assert_allclose(Box.around(moved).half, Box.around(points).half, rtol=1e-8)


@pytest.mark.parametrize("span", [0, 1, 2])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_a_flat_cloud_has_no_thickness(span: int, offset: float) -> None:
    """As many sides as the cloud has dimensions, the same as those of its flat twin."""
    flat = np.random.default_rng(3).normal(size=(100, span)) * np.array([1.0, 4.0])[:span]
    points = flat @ turned(3, 5)[:span] + offset
    half = np.sort(Box.around(points).half)
    np.testing.assert_array_equal(half[: 3 - span] < 1e-8 * (1 + offset), True)
    if offset == 0:
        np.testing.assert_array_equal(half[: 3 - span], 0)
    if span:
        np.testing.assert_allclose(half[3 - span :], np.sort(Box.around(flat).half), rtol=1e-7)


def test_distance_from_the_box() -> None:
    corners = np.array([[x, y] for x in (0.0, 4.0) for y in (0.0, 2.0)])
    box = Box.around(corners)
    np.testing.assert_allclose(np.sort(box.half), [1, 2])
    outside = np.array([[2.0, 1.0], [4.0, 2.0], [5.0, 1.0], [2.0, -3.0], [7.0, 6.0]])
    np.testing.assert_allclose(box.distance(outside), [0, 0, 1, 3, 5], atol=1e-12)


def test_state_is_all_of_it() -> None:
    box = Box.around(blob(20, 3, 0))
    again = Box(**box.state())
    points = blob(5, 3, 1)
    assert again.local(points).tobytes() == box.local(points).tobytes()
    np.testing.assert_array_equal(again.half, box.half)
