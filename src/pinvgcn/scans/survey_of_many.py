"""Survey of several scans that are one cloud: each rank reads its own files, then all know the same.

The rows of ``codes`` and the sample are those of a rank's own files; everything else is of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.distributed.subsample import in_pool
from pinvgcn.errors import ColumnError, DataError, LabelError
from pinvgcn.features.cut import SAMPLE, Cut
from pinvgcn.features.tiles import Piece
from pinvgcn.io import ScanSource, open_scan
from pinvgcn.jobs import Progress
from pinvgcn.scans.columns import Ranges, candidates, field_of, plain_name
from pinvgcn.scans.files import Files
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.label_file import LabelFile
from pinvgcn.scans.labels import (
    CLASSIFICATION,
    MOST,
    OMITTED,
    UNKNOWN,
    Classes,
    FieldLabels,
    has_noise,
    noise_in,
    too_many,
)
from pinvgcn.scans.protection import Protected
from pinvgcn.scans.survey import PIECE, is_file


@dataclass(frozen=True)
class Overview:
    """What is agreed upon, and small: a job that is started again reads it instead of all files."""

    frame: Frame
    fields: list[str]  # that become features, by the names that models know
    left_out: dict[str, str]
    classes: list[Any]
    counts: np.ndarray  # (classes,) labels
    unlabelled: int
    omitted: int
    protected: Protected | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "metres": self.frame.metres,
            **self.frame.about(),
            "left_out": self.left_out,
            "classes": self.classes,
            "counts": self.counts.tolist(),
            "unlabelled": self.unlabelled,
            "omitted": self.omitted,
            "protected": None if self.protected is None else self.protected.noted(),
        }

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> Overview:
        """What ``as_dict`` gave."""
        frame = Frame(said["metres"], tuple(said["origin"]), tuple(said["columns"]))
        counts = np.array(said["counts"], dtype=np.int64)
        return cls(
            frame,
            said["columns"],
            said["left_out"],
            said["classes"],
            counts,
            said["unlabelled"],
            said["omitted"],
            None if said["protected"] is None else Protected.from_note(said["protected"]),
        )


@dataclass
class Reading:
    """This rank's files, read once."""

    overview: Overview
    codes: dict[int, np.ndarray]  # (n,) int16 of each own file
    sample: np.ndarray  # (s, 3) some points of all ranks, in the units of the files
    kept: dict[int, np.ndarray] | None = None  # (n,) int16 of each own file, codes of what is protected

    @property
    def width(self) -> int:
        """Of ``beside``."""
        return 1 if self.kept is None else 2

    def beside(self, file: int) -> np.ndarray:
        """What goes with the points of an own file, not for the model (n, width): codes that are kept, if
        any are, and codes of labels."""
        columns = [self.codes[file]] if self.kept is None else [self.kept[file], self.codes[file]]
        return np.column_stack(columns)

    def cut(self, size: int) -> Cut:
        """How all ranks cut the cloud."""
        some = self.overview
        total = int(some.counts.sum()) + some.unlabelled
        return Cut.by(some.frame.points(self.sample), total, size)


def survey_of_many(
    files: Files,
    labels: str | None,
    *,
    unlabelled: tuple[str, ...] | None = None,
    features: tuple[str, ...] | None = None,
    group: Group,
    tell: Progress,
) -> Reading:
    """Labels are in a field of each scan, or in one CSV; None where a model is there already."""
    reader = _Reader(files, labels, unlabelled, features, group)
    for file in files.mine:
        reader.read(file, tell)
    if reader.beside is not None:
        reader.place_labels()
    classes, counts = reader.agreed_classes()
    if labels is not None:
        _check(files, labels, classes, counts)
    omitted = group.sum(sum(int((c == OMITTED).sum()) for c in reader.codes.values()))
    names, left_out = reader.agreed_columns()
    low, high = group.smallest(reader.low), group.largest(reader.high)
    if not np.isfinite(low).all():
        low = high = np.zeros(3)  # noise alone
    overview = Overview(
        Frame.around(low, high, files.metres, tuple(names)),
        names,
        left_out,
        classes,
        counts,
        files.count - omitted - int(counts.sum()),
        omitted,
    )
    return Reading(overview, reader.codes, group.rows(np.concatenate([np.empty((0, 3)), *reader.some])))


