"""The order along a curve: by hand, and near each other what is near on it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pinvgcn.nn.problem import along_curve


def test_a_line_is_walked_from_end_to_end():
    x = np.random.default_rng(0).normal(size=50)
    np.testing.assert_array_equal(along_curve(x[:, None]), np.argsort(x))


@pytest.mark.parametrize("dimension", [2, 3])
def test_corners_of_a_cube_by_hand(dimension):
    """The first axis has the lowest bit."""
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=dimension)))[:, ::-1]
    shuffled = np.random.default_rng(0).permutation(len(corners))
    np.testing.assert_array_equal(corners[shuffled][along_curve(corners[shuffled])], corners)


def test_every_row_once_and_neighbours_together():
    places = np.random.default_rng(0).random((4_096, 3)) * [30, 20, 5] + 1e6
    order = along_curve(places)
    np.testing.assert_array_equal(np.sort(order), np.arange(4_096))
    groups = places[order].reshape(256, 16, 3)
    assert groups.var(axis=1).sum() < 0.1 * 256 * places.var(axis=0).sum()


@pytest.mark.parametrize("places", [np.zeros((5, 3)), np.full((4, 1), 7.0), np.ones((3, 100))], ids=str)
def test_places_that_are_equal_stay_as_they_are(places):
    np.testing.assert_array_equal(along_curve(places), np.arange(len(places)))


def test_one_width_for_all_axes():
    """A flat cloud is cut along its length first: the unit of each axis is the same."""
    flat = np.array([[0, 0.9], [10, 0.0], [0, 0.0], [10, 0.9]])
    assert along_curve(flat).tolist() == [2, 0, 1, 3]
