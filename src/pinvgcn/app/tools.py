"""Tools: each turns what a person does on the screen into a set of points.

A tool answers a gesture with a `Choice`: points to take at once, points that are shown before they are taken,
or a line on the screen that is not closed yet. What is done with them, labels or erasing, is no tool's
business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from pinvgcn.app.picking import Camera, pick, within

NOTHING = np.empty(0, dtype=np.int64)
GROWTH = 1.25  # of a ball, from one size to the next
MOST_CORNERS = 200
SMALLEST, STEP = 0.0005, 1.5  # the likeness that size 0 asks for, and the factor from one size to the next
SIZE, SIZES = 7, 16  # to begin with; there are so many


@dataclass(frozen=True)
class Sight:
    """What is on the screen: points, as drawn, from a camera."""

    points: np.ndarray  # (m, 3)
    camera: Camera
    radius: float  # of a drawn point
    through: bool  # whether an outline takes what is hidden, too

    def inside(self, corners: np.ndarray) -> np.ndarray:
        """The points in a polygon of the screen (k, 2)."""
        return within(self.points, self.camera, corners, radius=self.radius, through=self.through)


@dataclass(frozen=True)
class Click:
    """A press of the mouse: the ray through the scene, and the place on the screen."""

    origin: np.ndarray  # (3,)
    direction: np.ndarray  # (3,)
    at: np.ndarray  # (2,)


@dataclass(frozen=True)
class Choice:
    """What a gesture has chosen."""

    rows: np.ndarray = field(default_factory=lambda: NOTHING)  # of the drawn points
    taken: bool = False  # at once; else they are shown, and Enter takes them
    outline: np.ndarray | None = None  # (k, 2) corners on the screen so far


class Tool:
    """A tool that knows no gesture; others override what they know."""

    def click(self, sight: Sight, click: Click) -> Choice:
        """A press of the mouse."""
        row = pick(sight.points, click.origin, click.direction, radius=sight.radius)
        return Choice() if row is None else self.hit(sight, row)

    def hit(self, sight: Sight, row: int) -> Choice:
        """A press on a point."""
        raise NotImplementedError

    def enter(self, sight: Sight) -> Choice:
        """The Enter key."""
        return Choice()

    def resize(self, steps: int) -> Choice | None:
        """+ and −; None where nothing is to be shown anew."""
        return None

    def forget(self) -> None:
        """What was begun is not wanted any more."""

    @property
    def size(self) -> str:
        """For people; "" where there is none."""
        return ""


class Point(Tool):
    """The point that is clicked."""

    def hit(self, sight: Sight, row: int) -> Choice:
        return Choice(np.array([row]), taken=True)


class Ball(Tool):
    """All points within a radius of the one that is clicked; further clicks paint."""

    def __init__(self, radius: float) -> None:
        self._first, self._step = radius, 0

    @property
    def radius(self) -> float:
        """In metres."""
        return self._first * GROWTH**self._step

    @property
    def size(self) -> str:
        return f"radius {self.radius:.3g} m"

    def hit(self, sight: Sight, row: int) -> Choice:
        away = ((sight.points - sight.points[row]) ** 2).sum(axis=1)
        return Choice(np.flatnonzero(away <= self.radius**2), taken=True)

    def resize(self, steps: int) -> None:
        self._step = int(np.clip(self._step + steps, -15, 15))


class Region(Tool):
    """The connected piece of like points around the one that is clicked, shown before it is taken.

    ``around`` gives the drawn points of the piece around a drawn one, at a size.
    """

    def __init__(self, around: Callable[[int, int], np.ndarray]) -> None:
        self._around, self._size = around, SIZE
        self._seed: int | None = None

    @property
    def size(self) -> str:
        return f"size {self._size + 1} of {SIZES}"

    def hit(self, sight: Sight, row: int) -> Choice:
        self._seed = row
        return Choice(self._around(row, self._size))

    def resize(self, steps: int) -> Choice | None:
        self._size = int(np.clip(self._size + steps, 0, SIZES - 1))
        return None if self._seed is None else Choice(self._around(self._seed, self._size))

    def forget(self) -> None:
        self._seed = None


class Regions:
    """Pieces of n points that neighbours join; ``forms`` (n, f), from 0 to 1, say how like two
    points are."""

    def __init__(self, forms: np.ndarray, around: sp.csr_array) -> None:
        self._forms = around @ forms  # of a place, not of a single odd point
        both = sp.csr_array(around + around.T)
        self._start, self._near = both.indptr, both.indices

    def around(self, seed: int, size: int, answer: np.ndarray | None = None) -> np.ndarray:
        """The points that a path of like points joins to ``seed``: rows, rising.

        x is like the seed t if |s − s_t|²/f ≤ 0.0005 · 1.5^size, with the mean form s over its neighbours,
        and if it has the same class in the ``answer`` (n,). A larger size has all points of the smaller ones.
        """
        own, most = self._forms[seed], SMALLEST * STEP**size
        met = np.zeros(len(self._forms), dtype=bool)
        met[seed] = True
        front, found = np.array([seed]), [np.array([seed])]
        while len(front):  # only what lies around the piece is looked at, however large the scan
            start, stop = self._start[front], self._start[front + 1]
            lengths = stop - start
            within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            near = self._near[np.repeat(start, lengths) + within]
            near = np.unique(near[~met[near]])
            met[near] = True
            like = ((self._forms[near] - own) ** 2).mean(axis=1) <= most
            if answer is not None:
                like &= answer[near] == answer[seed]
            front = near[like]
            found.append(front)
        return np.sort(np.concatenate(found))


class Polygon(Tool):
    """What lies in a polygon whose corners are clicked; Enter closes it. It belongs to one view of the scene:
    when the camera has moved, the next corner begins another."""

    def __init__(self) -> None:
        self._corners: list[np.ndarray] = []
        self._camera: Camera | None = None

    def click(self, sight: Sight, click: Click) -> Choice:
        if not self._same(sight.camera):
            self.forget()
        self._camera = sight.camera
        self._corners = [*self._corners, click.at][-MOST_CORNERS:]
        return Choice(outline=np.array(self._corners))

    def enter(self, sight: Sight) -> Choice:
        corners, same = np.array(self._corners), self._same(sight.camera)
        self.forget()
        if len(corners) < 3 or not same:
            return Choice()
        return Choice(sight.inside(corners), taken=True)

    def forget(self) -> None:
        self._corners, self._camera = [], None

    def _same(self, camera: Camera) -> bool:
        was = self._camera
        return was is not None and bool(
            np.allclose(was.position, camera.position, rtol=1e-4, atol=1e-6)
            and np.allclose(was.rotation, camera.rotation, atol=1e-4)
            and np.isclose(was.aspect, camera.aspect, rtol=1e-3)
        )


def rectangle(sight: Sight, corner: np.ndarray, opposite: np.ndarray) -> Choice:
    """What lies in a rectangle of the screen that was dragged, whichever tool is chosen."""
    (left, top), (right, bottom) = np.minimum(corner, opposite), np.maximum(corner, opposite)
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    return Choice(sight.inside(corners), taken=True)
