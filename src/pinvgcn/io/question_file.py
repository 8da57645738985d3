"""The CSV file of ``--questions``: what to label next, best first, of scans and of tables.

A question is about what stands for others: points around it, rows with the same values. Their doubt, the sum
of 1 − confidence, is how many of them are expected to be wrong; the largest sums are asked for first, and no
two questions are about the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pinvgcn.errors import ParameterError, PinvGCNError
from pinvgcn.io.atomic import write_text

COUNT = 50  # questions at most
DIGITS = 6  # after the point of a number


def check_question_file(path: Path) -> None:
    """The name must say what the file is."""
    if path.suffix.lower() != ".csv":
        raise ParameterError(f"--questions are CSV: the name must end in .csv. Got {path}.")


def write_question_file(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, error: type[PinvGCNError]
) -> None:
    """The file appears when it is whole; what the system refuses is raised as ``error``."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_text(value) for value in row] for row in rows)
    write_text(path, text.getvalue(), error=error)


def expected_wrong(wrong: float) -> str:
    """How many are expected to be wrong, in digits that say something."""
    return f"{wrong:.1f}" if wrong < 10 else f"{wrong:,.0f}"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{DIGITS}f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)