class _Reader:
    def __init__(
        self,
        files: Files,
        labels: str | None,
        unlabelled: tuple[str, ...] | None,
        features: tuple[str, ...] | None,
        group: Group,
    ) -> None:
        self.files, self.labels, self.unlabelled, self.group = files, labels, unlabelled, group
        first = open_scan(files.paths[0])
        self.beside: LabelFile | None = None
        if labels is not None and is_file(labels, first):
            self.beside = _labels_of_many(labels, files)
        self.features = features
        self.candidates, self.lacking = self._candidates(first)
        self.ranges = Ranges(self.candidates)
        self.classes = Classes()
        self.codes: dict[int, np.ndarray] = {}
        self.some: list[np.ndarray] = []
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)
        self.done = 0

    def _candidates(self, first: ScanSource) -> tuple[list[str], dict[str, str]]:
        """Columns that every file has, and why others are left out."""
        if self.labels is None:
            return [], {}
        besides = None if self.beside is not None else self.labels
        names = [plain_name(field) for field in candidates(first, self.features, besides=besides)]
        lacking: dict[str, str] = {}
        if self.features is None:
            for path, fields in zip(self.files.paths, self.files.fields, strict=True):
                there = {plain_name(field) for field in fields}
                for name in names:
                    if name not in there:
                        lacking.setdefault(name, f"is not in {path.name}")
        return [name for name in names if name not in lacking], lacking

    def read(self, file: int, tell: Progress) -> None:
        """One pass over a file."""
        source = open_scan(self.files.paths[file])
        own = None
        if self.labels is not None and self.beside is None:
            own = FieldLabels.of(source, self.labels, self.unlabelled)
        if self.features is not None:
            candidates(source, self.features, besides=None if own is None else own.name)
        fields = {name: _known(source, name) for name in self.candidates}
        noisy = has_noise(source)
        wanted = {*fields.values(), *([own.name] if own else []), *([CLASSIFICATION] if noisy else [])}
        codes = np.full(source.count, UNKNOWN, dtype=np.int16)
        start, total = int(self.files.starts[file]), sum(self.files.counts[at] for at in self.files.mine)
        for piece in source.chunks(PIECE, fields=wanted):
            rows = slice(piece.start, piece.start + len(piece))
            noise = noise_in(piece) if noisy else np.zeros(len(piece), dtype=bool)
            if own is not None:
                known = own.known(piece) & ~noise
                name = f"{source.path}: {own.name!r}"
                codes[rows][known] = self.classes.codes(piece.fields[own.name][known], name)
            codes[rows][noise] = OMITTED
            self.ranges.add({name: piece.fields[field] for name, field in fields.items()}, ~noise)
            chosen = in_pool(start + piece.start, len(piece), self.files.count, most=SAMPLE)
            self.some.append(piece.points[chosen[~noise[chosen]]])
            if not noise.all():
                self.low = np.minimum(self.low, piece.points[~noise].min(axis=0))
                self.high = np.maximum(self.high, piece.points[~noise].max(axis=0))
            self.done += len(piece)
            tell("Reading", self.done, total)
        self.codes[file] = codes

    def place_labels(self) -> None:
        """Labels of a CSV, at the points of own files."""
        assert self.beside is not None
        starts = self.files.starts
        if self.beside.index is not None:
            assert self.beside.files is not None
            place = {path.name: at for at, path in enumerate(self.files.paths)}
            file = np.array([place[Path(name).name] for name in self.beside.files])
            number = starts[file] + self.beside.index.astype(np.int64)
        else:
            number = self._nearest(self.beside)
            file = np.searchsorted(starts, number, side="right") - 1
        self.beside.check_twice(number)
        for at in self.files.mine:
            rows = np.flatnonzero(file == at)
            points = number[rows] - starts[at]
            stays = self.codes[at][points] != OMITTED
            self.codes[at][points[stays]] = self.classes.codes(
                self.beside.values[rows[stays]], str(self.beside.path)
            )

    def _nearest(self, beside: LabelFile) -> np.ndarray:
        """The number of the point that each row means, on whichever rank it is."""
        distance = np.full(len(beside.values), np.inf)
        number = np.full(len(beside.values), np.iinfo(np.int64).max)
        for at in self.files.mine:
            far, place = beside.nearest(open_scan(self.files.paths[at]), self.files.metres)
            nearer = far < distance
            distance = np.where(nearer, far, distance)
            number = np.where(nearer, place + self.files.starts[at], number)
        least = self.group.smallest(distance)
        beside.check_near(least, self.files.given)
        found: np.ndarray = self.group.smallest(np.where(distance == least, number, np.iinfo(np.int64).max))
        return found

    def agreed_classes(self) -> tuple[list[Any], np.ndarray]:
        """The classes of all ranks in ascending order, and their labels; own codes become those of all."""
        union = Classes()
        for values in self.group.values(self.classes.values):
            for value in values:
                if value not in union.code:
                    union.code[value] = len(union.values)
                    union.values.append(value)
        if len(union.values) > MOST:
            raise too_many(f"{self.files.given}: {self.labels!r}", union.values[MOST])
        values, ranks = union.in_order()
        new = np.array([ranks[union.code[value]] for value in self.classes.values], dtype=np.int16)
        counts = np.zeros(len(values), dtype=np.int64)
        for codes in self.codes.values():
            labelled = codes >= 0
            codes[labelled] = new[codes[labelled]]
            counts += np.bincount(codes[labelled], minlength=len(values))
        return values, self.group.sum(counts)

    def agreed_columns(self) -> tuple[list[str], dict[str, str]]:
        """By the values in all files."""
        ranges = self.ranges
        low = self.group.smallest(np.array([ranges.low[name] for name in self.candidates]))
        high = self.group.largest(np.array([ranges.high[name] for name in self.candidates]))
        gaps = self.group.sum(
            np.array([int(name in ranges.gaps) for name in self.candidates], dtype=np.int64)
        )
        ranges.low = dict(zip(self.candidates, low.tolist(), strict=True))
        ranges.high = dict(zip(self.candidates, high.tolist(), strict=True))
        ranges.gaps = {name for name, count in zip(self.candidates, gaps, strict=True) if count}
        used, left_out = ranges.split()
        return used, {**self.lacking, **left_out}


