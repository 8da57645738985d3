"""What a person has labelled so far: classes, the class of each point, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvgcn.errors import LabelError

NONE = -1  # a point without a label
# Okabe and Ito's colours, which people with any kind of colour vision can tell apart, then others
COLOURS = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0), (204, 121, 167), (86, 180, 233),
    (240, 228, 66), (148, 103, 189), (140, 86, 75), (23, 190, 207),
)  # fmt: skip
# what people expect of names that scans often have, by what the name begins with
USUAL = {
    "ground": (140, 86, 75), "road": (140, 86, 75), "veg": (0, 158, 115), "high veg": (0, 158, 115),
    "medium veg": (23, 190, 207), "low veg": (240, 228, 66),
    "tree": (0, 158, 115), "building": (230, 159, 0), "facade": (230, 159, 0), "pole": (0, 114, 178),
    "wire": (213, 94, 0), "car": (204, 121, 167), "water": (86, 180, 233),
}  # fmt: skip
LONGEST = 60  # characters of a name
Action = dict[str, Any]


@dataclass(frozen=True)
class Category:
    """A class to choose, with its colour on the page."""

    number: int  # what labels say; never given twice
    name: str
    colour: tuple[int, int, int]


class LabelBook:
    """Actions on the labels of n points, each of which can be undone and done again, without limit.

    An action is a dict of plain values, so that a file can keep it::

        {"do": "label", "points": [4, 9], "class": 0}
        {"do": "erase", "points": [4]}
        {"do": "add class", "name": "pole", "colour": [0, 114, 178]}
        {"do": "rename class", "class": 0, "name": "post"}
        {"do": "recolour class", "class": 0, "colour": [0, 0, 0]}
        {"do": "delete class", "class": 0}            its labels go too
        {"do": "together", "actions": [ … ]}          several of these as one
        {"do": "begin", "actions": [ … ]}             the same before all others; it stays
        {"do": "undo"}, {"do": "redo"}

    Equal actions in equal order give equal books.
    """

    def __init__(self, count: int) -> None:
        self.of_point = np.full(count, NONE, dtype=np.int32)  # (n,) number of the class
        self.classes: list[Category] = []
        self._given = 0  # numbers of classes so far
        self._done: list[tuple[Action, Callable[[], None]]] = []  # with the way back
        self._undone: list[Action] = []

    @property
    def labelled(self) -> np.ndarray:
        """The points with a label, in order."""
        return np.flatnonzero(self.of_point != NONE)

    @property
    def can_undo(self) -> bool:
        """Whether there is something to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is something to do again."""
        return bool(self._undone)

    def adding(self, names: Sequence[str]) -> tuple[list[Action], dict[str, int]]:
        """Actions that add the classes of these names that are missing, and the number of each name then."""
        now, actions = list(self.classes), list[Action]()
        for name in names:
            if name not in [category.name for category in now]:
                now.append(Category(self._given + len(actions), name, free_colour(now, name)))
                actions.append({"do": "add class", "name": name, "colour": list(now[-1].colour)})
        return actions, {category.name: category.number for category in now}

    def do(self, action: Action) -> None:
        """Carry out an action, or raise a LabelError and change nothing."""
        kind = action.get("do")
        if kind == "undo":
            if not self._done:
                raise LabelError("There is nothing to undo.")
            undone, back = self._done.pop()
            back()
            self._undone.append(undone)
        elif kind == "redo":
            if not self._undone:
                raise LabelError("There is nothing to do again.")
            again = self._undone[-1]
            self._done.append((again, self._carry_out(again)))
            self._undone.pop()
        elif kind == "begin":
            if self._done or self._undone:
                raise LabelError("What a book begins with must come before everything else.")
            self._together(action.get("actions"))
        else:
            self._done.append((action, self._carry_out(action)))
            self._undone.clear()

    def _carry_out(self, action: Action) -> Callable[[], None]:
        """Do it; returns what takes it back."""
        kind = action.get("do")
        if kind == "label":
            return self._put(self._points(action), named(self.classes, action.get("class")).number)
        if kind == "erase":
            return self._put(self._points(action))
        if kind == "add class":
            new = Category(self._given, self._name(action), _colour(action))
            return self._put(classes=[*self.classes, new], given=self._given + 1)
        if kind == "rename class":
            return self._replace(action, name=self._name(action))
        if kind == "recolour class":
            return self._replace(action, colour=_colour(action))
        if kind == "delete class":
            gone = named(self.classes, action.get("class"))
            points = np.flatnonzero(self.of_point == gone.number)
            return self._put(points, classes=[c for c in self.classes if c is not gone])
        if kind == "together":
            return self._together(action.get("actions"))
        raise LabelError(f"An action must be one of those that the page has. Got {_short(kind)} instead.")

    def _put(
        self,
        points: np.ndarray | None = None,
        number: int = NONE,
        *,
        classes: list[Category] | None = None,
        given: int | None = None,
    ) -> Callable[[], None]:
        """Labels of points, or classes; returns what puts back those of before."""
        rows = np.empty(0, dtype=np.int64) if points is None else points
        labels, categories, numbers = self.of_point[rows], self.classes, self._given  # a copy of the labels
        self.of_point[rows] = number
        self.classes = categories if classes is None else classes
        self._given = numbers if given is None else given

        def back() -> None:
            self.of_point[rows], self.classes, self._given = labels, categories, numbers

        return back

    def _replace(self, action: Action, **changes: Any) -> Callable[[], None]:
        old = named(self.classes, action.get("class"))
        return self._put(classes=[replace(c, **changes) if c is old else c for c in self.classes])

    def _together(self, actions: Any) -> Callable[[], None]:
        if not isinstance(actions, list) or not actions or not all(isinstance(one, dict) for one in actions):
            raise LabelError(f"actions must be a list of actions. Got {_short(actions)} instead.")
        if any(one.get("do") == "together" for one in actions):
            raise LabelError("Actions that belong together must not hold others that do.")
        ways: list[Callable[[], None]] = []

        def back() -> None:
            while ways:
                ways.pop()()

        try:
            for one in actions:
                ways.append(self._carry_out(one))
        except BaseException:
            back()
            raise
        return back

    def _points(self, action: Action) -> np.ndarray:
        try:
            points = np.asarray(action["points"])
        except (KeyError, ValueError):
            raise LabelError("An action on points must name them. Got none instead.") from None
        if points.ndim != 1 or len(points) == 0 or points.dtype.kind not in "iu":
            raise LabelError(f"points must be a list of numbers of points. Got {_short(action['points'])}.")
        if points.min() < 0 or points.max() >= len(self.of_point):
            wrong = points[(points < 0) | (points >= len(self.of_point))][0]
            raise LabelError(f"points must lie in 0 to {len(self.of_point) - 1}. Got {wrong} instead.")
        return np.unique(points)

    def _name(self, action: Action) -> str:
        name = action.get("name")
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST or not name.isprintable():
            raise LabelError(
                f"A class must have a name of 1 to {LONGEST} characters. Got {_short(name)} instead."
            )
        name = name.strip()
        others = [c.name for c in self.classes if c.number != action.get("class")]
        if name in others:
            raise LabelError(f"Classes must have different names. Got {name!r} twice.")
        return name


def named(classes: Sequence[Category], number: Any) -> Category:
    """The class with this number."""
    for category in classes:
        if category.number == number:
            return category
    raise LabelError(f"There must be a class with the number chosen. Got {_short(number)} instead.")


def free_colour(classes: Sequence[Category], name: str = "") -> tuple[int, int, int]:
    """The usual colour of such a name, or the first that no class has yet; after ten the least used one."""
    used = [category.colour for category in classes]
    for known, colour in USUAL.items():
        if name.lower().startswith(known) and colour not in used:
            return colour
    return min(COLOURS, key=lambda colour: (used.count(colour), COLOURS.index(colour)))


def _colour(action: Action) -> tuple[int, int, int]:
    colour = action.get("colour")
    if (
        not isinstance(colour, list | tuple)
        or len(colour) != 3
        or not all(isinstance(c, int) and not isinstance(c, bool) and 0 <= c <= 255 for c in colour)
    ):
        raise LabelError(f"A colour must be three numbers from 0 to 255. Got {_short(colour)} instead.")
    return (colour[0], colour[1], colour[2])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
