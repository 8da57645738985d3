"""The copy of a scan in which every point has a class, its probability, a flag and, if asked for, a set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.fitting.prediction_sets import as_bits
from pinvgcn.io import ScanSource, ScanWriter
from pinvgcn.io.atomic import check_output
from pinvgcn.io.scan_writer import format_of
from pinvgcn.jobs import Progress
from pinvgcn.scans.everywhere import ALONE
from pinvgcn.scans.labels import CLASSIFICATION, LAS
from pinvgcn.scans.protection import FOREIGN, FREE, Protected
from pinvgcn.scans.sets import SET, column, column_type
from pinvgcn.scans.survey import PIECE

PREDICTED, CONFIDENCE, FLAG = "predicted", "confidence", "outside"
NOTHING, PROTECTED = -1, -2  # codes of a point without a prediction, and of one that keeps its file's class
ABSENT = -1  # a class that is missing, in a column of whole numbers
WIDEST = {"ply": 4}  # bytes of a whole number


def default_field(source: ScanSource) -> str:
    """Where the class goes: into ``classification`` where the format has it, into a new column elsewhere."""
    return CLASSIFICATION if source.format in LAS else PREDICTED


@dataclass
class Outcomes:
    """For every point of a scan: the code of its class, NOTHING or PROTECTED; the class's probability; its
    flag."""

    codes: np.ndarray  # (n,) int16
    confidence: np.ndarray  # (n,) float32, 0 where nothing is predicted or the model does not know the class
    flags: np.ndarray  # (n,) uint8
    sets: np.ndarray | None = None  # (n,) uint64, bits
    second: np.ndarray | None = None  # (n,) int16, the next most probable class, or NOTHING
    second_confidence: np.ndarray | None = None  # (n,) float32

    @classmethod
    def empty(cls, count: int, folder: Path | None, *, sets: bool = False, second: bool = False) -> Outcomes:
        """In memory, or in files of a folder."""

        def array(name: str, dtype: Any) -> np.ndarray:
            if folder is None:
                return np.zeros(count, dtype)
            return np.memmap(folder / name, dtype, mode="w+", shape=(count,))

        codes = array("codes", np.int16)
        codes[:] = NOTHING
        return cls(
            codes,
            array("confidence", np.float32),
            array("flags", np.uint8),
            array("sets", np.uint64) if sets else None,
            array("second", np.int16) if second else None,
            array("second_confidence", np.float32) if second else None,
        )

    def at(self, rows: np.ndarray) -> Outcomes:
        """Of some points, in memory."""
        some = {name: array[rows] for name, array in vars(self).items() if array is not None}
        return Outcomes(**some)

    def put(
        self,
        index: np.ndarray,
        proba: np.ndarray,
        flags: np.ndarray,
        given: np.ndarray | None = None,
        sets: np.ndarray | None = None,
        kept: np.ndarray | None = None,
    ) -> None:
        """Answers at some points. Those with a label of their own, ``given`` as codes, keep it, and those
        with ``kept`` codes the class of their file; their set, as that of all, is the model's."""
        codes = proba.argmax(axis=1)
        if given is not None:
            codes = np.where(given >= 0, given, codes)
        alone = (flags == ALONE) & (True if given is None else given < 0)
        silent = flags == ALONE
        written = np.where(alone, NOTHING, codes)
        if kept is not None:
            written = np.where(kept == FREE, written, PROTECTED)
            codes = np.where(kept >= 0, kept, codes)
            silent |= kept == FOREIGN
        self.codes[index] = written
        self.confidence[index] = np.where(silent, 0.0, proba[np.arange(len(codes)), codes])
        self.flags[index] = flags
        if self.sets is not None and sets is not None:
            self.sets[index] = np.where(flags == ALONE, 0, as_bits(sets)).astype(np.uint64)
        if self.second is not None and self.second_confidence is not None:
            others = np.array(proba)
            others[np.arange(len(codes)), codes] = -1.0
            second = others.argmax(axis=1)
            self.second[index] = np.where(flags == ALONE, NOTHING, second)
            self.second_confidence[index] = np.where(flags == ALONE, 0.0, others.max(axis=1))


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


class Copy:
    """Writes the copy; whatever can be known to fail fails when it is made, before any work."""

    def __init__(
        self,
        source: ScanSource,
        out: Path,
        field: str | None,
        classes: list[Any],
        *,
        force: bool,
        sets: bool = False,
        kept: Protected | None = None,
    ) -> None:
        check_output(out, force=force)
        self.source, self.field, self.classes = source, field or default_field(source), classes
        self.kept = kept
        self.format = format_of(source, out)
        self.sets = {SET: column_type(self.format, classes)} if sets else {}
        others = (CONFIDENCE, FLAG, *self.sets)
        if self.field in others:
            raise ParameterError(f"field must be another name than {' and '.join(others)}. Got {field!r}.")
        every = [*classes, *([] if kept is None else kept.classes)]
        word = next((value for value in every if isinstance(value, str)), None)
        if word is not None and source.format in LAS:
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

    def write(self, outcomes: Outcomes, tell: Progress) -> None:
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
                tell("Writing", rows.stop, self.source.count)

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
