"""Survey: one pass over the scans finds where the cloud is, which columns vary, and what is labelled.

Each process reads its own files; then all know the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.errors import DataError, LabelError
from pinvgcn.io import ScanSource
from pinvgcn.jobs import Progress
from pinvgcn.scans.frame import Frame, candidates, fields_of, plain_name
from pinvgcn.scans.labels import (
    CLASSIFICATION,
    OMITTED,
    UNKNOWN,
    Classes,
    FieldLabels,
    LabelFile,
    has_noise,
    noise_in,
)
from pinvgcn.scans.protection import Protected
from pinvgcn.scans.requests import PIECE, ScanFiles, SegmentRequest
from pinvgcn.wording import nearest


@dataclass(frozen=True)
class Survey:
    """What is known before the work begins. It is small: a job that goes on reads it instead of all files."""

    frame: Frame
    left_out: dict[str, str]  # fields that are no features, and why
    classes: list[Any]
    counts: np.ndarray  # (classes,) labels
    points: int  # all but noise, as far as that is known
    protected: Protected | None = None

    @property
    def unlabelled(self) -> int:
        return self.points - int(self.counts.sum())

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> Survey:
        told, counts = said["frame"], np.array(said["counts"], dtype=np.int64)
        frame = Frame(told["metres"], tuple(told["origin"]), tuple(told["columns"]))
        kept = said["protected"] and Protected.from_dict(said["protected"])
        return cls(**{**said, "frame": frame, "counts": counts, "protected": kept})


def survey(
    files: ScanFiles, request: SegmentRequest, progress: Progress
) -> tuple[Survey, dict[int, np.ndarray]]:
    """Read the scans once; with the codes (n,) int16 of the points of each own file."""
    reader = _Reader(files, request)
    for file in files.mine:
        reader.read(file, progress)
    if reader.beside is not None:
        reader.place_labels(reader.beside)
    classes, counts = reader.agreed_classes()
    _check(files, request.labels, classes, counts)
    names, left_out = reader.agreed_columns()
    group = files.group
    low, high = group.smallest(reader.low), group.largest(reader.high)
    noise = group.sum(sum(int((codes == OMITTED).sum()) for codes in reader.codes.values()))
    frame = Frame.around(low, high, files.metres, tuple(names))
    return Survey(frame, left_out, classes, counts, files.count - noise), reader.codes


class _Reader:
    """Reads the files of one process and agrees with the others."""

    def __init__(self, files: ScanFiles, request: SegmentRequest) -> None:
        self.files, self.request = files, request
        first = files.open(0)
        self.beside = LabelFile.of_scans(request, files) if is_file(request.labels, first) else None
        own = request.labels if self.beside is None else None
        self.names = {plain_name(field): field for field in candidates(first, request.features, besides=own)}
        self.lacking: dict[str, str] = {}  # columns of the first file that another does not have
        for path, fields in zip(files.paths, files.fields if request.features is None else [], strict=False):
            for name in self.names.keys() - {plain_name(field) for field in fields}:
                self.lacking.setdefault(name, f"is not in {path.name}")
        self.ranges = ColumnRanges([n for n in self.names if n not in self.lacking], files.group)
        self.classes = Classes()
        self.codes: dict[int, np.ndarray] = {}
        self.low, self.high, self.done = np.full(3, np.inf), np.full(3, -np.inf), 0

    def read(self, file: int, progress: Progress) -> None:
        source = self.files.open(file)
        own = None
        if self.beside is None:
            own = FieldLabels.of(source, self.request.labels, self.request.unlabelled)
        if self.request.features is not None:
            candidates(source, self.request.features, besides=None if own is None else own.name)
        names = self.ranges.names
        fields = dict(zip(names, fields_of(source, names, "as the first scan has"), strict=True))
        noisy = has_noise(source)
        wanted = {*fields.values(), *([own.name] if own else []), *([CLASSIFICATION] if noisy else [])}
        codes = self.codes[file] = np.full(source.count, UNKNOWN, dtype=np.int16)
        progress("Reading", self.done, self.files.own_count)
        for piece in source.chunks(PIECE, fields=wanted):
            rows = slice(piece.start, piece.start + len(piece))
            noise = noise_in(piece) if noisy else np.zeros(len(piece), dtype=bool)
            if own is not None:
                known = own.known(piece) & ~noise
                name = f"{source.path}: {own.name!r}"
                codes[rows][known] = self.classes.codes(piece.fields[own.name][known], name)
            codes[rows][noise] = OMITTED
            self.ranges.add({name: piece.fields[field] for name, field in fields.items()}, ~noise)
            self.low = np.minimum(self.low, piece.points[~noise].min(axis=0, initial=np.inf))
            self.high = np.maximum(self.high, piece.points[~noise].max(axis=0, initial=-np.inf))
            self.done += len(piece)
            progress("Reading", self.done, self.files.own_count)

    def place_labels(self, beside: LabelFile) -> None:
        """Labels of a CSV, at the points of own files."""
        starts = self.files.starts
        if beside.index is not None:
            assert beside.files is not None
            place = {path.name: at for at, path in enumerate(self.files.paths)}
            file = np.array([place[name] for name in beside.files])
            number = starts[file] + beside.index.astype(np.int64)
        else:
            number = self._nearest(beside)
            file = np.searchsorted(starts, number, side="right") - 1
        beside.check_twice(number)
        for at in self.files.mine:
            rows = np.flatnonzero(file == at)
            points = number[rows] - starts[at]
            stays = self.codes[at][points] != OMITTED
            self.codes[at][points[stays]] = self.classes.codes(beside.values[rows[stays]], str(beside.path))

    def _nearest(self, beside: LabelFile) -> np.ndarray:
        """The number of the point that each row means, whichever process reads it."""
        nobody, group = np.iinfo(np.int64).max, self.files.group
        distance, number = np.full(len(beside.values), np.inf), np.full(len(beside.values), nobody)
        for at in self.files.mine:
            far, place = beside.nearest(self.files.open(at), self.files.metres)
            nearer = far < distance
            distance = np.where(nearer, far, distance)
            number = np.where(nearer, place + self.files.starts[at], number)
        least = group.smallest(distance)
        beside.check_near(least, self.files.given)
        found: np.ndarray = group.smallest(np.where(distance == least, number, nobody))
        return found

    def agreed_classes(self) -> tuple[list[Any], np.ndarray]:
        """The classes of all processes in ascending order, and their labels; own codes become those."""
        union, name = Classes(), f"{self.files.given}: {self.request.labels!r}"
        for own in self.files.group.values(list(self.classes.code)):
            for value in own:
                union.add(value, name)
        values = union.in_order
        new = np.array([values.index(value) for value in self.classes.code], dtype=np.int16)
        counts = np.zeros(len(values), dtype=np.int64)
        for codes in self.codes.values():
            labelled = codes >= 0
            codes[labelled] = new[codes[labelled]]
            counts += np.bincount(codes[labelled], minlength=len(values))
        return values, self.files.group.sum(counts)

    def agreed_columns(self) -> tuple[list[str], dict[str, str]]:
        """The columns to use by the values in all files, and why others are left out, by their field."""
        used, left_out = self.ranges.split()
        return used, {self.names[name]: why for name, why in {**self.lacking, **left_out}.items()}


class ColumnRanges:
    """The least and greatest value of columns that come piece by piece, and whether all are numbers."""

    def __init__(self, names: list[str], group: Group) -> None:
        self.names, self.group = names, group
        self.low, self.high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
        self.gaps = np.zeros(len(names), dtype=bool)

    def add(self, columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Look at these rows of a piece."""
        for at, name in enumerate(self.names):
            values = np.asarray(columns[name][rows], dtype=float)
            if not np.isfinite(values).all():
                self.gaps[at] = True
            else:
                self.low[at] = values.min(initial=self.low[at])
                self.high[at] = values.max(initial=self.high[at])

    def split(self) -> tuple[list[str], dict[str, str]]:
        """The columns that can be used, by the values of all processes, and why the others cannot."""
        group = self.group
        low, high, gaps = group.smallest(self.low), group.largest(self.high), group.largest(self.gaps)
        left = {
            name: "has gaps" if gap else "is the same everywhere"
            for name, gap, varies in zip(self.names, gaps, low < high, strict=True)
            if gap or not varies
        }
        return [name for name in self.names if name not in left], left


def is_file(labels: str, source: ScanSource) -> bool:
    """Whether labels are in a file of their own; an error where the name promises one that is not there."""
    if labels in source.fields:
        return False
    path = Path(labels)
    if not path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".txt"):
        near = nearest(path.stem, source.fields)
        raise DataError(
            f"There is neither a file {labels} nor a field of that name in {source.path}"
            f"{f'; did you mean {near!r}?' if near else '.'} Its fields: {source.listed_fields}."
        )
    return path.is_file()


def _check(files: ScanFiles, labels: str, classes: list[Any], counts: np.ndarray) -> None:
    if not len(classes):
        raise LabelError(
            f"{files.given} must have labelled points. Got none in {labels!r}; label some points of each "
            "class, or say with --unlabelled which values mean unlabelled."
        )
    if (counts > 0).sum() < 2:
        raise LabelError(
            f"{files.given} must have labelled points of two classes or more. "
            f"Got {counts.sum():,} of {classes[0]!r} alone."
        )
    if -1 in classes:
        raise LabelError("-1 means unlabelled and cannot be a class. Give that class another number.")
