"""Labels as a table beside the scan, in the words of the scan's format."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import numpy as np

from pinvgcn.app.labels import Category
from pinvgcn.errors import LabelError, PinvGCNError
from pinvgcn.io import ScanSource
from pinvgcn.io.las import class_name

OWN = 64  # the first class number that LAS leaves to its users,
LAST = 31  # and the last that its old point formats have room for
LAS = ("las", "laz")


def label_csv(
    source: ScanSource,
    coordinates: np.ndarray,
    points: np.ndarray,
    numbers: np.ndarray,
    classes: Sequence[Category],
) -> str:
    """index, label, class, x, y, z: one line a labelled point. ``coordinates`` (n, 3) are those of all."""
    if len(points) == 0:
        raise LabelError("There must be a label to write. Label some points first.")
    names = {category.number: category.name for category in classes}
    codes = class_numbers(source, classes)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["index", "label", "class", "x", "y", "z"])
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        rows.writerow([point, codes[number], names[number], *coordinates[point].tolist()])
    return text.getvalue()


def class_numbers(source: ScanSource, classes: Sequence[Category]) -> dict[int, int | str]:
    """What the file calls each class: its name in text, its number on the page in PLY and PCD, which hold
    numbers alone; in LAS files the standard's number for such a name, else a free one of the user's own."""
    if source.format == "text":
        return {category.number: category.name for category in classes}
    if source.format not in LAS:  # PLY and PCD hold numbers alone; the CSV lists both
        return {category.number: category.number for category in classes}
    own = _own_numbers(source)
    standard = {class_name(number): number for number in range(max(own) + 1)}  # that the file can hold
    found: dict[int, int | str] = {}
    for category in classes:
        name = category.name.lower()
        known = int(name) if name.isdecimal() and int(name) <= 255 else standard.get(name)
        if known is not None and known not in found.values():
            found[category.number] = known
    free = (number for number in own if number not in found.values())
    for category in classes:
        if category.number not in found:
            number = next(free, None)
            if number is None:
                raise LabelError(
                    f"{source.path.name} has no class number left for {category.name!r}: convert it to point "
                    "format 6 or higher (LAS 1.4), or use fewer classes."
                )
            found[category.number] = number
    return found


def _own_numbers(source: ScanSource) -> list[int]:
    try:
        source.check_values("classification", np.array([OWN]))
    except PinvGCNError:
        return list(range(LAST, 22, -1))
    return list(range(OWN, 256))
