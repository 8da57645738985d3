"""The hands of the person: gestures and keys, through tools, to labels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from pinvgcn.app.canvas import Canvas
from pinvgcn.app.cloud import BUDGET, Clip, Shown
from pinvgcn.app.labels import NONE, free_colour, named
from pinvgcn.app.live import ReviewPlace
from pinvgcn.app.messages import camera_of, click_of, screen
from pinvgcn.app.session import Session
from pinvgcn.app.tools import NOTHING, Ball, Choice, Point, Polygon, Region, Sight, Tool, rectangle
from pinvgcn.errors import LabelError

ROOM = 1.0  # of the length of what is chosen, that a box around it leaves free on each side
BACK = 2.5  # of half of the length of a box, from where it is looked at


class Hands:
    """What is being done, shared by all tabs. ``changed`` is called when the panel should be told."""

    def __init__(self, session: Session, canvas: Canvas, *, budget: int = BUDGET) -> None:
        self.session, self.canvas, self._budget = session, canvas, budget
        self.shown = Shown.of_cloud(session.cloud, budget=budget)
        self.tools: dict[str, Tool] = {
            "point": Point(),
            "ball": Ball(canvas.extent / 100),
            "region": Region(self._piece),
            "polygon": Polygon(),
        }
        self.tool = "point"
        self.through = False
        self.chosen: int | None = None  # the class that labels get
        self.erasing = False
        self.pending = NOTHING  # points of the scan, shown, that Enter takes
        self._reviewed: ReviewPlace | None = None  # the place that is looked at
        self._last = NOTHING  # points that were chosen last
        self.wanted: Clip | None = None  # what is drawn, or will be
        self._lock, self._clipping = threading.RLock(), threading.Lock()
        self.changed: Callable[[], None] = lambda: None
        canvas.show(self.shown)

    # gestures

    def click(self, event: Any) -> None:
        """A press of the mouse on the scene."""
        click = click_of(event)
        with self._lock:
            sight = self._sight(event.client)
            choice = self.tools[self.tool].click(sight, click)
            self._take(choice)
            self.canvas.outline(event.client, sight.camera, choice.outline)

    def drag(self, event: Any) -> None:
        """A rectangle on the screen."""
        corner, opposite = screen(event.screen_min), screen(event.screen_max)
        with self._lock:
            self._take(rectangle(self._sight(event.client), corner, opposite))

    def enter(self, client: Any) -> None:
        """Take what is shown, or close the polygon."""
        with self._lock:
            if len(self.pending):
                self._label(self.pending)
                return
            sight = self._sight(client)
            self._take(self.tools[self.tool].enter(sight))
            self.canvas.outline(client, sight.camera, None)

    def escape(self, client: Any) -> None:
        """Forget what was begun."""
        with self._lock:
            self.tools[self.tool].forget()
            self._show(NOTHING)
            self.canvas.outline(client, camera_of(client), None)

    def resize(self, steps: int) -> None:
        """A larger or smaller tool."""
        with self._lock:
            choice = self.tools[self.tool].resize(steps)
            if choice is not None:
                self._take(choice)
        self.changed()

    def use(self, tool: str) -> None:
        """Take another tool."""
        with self._lock:
            self.tools[self.tool].forget()
            self._show(NOTHING)
            self.tool = tool
        self.changed()

    def see_through(self, through: bool) -> None:
        """Whether outlines take what is hidden."""
        self.through = bool(through)
        self.changed()

    # classes

    def choose(self, number: int) -> None:
        """The class that labels get."""
        named(self.session.view.classes, number)  # it may be gone
        self.chosen, self.erasing = number, False
        self.changed()

    def choose_place(self, place: int) -> None:
        """The same, by its place in the list."""
        classes = self.session.view.classes
        if place < len(classes):
            self.choose(classes[place].number)

    def erase(self) -> None:
        """Gestures take labels away until a class is chosen."""
        self.erasing = True
        self.changed()

    def add_class(self, name: str) -> None:
        """With this name, or another that is free."""
        classes = self.session.view.classes
        taken = {category.name for category in classes}
        if name in taken or not name.strip():
            name = next(f"class {i}" for i in range(1, 10_000) if f"class {i}" not in taken)
        self.session.do({"do": "add class", "name": name, "colour": list(free_colour(classes, name))})
        self.choose(self.session.view.classes[-1].number)

    def existing(self) -> int:
        """The class that is chosen."""
        if self.chosen is None:
            raise LabelError("There must be a class that is chosen. Add one, or choose one, first.")
        return self.chosen

    # review

    @property
    def place(self) -> int | None:
        """Which of the places to review is looked at; none when the answer has changed since."""
        places = enumerate(self.session.view.places)
        return next((number for number, place in places if place is self._reviewed), None)

    def walk(self, client: Any, step: int) -> None:
        """Go to the next place to review, or back to the one before."""
        places = self.session.view.places
        if not places:
            raise LabelError(
                "There is no place to review yet. Wait for the answer, or label points of two classes first."
            )
        with self._lock:
            before = self.place if self.place is not None else -1 if step > 0 else 0
            self._reviewed = place = places[(before + step) % len(places)]
            self._show(place.points)
        target = self.session.cloud.places(np.array([place.seed]))[0].astype(np.float64)
        self.canvas.fly(client, target, self.canvas.extent / 5)
        self.changed()

    def accept(self) -> None:
        """Label the place that is reviewed by the class that the answer gives it."""
        place = self._reviewed
        if place is None or self.place is None:  # nobody has looked at what the answer says now
            raise LabelError("There must be a place that is reviewed. Press N first.")
        with self._lock:
            self._show(NOTHING)
            self._last = place.points
        self.session.label(place.points, place.number)

    # clipping

    def clip(self, clip: Clip | None) -> None:
        """Draw what lies in a box alone, up to the budget; None for the whole scan."""
        self.wanted = clip
        with self._clipping:  # of several wishes that waited, the last counts
            if self.wanted == self.shown.clip:
                return
            shown = Shown.of_cloud(self.session.cloud, self.wanted, budget=self._budget)
            if len(shown) == 0:
                self.wanted = self.shown.clip
                raise LabelError("The clipping box must hold some points. Got none; make it larger.")
            with self._lock:
                self.tools[self.tool].forget()
                self._show(NOTHING)
                self.shown = shown
                self.canvas.show(shown)
        self.changed()

    def clip_around(self, client: Any = None) -> None:
        """A box around what is shown or was chosen last, and go there; where there is a box, it goes."""
        if self.shown.clip is not None:
            self.clip(None)
            return
        points = self.pending if len(self.pending) else self._last
        if len(points) == 0:
            raise LabelError("There must be something to clip around. Click a point first.")
        places = self.session.cloud.places(points).astype(np.float64)
        low, high = places.min(axis=0), places.max(axis=0)
        free = max(ROOM * float((high - low).max()), self.canvas.extent / 20)
        self.clip(Clip.of(low - free, high + free))
        if client is not None:
            self.canvas.fly(client, (low + high) / 2, BACK * (float((high - low).max()) / 2 + free))

    # within

    def _sight(self, client: Any) -> Sight:
        return Sight(self.shown.points, camera_of(client), 0.5 * self.canvas.size, self.through)

    def _piece(self, row: int, size: int) -> np.ndarray:
        """The drawn points in the piece of like points around a drawn one."""
        inside = np.zeros(len(self.session.cloud.sample), dtype=bool)
        inside[self.session.piece(int(self.shown.index[row]), size)] = True
        return np.flatnonzero(inside[self.shown.rows])

    def _take(self, choice: Choice) -> None:
        points = self.shown.index[choice.rows]
        if choice.taken and len(points):
            self._label(points)
        else:
            self._show(points)

    def _label(self, points: np.ndarray) -> None:
        number = NONE if self.erasing else self.existing()
        self._show(NOTHING)
        self._last = points
        self.tools[self.tool].forget()
        self.session.label(points, number)

    def _show(self, points: np.ndarray) -> None:
        self.pending = points
        self.canvas.mark("/chosen", self.session.cloud.places(points))