def pieces_of(
    files: Files, frame: Frame, beside: Callable[[int], np.ndarray], tell: Progress
) -> Iterator[Piece]:
    """The points of own files but noise, as the model sees them; the last columns are what is ``beside``
    the points of a file, at the end their code."""
    total, done = sum(files.counts[at] for at in files.mine), 0
    for file in files.mine:
        source = open_scan(files.paths[file])
        fields = frame.fields(source)
        start, others = int(files.starts[file]), beside(file)
        for piece in source.chunks(PIECE, fields=fields):
            own = others[piece.start : piece.start + len(piece)]
            columns = np.column_stack([frame.beside(piece, fields, source), own])
            stays = own[:, -1] != OMITTED
            index = start + np.arange(piece.start, piece.start + len(piece))
            yield Piece(index[stays], frame.points(piece.points[stays]), columns[stays])
            done += len(piece)
            tell("Sorting", done, total)


def _known(source: ScanSource, name: str) -> str:
    field = field_of(source, name)
    if field is None:
        raise DataError(f"{source.path} must have a field {name!r}, as the first scan has.")
    return field


def _labels_of_many(labels: str, files: Files) -> LabelFile:
    """A CSV whose rows name points of several scans."""
    beside = LabelFile.read(labels)
    if beside.index is None:
        return beside
    if beside.files is None:
        if len(files.paths) > 1:
            raise ColumnError(
                f"{labels} must say which of the {len(files.paths)} scans an index is of: give it the "
                "columns file,index,label or x,y,z,label."
            )
        beside = LabelFile(
            beside.path, beside.values, beside.index, None, np.full(len(beside.index), files.paths[0].name)
        )
    assert beside.files is not None
    count = {path.name: n for path, n in zip(files.paths, files.counts, strict=True)}
    for row, name in enumerate(beside.files.tolist()):
        if Path(name).name not in count:
            raise DataError(
                f"{labels}, row {row + 1}: the file must be one of the scans, such as {files.paths[0].name}. "
                f"Got {name!r} instead."
            )
    beside.check_index(np.array([count[Path(name).name] for name in beside.files]))
    return beside


def _check(files: Files, labels: str, classes: list[Any], counts: np.ndarray) -> None:
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
