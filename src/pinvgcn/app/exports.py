"""What leaves the page, beside the scan and under fixed names: labels, the classified scan, a model."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pinvgcn.app.labels import Category
from pinvgcn.errors import LabelError, PinvGCNError
from pinvgcn.io import ScanSource
from pinvgcn.io.atomic import atomic_file, write_text
from pinvgcn.io.las import class_name

if TYPE_CHECKING:
    from pinvgcn.app.session import Session

OWN = 64  # the first class number that LAS leaves to its users,
LAST = 31  # and the last that its old point formats have room for
LAS = ("las", "laz")


def write_labels(source: ScanSource, session: Session) -> Path:
    """One line a labelled point; returns the path."""
    view = session.view
    text = label_csv(source, session.cloud.points, view.labelled, view.numbers, view.classes)
    path = _beside(source.path, ".labels.csv")
    write_text(path, text)
    return path


def classify(source: ScanSource, session: Session) -> str:
    """The whole scan with classes and confidence, and a model for ``pinvgcn predict``; says where. They are
    those of the refined answer that the page shows, or will show when it is done."""
    labels = write_labels(source, session)
    refined = session.refined()
    out = _beside(source.path, f".classified{source.path.suffix}")
    model = _beside(source.path, ".model.safetensors")
    for made, path in ((refined.scan, out), (refined.model, model)):
        with atomic_file(path) as part:
            shutil.copyfile(made, part)
    return f"{source.count:,} points written: {out.name}; the model: {model.name}; labels: {labels.name}"


def _beside(scan: Path, ending: str) -> Path:
    return scan.with_name(scan.name + ending)


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
