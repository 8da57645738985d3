"""The copy of a scan in which every point has a class, its probability, a flag and, if asked for, a set.

Files of numbers hold a set as an unsigned whole number whose bit i, from the least, stands for the i-th class
in ascending order; text holds the classes themselves, as ``2|6``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.fitting.prediction_sets import MOST, as_words, check_words, from_bits
from pinvgcn.io import ScanSource, ScanWriter
from pinvgcn.io.scan_writer import format_of
from pinvgcn.jobs import Progress
from pinvgcn.scans.labels import CLASSIFICATION, LAS
from pinvgcn.scans.outcomes import NOTHING, PROTECTED, Outcomes
from pinvgcn.scans.protection import Protected
from pinvgcn.scans.scan_files import PIECE
from pinvgcn.scans.streaming import ALONE

PREDICTED, CONFIDENCE, FLAG, SET = "predicted", "confidence", "outside", "set"
ABSENT = -1  # a class that is missing, in a column of whole numbers
WIDEST = {"ply": 4}  # bytes of a whole number


def default_field(source: ScanSource) -> str:
    """Where the class goes: into ``classification`` where the format has it, into a new column elsewhere."""
    return CLASSIFICATION if source.format in (*LAS, "e57") else PREDICTED


class ScanCopy:
    """Writes the copy; whatever can be known to fail fails when it is made, before any work."""

    def __init__(
        self,
        source: ScanSource,
        out: Path,
        field: str | None,
        classes: list[Any],
        *,
        sets: bool = False,
        kept: Protected | None = None,
    ) -> None:
        self.source, self.field, self.classes = source, field or default_field(source), classes
        self.kept = kept
        self.format = format_of(source, out)
        self.sets = {SET: column_type(self.format, classes)} if sets else {}
        others = (CONFIDENCE, FLAG, *self.sets)
        if self.field in others:
            raise ParameterError(f"field must be another name than {' and '.join(others)}. Got {field!r}.")
        every = [*classes, *([] if kept is None else kept.classes)]
        word = next((value for value in every if isinstance(value, str)), None)
        if word is not None and {source.format, self.format} & set(LAS):
            raise LabelError(
                f"LAS files hold numbers: labels must be whole numbers. Got {word!r}; give classes numbers."
            )
        if word is not None or (kept is not None and kept.gaps and self.format == "text"):
            self.dtype = np.dtype(object)
            self.values = np.array([str(value) for value in classes], dtype=object)
        else:
            self.values = np.array(classes, dtype=np.int64)
            self.dtype = self._number_type(np.array(every, dtype=np.int64), out)
        self.writer: ScanWriter = source.writer(
            out,
            {self.field: self.dtype, CONFIDENCE: np.dtype(np.float32), FLAG: np.dtype(np.uint8), **self.sets},
        )

    def _number_type(self, values: np.ndarray, out: Path) -> np.dtype:
        """That holds the classes of the model and those that are kept."""
        self.source.check_values(self.field, values)
        present = self.source.fields.get(self.field)
        if self.kept is not None and self.kept.gaps:
            if present is not None and present.kind == "f":  # gaps stay gaps
                return present if (values == values.astype(present)).all() else np.dtype(np.float64)
            values = np.append(values, ABSENT)
        return _room(values, present, self.field, out, self.format)

    def write(self, outcomes: Outcomes, progress: Progress) -> None:
        """All points in the order of the file."""
        gaps = bool((outcomes.codes == NOTHING).any())
        protected = bool((outcomes.codes == PROTECTED).any())
        with self.writer as writer:
            for start in range(0, self.source.count, PIECE):
                rows = slice(start, min(start + PIECE, self.source.count))
                codes = np.asarray(outcomes.codes[rows])
                classes = self.values[np.maximum(codes, 0)]
                if gaps or protected:
                    classes = self._with_present(classes, codes, gaps, protected)
                columns = {
                    self.field: classes.astype(self.dtype),
                    CONFIDENCE: np.asarray(outcomes.confidence[rows]),
                    FLAG: np.asarray(outcomes.flags[rows]),
                }
                for name, dtype in self.sets.items():
                    assert outcomes.sets is not None
                    absent = columns[FLAG] == ALONE
                    columns[name] = column(outcomes.sets[rows], absent, self.classes, dtype)
                writer.write(columns)
                progress("Writing", rows.stop, self.source.count)

    def _with_present(
        self, classes: np.ndarray, codes: np.ndarray, gaps: bool, protected: bool
    ) -> np.ndarray:
        """With what the file has where the next points keep it: where nothing is predicted what the field
        had, else -1 or no text; at protected points their class."""
        before: dict[str, np.ndarray] = {}
        if gaps and self.field in self.source.fields:
            before[self.field] = self.writer.present(self.field, len(codes))
        if protected:
            assert self.kept is not None
            name = self.kept.rule.field
            if name not in before:
                before[name] = self.writer.present(name, len(codes))
        present = {name: _as_written(values, self.dtype) for name, values in before.items()}
        if gaps:
            nothing: Any = "" if self.dtype.kind == "O" else ABSENT
            classes = np.where(codes == NOTHING, present.get(self.field, nothing), classes)
        if protected:
            assert self.kept is not None
            classes = np.where(codes == PROTECTED, present[self.kept.rule.field], classes)
        return classes


def _as_written(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What a file has, in a column of another type: numbers as words without a point, gaps as none."""
    if dtype.kind == "O":
        if values.dtype.kind not in "biuf":
            return np.where(pd.isna(values), "", values)
        codes, found = pd.factorize(values)
        words = np.array([*(f"{value:.15g}" for value in np.asarray(found).tolist()), ""], dtype=object)
        return words[codes]
    if values.dtype.kind == "f" and dtype.kind in "iu":
        return np.where(np.isnan(values), ABSENT, values)
    return values


