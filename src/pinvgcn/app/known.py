"""Classes that a file already has: to show, to take over as labels, or to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinvgcn.app.labels import NONE, Action, Category, LabelBook, free_colour
from pinvgcn.errors import LabelError
from pinvgcn.io.las import UNCLASSIFIED, class_name

MOST_CLASSES = 256  # a field with more is a measurement
MOST_LABELS = 1_000_000  # that are taken over at once


@dataclass(frozen=True)
class KnownClasses:
    """The classes of a field of a scan."""

    names: tuple[str, ...]
    codes: np.ndarray  # (n,) int16 places among the names, NONE where there is none

    @classmethod
    def of(cls, values: np.ndarray, *, asprs: bool = False) -> KnownClasses:
        """A field's values; those that mean unclassified in LAS files (``asprs``), and gaps, are none."""
        found, place = np.unique(values, return_inverse=True)
        if len(found) > MOST_CLASSES:
            raise LabelError(
                f"A field with classes must have {MOST_CLASSES} different values at most. Got {len(found):,}."
            )
        names = [name_of(value, asprs=asprs) for value in found.tolist()]
        kept = tuple(dict.fromkeys(name for name in names if name))
        code = np.array([kept.index(name) if name else NONE for name in names], dtype=np.int16)
        return cls(kept, code[place])

    def categories(self, classes: Sequence[Category]) -> list[Category]:
        """The classes by their codes, in the colours that those of the same name have on the page."""
        found: list[Category] = []
        for code, name in enumerate(self.names):
            own = next((category.colour for category in classes if category.name == name), None)
            found.append(Category(code, name, own or free_colour([*classes, *found], name)))
        return found

    def agreement(
        self, names: Mapping[int, str], numbers: np.ndarray, at: np.ndarray | slice = slice(None)
    ) -> float | None:
        """The share of points ``at`` some places whose predicted class has the name of theirs; points without
        a class are left out."""
        found, place = np.unique(numbers, return_inverse=True)
        code = {number: self.names.index(name) for number, name in names.items() if name in self.names}
        same = np.array([code.get(number, -2) for number in found.tolist()])[place]
        true = self.codes[at]
        known = true != NONE
        return float((same[known] == true[known]).mean()) if known.any() else None

    def as_labels(self, book: LabelBook, turn: np.ndarray, *, each: int | None = None) -> Action:
        """One action that labels all points, or ``each`` so many of every class, spread evenly by their
        ``turn`` (n,). It adds the classes that are missing in the ``book``."""
        count = int((self.codes != NONE).sum())
        if each is None and count > MOST_LABELS:
            raise LabelError(
                f"At most {MOST_LABELS:,} labels can be taken over. Got {count:,}; take some of each class."
            )
        if count == 0:
            raise LabelError("The file must have classes to take over. Got none.")
        present = np.unique(self.codes[self.codes != NONE]).tolist()
        actions, numbers = book.adding([self.names[code] for code in present])
        for code in present:
            points = np.flatnonzero(self.codes == code)
            if each is not None and len(points) > each:
                points = np.sort(points[np.argsort(turn[points])[:each]])
            actions.append({"do": "label", "points": points.tolist(), "class": numbers[self.names[code]]})
        return {"do": "together", "actions": actions}


def name_of(value: object, *, asprs: bool) -> str:
    """What people call a value of a field with classes; "" where it means none."""
    if isinstance(value, str):
        return value.strip()
    if value is None or not isinstance(value, int | float) or not np.isfinite(value):
        return ""
    if asprs:
        return "" if value in UNCLASSIFIED else class_name(int(value))
    return str(int(value)) if float(value).is_integer() else str(value)
