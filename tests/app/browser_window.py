"""What the tests of the page share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pinvgcn.app.canvas import FOV, standing
from pinvgcn.app.picking import Camera

WIDTH, HEIGHT = 1280, 720
SCENE = 956  # of the width, that the panel leaves for the scan


def until(true: Callable[[], bool], *, seconds: float = 60.0, what: str = "") -> None:
    """Waits."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        time.sleep(0.05)


class Person:
    """Knows where on the screen a point is, in the first view that the page gives."""

    def __init__(self, page: Any, points: np.ndarray) -> None:
        self.page = page
        self.shown = points - (points.min(axis=0) + points.max(axis=0)) / 2
        extent = np.linalg.norm(np.ptp(points, axis=0))
        self.radius = float(extent) / 600 / 2  # of a drawn point
        up = np.array([0.0, 0.0, 1.0])
        position = standing("3D", self.shown.max(axis=0), SCENE / HEIGHT)
        self.camera = Camera.looking(position, np.zeros(3), up, fov=FOV, aspect=SCENE / HEIGHT)
        self.screen, self.depth = self.camera.project(self.shown)

    def click(self, point: int) -> None:
        """On a point."""
        self.click_at(self.screen[point])

    def click_at(self, place: np.ndarray) -> None:
        """On a place of the screen."""
        self.page.mouse.click(*self.pixel(place))

    def pixel(self, place: np.ndarray) -> tuple[int, int]:
        """The nearest whole pixel."""
        return round(float(place[0]) * SCENE), round(float(place[1]) * HEIGHT)

    def drag(self, low: tuple[float, float], high: tuple[float, float]) -> None:
        """A rectangle, with the shift key held down."""
        self.page.keyboard.down("Shift")
        self.page.mouse.move(*self.pixel(np.array(low)))
        self.page.mouse.down()
        self.page.mouse.move(*self.pixel(np.array(high)), steps=5)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def says(self, text: str) -> bool:
        """Whether it stands on the page."""
        return bool(text in self.page.inner_text("body"))

    def alone(self, y: np.ndarray, code: int) -> int:
        """A point of a class that can be clicked: beside the notices of viser, before all near it."""
        pixels = self.screen * [SCENE, HEIGHT]
        for point in np.flatnonzero(y == code):
            x, height = pixels[point]
            if not (330 < x < 940 and 160 < height < 620):
                continue
            near = np.linalg.norm(pixels - pixels[point], axis=1) < 12
            if self.depth[point] <= self.depth[near].min():
                return int(point)
        raise AssertionError("no such point in view")