def _room(values: np.ndarray, present: np.dtype | None, field: str, out: Path, format: str) -> np.dtype:
    """The type of a column that is to hold ``values``: the one it has where all fit, else a wider one."""
    least, most = int(values.min()), int(values.max())
    now = present if present is not None and present.kind in "iu" else np.dtype(np.int32)
    if np.iinfo(now).min <= least and most <= np.iinfo(now).max:
        return now
    wider = np.result_type(now, np.min_scalar_type(least), np.min_scalar_type(most))
    if wider.kind == "f" and now != np.uint64 and most <= np.iinfo(np.int64).max:
        wider = np.dtype(np.int64)  # NumPy takes large numbers for unsigned ones
    if wider.kind not in "iu" or wider.itemsize > WIDEST.get(format, 8):
        large = most if most > np.iinfo(now).max else least
        raise LabelError(
            f"{field!r} of {out} holds whole numbers up to {np.iinfo(now).max:,}, and {format.upper()} has "
            f"none for both those and class {large}. Give that class a smaller number, or choose another "
            "--field."
        )
    return wider


def column_type(format: str, classes: Sequence[Any]) -> np.dtype:
    """In which a file of this format holds sets; an error where it cannot."""
    if format == "text":
        check_words(classes)
    most = 32 if format in ("ply", "pcd") else MOST
    if len(classes) > most:
        raise LabelError(
            f"The sets of a scan in {format.upper()} hold {most} classes at most. Got {len(classes)}; "
            "leave --sets out."
        )
    if format == "text":
        return np.dtype(object)
    return np.dtype(np.uint32 if len(classes) <= 32 else np.uint64)


def column(bits: np.ndarray, absent: np.ndarray, classes: Sequence[Any], dtype: np.dtype) -> np.ndarray:
    """Sets as they are written; 0 or no text where they are ``absent`` (m,)."""
    if dtype.kind != "O":
        return bits.astype(dtype)
    return np.where(absent, "", as_words(from_bits(bits, len(classes)), classes))


def explained(classes: Sequence[Any], format: str) -> str:
    """How to read the column, in one line."""
    if format == "text":
        return f"the classes themselves, such as {as_words(np.ones((1, 2), dtype=bool), classes[:2])[0]}"
    shown = ", ".join(f"{2**place} for {name}" for place, name in enumerate(classes[:8]))
    return f"the sum of {shown}{' and so on' if len(classes) > 8 else ''}"
