"""Questions: where somebody should label next, as a table that can be filled in and handed back as labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.asprs import class_name
from pinvgcn.jobs.files import DIGITS, expected_wrong, write_question_file
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.scan_files import ScanFiles
from pinvgcn.scans.streaming import ALONE, OUTSIDE
from pinvgcn.scans.uncertainty import DoubtfulPlace
from pinvgcn.wording import counted

COLUMNS = (
    "number", "file", "index", "x", "y", "z", "label", "predicted", "predicted_name", "confidence",
    "runner_up", "runner_up_name", "runner_up_probability", "why",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """What is this point?"""

    number: int  # from 1 on
    file: str
    index: int  # of the point in its file
    x: float  # in the coordinates of the file
    y: float
    z: float
    predicted: Any  # None where nothing is
    predicted_name: str
    confidence: float
    runner_up: Any  # None where it is not known
    runner_up_name: str
    runner_up_probability: float | None
    why: str
    wrong: float  # points of its cell that are expected to be
    points: int  # of its cell, without a label

    def as_dict(self) -> dict[str, Any]:
        """A row of the table; ``label`` is empty, for the answer."""
        return {name: getattr(self, name, None) for name in COLUMNS}


def questions(
    places: Iterable[DoubtfulPlace], frame: Frame, files: ScanFiles, classes: list[Any]
) -> list[Question]:
    """About these places of a cloud."""
    starts, asprs = files.starts, files.asprs
    found = []
    for number, place in enumerate(places, start=1):
        file = int(np.searchsorted(starts, place.index, side="right")) - 1
        x, y, z = np.round(frame.coordinates(np.array([place.point])), DIGITS)[0].tolist()
        told = place.code >= 0
        other = place.second >= 0
        found.append(
            Question(
                number, files.paths[file].name, int(place.index - starts[file]), x, y, z,
                predicted=classes[place.code] if told else None,
                predicted_name=_name(classes[place.code], asprs) if told else "",
                confidence=round(place.confidence, 4),
                runner_up=classes[place.second] if other else None,
                runner_up_name=_name(classes[place.second], asprs) if other else "",
                runner_up_probability=round(place.second_confidence, 4) if other else None,
                why=_why(place),
                wrong=place.wrong,
                points=place.points,
            )
        )  # fmt: skip
    return found


def write_questions(found: list[Question], path: Path) -> None:
    """As CSV; the file appears when it is whole."""
    rows = [list(question.as_dict().values()) for question in found]
    write_question_file(path, COLUMNS, rows, error=ScanFileError)


def _why(place: DoubtfulPlace) -> str:
    if place.flag == ALONE:
        start = "far from all of training, no prediction; "
    elif place.flag == OUTSIDE:
        start = "beyond what the model was fitted to; "
    else:
        start = ""
    wrong, points = expected_wrong(place.wrong), counted(place.points, "point")
    return f"{start}{wrong} of {points} in the cell of {place.side:g} m around it expected to be wrong"


def _name(value: Any, asprs: bool) -> str:
    return class_name(value) if asprs and isinstance(value, int) else str(value)
