"""What a picture of points must show."""

from __future__ import annotations

import numpy as np

from pinvgcn.report.figures.scene import camera_for, render

RED, BLUE = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])


def street() -> np.ndarray:
    return np.random.default_rng(0).uniform([0, 0, 0], [100, 20, 10], size=(500, 3))


def test_every_point_is_in_the_window() -> None:
    points = street()
    camera = camera_for(points)
    plane, depth = camera.project(points)
    left, right, bottom, top = camera.window
    assert (depth > 0).all()
    assert (plane[:, 0] > left).all()
    assert (plane[:, 0] < right).all()
    assert (plane[:, 1] > bottom).all()
    assert (plane[:, 1] < top).all()


def test_up_is_up_and_axes_are_perpendicular() -> None:
    points = street()
    camera = camera_for(points)
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    pole, _ = camera.project(np.array([[50.0, 10, 0], [50, 10, 10]]))
    assert pole[1, 1] > pole[0, 1]
    assert abs(pole[1, 0] - pole[0, 0]) < abs(pole[1, 1] - pole[0, 1])


def test_the_long_side_lies_across_the_picture_either_way() -> None:
    points = street()
    for cloud in (points, points[:, [1, 0, 2]]):
        assert camera_for(cloud).aspect < 1


def test_near_points_hide_far_ones_unless_these_are_on_top() -> None:
    cloud = street()
    camera = camera_for(cloud)
    direction = camera.axes[2]
    near = cloud.mean(axis=0)
    pair = np.array([near + 5 * direction, near])  # one behind the other, the farther one first
    for order in ([0, 1], [1, 0]):
        image = render(pair[order], np.array([RED, BLUE])[order], camera, width=300, size=3)
        seen = image[image[..., 3] > 0]
        assert (seen[:, 2] > 0).sum() > (seen[:, 0] > 0).sum()
    image = render(pair, np.array([RED, BLUE]), camera, width=300, size=3, on_top=np.array([True, False]))
    seen = image[image[..., 3] > 0]
    assert (seen[:, 0] > 0).sum() > (seen[:, 2] > 0).sum()


def test_the_background_is_transparent_and_colours_only_get_darker() -> None:
    points = street()
    colour = np.array([0.9, 0.5, 0.2])
    image = render(points, np.tile(colour, (len(points), 1)), camera_for(points), width=400)
    empty = image[..., 3] == 0
    assert 0.3 < empty.mean() < 1
    assert (image[~empty][:, :3] <= colour + 1e-12).all()
    assert (image[~empty][:, 0] > 0.3).all()


def test_nearer_discs_are_larger() -> None:
    points = street()
    camera = camera_for(points)
    near, far = points.mean(axis=0) - 50 * camera.axes[2], points.mean(axis=0) + 50 * camera.axes[2]
    both = np.array([near + camera.axes[0] * 10, far - camera.axes[0] * 10])
    image = render(both, np.array([RED, BLUE]), camera, width=600, size=5)
    assert (image[..., 0] > 0).sum() > (image[..., 2] > 0).sum() > 0
