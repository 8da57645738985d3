"""What is written at each point of a cloud: its class, probability, flag and, if asked for, a set.

Files of numbers hold a set as an unsigned whole number whose bit i, from the least, stands for the i-th class
in ascending order; text holds the classes themselves, as ``2|6``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import Group
from pinvgcn.errors import LabelError, ParameterError, ScanFileError
from pinvgcn.fitting.conformal import MOST, SetSizes, as_bits, as_words, check_words, from_bits
from pinvgcn.io import ScanSource, ScanWriter
from pinvgcn.io.atomic import atomic_file
from pinvgcn.io.scan import format_of
from pinvgcn.jobs import Progress
from pinvgcn.scans.labels import CLASSIFICATION, LAS
from pinvgcn.scans.protection import FOREIGN, FREE, Protected
from pinvgcn.scans.requests import PIECE
from pinvgcn.scans.streaming import ALONE, OUTSIDE, TileAnswers

PREDICTED, CONFIDENCE, FLAG, SET = "predicted", "confidence", "outside", "set"
ABSENT = -1  # a class that is missing, in a column of whole numbers
WIDEST = {"ply": 4}  # bytes of a whole number
NOTHING, PROTECTED = -1, -2  # codes of a point without a prediction, and of one that keeps its file's class
ONE = 2**20  # a probability of 1, where probabilities are summed as whole numbers
TYPES = {
    "codes": np.int16, "confidence": np.float32, "flags": np.uint8, "sets": np.uint64, "second": np.int16,
    "second_confidence": np.float32,
}  # fmt: skip


@dataclass
class Outcomes:
    """For every point: the code of its class, NOTHING or PROTECTED; the class's probability; its flag."""

    codes: np.ndarray  # (n,)
    confidence: np.ndarray  # (n,) 0 where nothing is predicted or the model does not know the class
    flags: np.ndarray  # (n,)
    sets: np.ndarray | None = None  # (n,) bits
    second: np.ndarray | None = None  # (n,) the next most probable class, or NOTHING
    second_confidence: np.ndarray | None = None  # (n,)

    @classmethod
    def of(
        cls,
        found: TileAnswers,
        *,
        given: np.ndarray | None = None,
        kept: np.ndarray | None = None,
        second: bool = False,
    ) -> Outcomes:
        """From a model's answers. Points with a label of their own, ``given`` as codes, keep it, and those
        with ``kept`` codes the class of their file; their set, as that of all, is the model's."""
        codes, rows = found.proba.argmax(axis=1), np.arange(len(found.index))
        alone = found.flags == ALONE
        silent = alone.copy()
        if given is not None:
            codes = np.where(given >= 0, given, codes)
        written = np.where(alone & (True if given is None else given < 0), NOTHING, codes)
        if kept is not None:
            written = np.where(kept == FREE, written, PROTECTED)
            codes = np.where(kept >= 0, kept, codes)
            silent |= kept == FOREIGN
        arrays = {
            "codes": written,
            "confidence": np.where(silent, 0.0, found.proba[rows, codes]),
            "flags": found.flags,
        }
        if found.sets is not None:
            arrays["sets"] = np.where(alone, 0, as_bits(found.sets))
        if second:
            others = np.array(found.proba)
            others[rows, codes] = -1.0
            arrays["second"] = np.where(alone, NOTHING, others.argmax(axis=1))
            arrays["second_confidence"] = np.where(alone, 0.0, others.max(axis=1))
        return cls(**{name: array.astype(TYPES[name]) for name, array in arrays.items()})

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in every.items() if array is not None}

    @property
    def whole_confidence(self) -> np.ndarray:
        """In units of 1/ONE: (n,)."""
        return np.rint(self.confidence.astype(float) * ONE).astype(np.int64)

    def at(self, rows: np.ndarray) -> Outcomes:
        return Outcomes(**{name: array[rows] for name, array in self.arrays.items()})

    def save(self, path: Path, index: np.ndarray) -> None:
        """Of the points of a tile with these numbers."""
        with atomic_file(path, error=ScanFileError) as part, part.open("wb") as file:
            np.savez(file, index=index, **self.arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> tuple[np.ndarray, Outcomes]:
        """The numbers of the points of a tile, and what ``save`` kept of them."""
        with np.load(path) as kept:
            return kept["index"], cls(**{name: kept[name] for name in kept.files if name != "index"})

    @classmethod
    def gathered(cls, tiles: Iterable[Path], start: int, count: int, folder: Path, *, sets: bool) -> Outcomes:
        """What is written of ``count`` points from number ``start`` on, from the files of tiles. They may be
        more than fit into memory, and are put into files of a ``folder``."""
        names = ("codes", "confidence", "flags", *(["sets"] if sets else []))
        arrays = {name: np.memmap(folder / name, TYPES[name], mode="w+", shape=(count,)) for name in names}
        arrays["codes"][:] = NOTHING  # of noise
        for path in tiles:
            index, some = cls.load(path)
            rows = slice(*np.searchsorted(index, [start, start + count]))
            for name, array in arrays.items():
                array[index[rows] - start] = some.arrays[name][rows]
        return cls(**arrays)


@dataclass(frozen=True)
class Totals:
    """Sums over the points of a cloud; of protected points they are kept elsewhere."""

    counts: np.ndarray  # (classes,)
    sizes: np.ndarray  # (classes + 1,) points whose prediction set has 0, 1, … classes, where they have one
    mean_confidence: float  # over the points that were predicted
    outside: int
    alone: int

    @classmethod
    def of(cls, parts: Iterable[Outcomes], classes: int, group: Group) -> Totals:
        """From the parts of this process, which others may have others of."""
        counts, sizes = np.zeros(classes, dtype=np.int64), np.zeros(classes + 1, dtype=np.int64)
        others = np.zeros(3, dtype=np.int64)
        for some in parts:
            has, free = some.codes >= 0, some.codes != PROTECTED
            counts += np.bincount(some.codes[has], minlength=classes)
            flags = [((some.flags == flag) & free).sum() for flag in (OUTSIDE, ALONE)]
            others += [some.whole_confidence[has].sum(), *flags]
            if some.sets is not None:
                told = from_bits(some.sets[has & (some.flags != ALONE)], classes)
                sizes += SetSizes.of(0.0, told).counts
        counts, sizes, others = (group.sum(array) for array in (counts, sizes, others))
        sure, outside, alone = others.tolist()
        return cls(counts, sizes, sure / ONE / max(int(counts.sum()), 1), outside, alone)


@dataclass(frozen=True)
class ClassifiedPoints:
    """Some points of a cloud and their outcomes; noise is in none."""

    index: np.ndarray  # (k,) numbers in the cloud
    points: np.ndarray  # (k, 3) as the model sees them, in metres
    outcomes: Outcomes
    labelled: np.ndarray  # (k,) a mask: points that have a label, or keep the class of their file
    protected: np.ndarray | None = None  # (k,) a mask: those of them without a label, where there are any

    @classmethod
    def of(
        cls, index: np.ndarray, points: np.ndarray, outcomes: Outcomes, codes: np.ndarray | None
    ) -> ClassifiedPoints:
        """``codes`` are the labels of the points (k,), where they have any."""
        given = np.zeros(len(index), dtype=bool) if codes is None else codes >= 0
        protected = (outcomes.codes == PROTECTED) & ~given
        return cls(index, points, outcomes, given | protected, protected)

    @property
    def changeable(self) -> np.ndarray:
        """All but protected points: a mask (k,)."""
        return np.ones(len(self.index), dtype=bool) if self.protected is None else ~self.protected


Parts = Callable[[], Iterable[ClassifiedPoints]]  # of this process, as often as they are asked for


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
        gaps = bool((outcomes.codes == NOTHING).any())
        protected = bool((outcomes.codes == PROTECTED).any())
        with self.writer as writer:
            for start in range(0, self.source.count, PIECE):
                rows = slice(start, min(start + PIECE, self.source.count))
                codes = np.asarray(outcomes.codes[rows])
                classes = self._with_present(self.values[np.maximum(codes, 0)], codes, gaps, protected)
                columns = {
                    self.field: classes.astype(self.dtype),
                    CONFIDENCE: np.asarray(outcomes.confidence[rows]),
                    FLAG: np.asarray(outcomes.flags[rows]),
                }
                for name, dtype in self.sets.items():
                    assert outcomes.sets is not None
                    columns[name] = outcomes.sets[rows].astype(np.uint64 if dtype.kind == "O" else dtype)
                    if dtype.kind == "O":  # no text where nothing is predicted
                        words = as_words(from_bits(columns[name], len(self.classes)), self.classes)
                        columns[name] = np.where(columns[FLAG] == ALONE, "", words)
                writer.write(columns)
                progress("Writing", rows.stop, self.source.count)

    def _with_present(
        self, classes: np.ndarray, codes: np.ndarray, gaps: bool, protected: bool
    ) -> np.ndarray:
        """With what the file has where the next points keep it: where nothing is predicted what the field
        had, else -1 or no text; at protected points their class."""
        names = [self.field] if gaps and self.field in self.source.fields else []
        if protected:
            assert self.kept is not None
            names.append(self.kept.rule.field)
        present = {
            n: _as_written(self.writer.present(n, len(codes)), self.dtype) for n in dict.fromkeys(names)
        }
        if gaps:
            nothing: Any = "" if self.dtype.kind == "O" else ABSENT
            classes = np.where(codes == NOTHING, present.get(self.field, nothing), classes)
        return np.where(codes == PROTECTED, present[names[-1]], classes) if protected else classes


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


def explained(classes: Sequence[Any], format: str) -> str:
    """How to read the column, in one line."""
    if format == "text":
        return f"the classes themselves, such as {as_words(np.ones((1, 2), dtype=bool), classes[:2])[0]}"
    shown = ", ".join(f"{2**place} for {name}" for place, name in enumerate(classes[:8]))
    return f"the sum of {shown}{' and so on' if len(classes) > 8 else ''}"
