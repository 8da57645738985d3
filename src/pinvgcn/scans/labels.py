"""Labels of a scan's points, in a field of the scan or in a table of their own.

As codes they are from 0 on for classes, -1 for what is to be found, -2 for noise. The rows of a table name
points by their number or by their coordinates.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from pinvgcn.errors import ColumnError, DataError, LabelError, ParameterError
from pinvgcn.io import Bounds, ScanChunk, ScanSource
from pinvgcn.io.las import NOISE, UNCLASSIFIED, class_name

if TYPE_CHECKING:
    from pinvgcn.scans.requests import ScanFiles, SegmentRequest

UNKNOWN, OMITTED = -1, -2
MOST = 256  # classes; a field with more is a measurement
LAS = ("las", "laz")
CLASSIFICATION = "classification"
NEAR = 0.05  # metres between a row's coordinates and the point that it means
NAMES = ("label", "class", "classification")  # of columns that hold labels


@dataclass
class Classes:
    """The codes of classes, in the order in which they were met; whole numbers or text."""

    code: dict[Any, int] = field(default_factory=dict)

    def add(self, value: Any, name: str) -> int:
        """The code of a class, new or not."""
        if value not in self.code and len(self.code) == MOST:
            raise too_many(name, value)
        return self.code.setdefault(value, len(self.code))

    def codes(self, values: np.ndarray, name: str) -> np.ndarray:
        """Codes (k,) of values that are classes, new ones included."""
        found, inverse = np.unique(values, return_inverse=True)
        numbers = [self.add(plain_class(value, name), name) for value in found.tolist()]
        return np.array(numbers, dtype=np.int16)[inverse]

    @property
    def in_order(self) -> list[Any]:
        return sorted(self.code, key=lambda value: (str(type(value)), value))


@dataclass(frozen=True)
class FieldLabels:
    name: str
    unlabelled: tuple[str, ...]  # values as they were typed

    @classmethod
    def of(cls, source: ScanSource, name: str, unlabelled: tuple[str, ...] | None) -> FieldLabels:
        """By default 0 and 1 are unlabelled where LAS says so, -1 and gaps elsewhere."""
        source.known_field(name)
        if unlabelled is None:
            in_las = source.format in LAS and name == CLASSIFICATION
            unlabelled = tuple(map(str, UNCLASSIFIED)) if in_las else ("-1", "")
        elif source.fields[name].kind in "biuf":
            for word in unlabelled:
                if word and as_number(word) is None:
                    raise LabelError(
                        f"{name} holds numbers: unlabelled must be some, too. Got {word!r} instead."
                    )
        return cls(name, unlabelled)

    def known(self, piece: ScanChunk) -> np.ndarray:
        """Which points of a piece have a label: a mask (k,)."""
        values = piece.fields[self.name]
        known = ~pd.isna(values)
        for word in self.unlabelled:
            if values.dtype.kind in "biuf":
                number = as_number(word)
                if number is not None:
                    known &= values != number
            else:
                known &= np.char.strip(values.astype(str)) != word
        return np.asarray(known)


def too_many(name: str, value: Any) -> LabelError:
    """That a field has more than ``MOST`` classes, one of which is ``value``."""
    return LabelError(
        f"{name} must hold classes, {MOST} at most. Got more, such as {value!r}; name the values that mean "
        "unlabelled, or another field."
    )


def noise_in(piece: ScanChunk) -> np.ndarray:
    """Which points of a LAS piece are noise by their class: a mask (k,)."""
    return np.isin(piece.fields[CLASSIFICATION], NOISE)


def has_noise(source: ScanSource) -> bool:
    """Whether the format knows classes of noise."""
    return source.format in LAS and CLASSIFICATION in source.fields


def name_of(value: Any, *, asprs: bool, number: bool = True) -> str:
    """A class as people read it; with its ``number`` where that has a name."""
    if not asprs or not isinstance(value, int):
        return str(value)
    return f"{value} {class_name(value)}" if number else class_name(value)


def plain_class(value: Any, name: str) -> Any:
    """A class as a Python int or str; a float that is whole becomes an int."""
    if isinstance(value, bool | int | str):
        return int(value) if isinstance(value, bool) else value
    if float(value).is_integer():
        return int(value)
    raise LabelError(f"{name} must hold classes: whole numbers or text. Got {value!r} instead.")


def as_number(word: str) -> float | None:
    """What was typed, as a number; None where it is none."""
    try:
        return float(word)
    except ValueError:
        return None


@dataclass(frozen=True)
class LabelFile:
    """Rows that name points of a scan, by ``index`` or by ``places``, and their ``values``; of one of several
    scans by the names of ``files`` beside the index."""

    path: Path
    values: np.ndarray  # (r,)
    index: np.ndarray | None  # (r,)
    places: np.ndarray | None  # (r, 3)
    files: np.ndarray | None = None  # (r,)

    @classmethod
    def read(cls, path: str | Path) -> LabelFile:
        """A CSV with a header of ``index,label``, ``file,index,label`` or ``x,y,z,label``."""
        path = Path(path)
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
            text = "".join(line for line in lines if not line.lstrip().startswith("#"))
            # a class may be called None, and a cell may hold a "#"
            table = pd.read_csv(
                io.StringIO(text), sep=None, engine="python", skipinitialspace=True, keep_default_na=False,
                na_values=[""],
            )  # fmt: skip
        except (ValueError, csv.Error) as error:
            raise DataError(f"{path} must be a CSV of labels ({' '.join(str(error).split())}).") from None
        table.columns = [str(name).strip().lower() for name in table.columns]
        label = next((name for name in NAMES if name in table), None)
        by_index = "index" in table
        if label is None or not (by_index or {"x", "y", "z"} <= set(table)):
            raise ColumnError(
                f"{path} must have the columns index,label or x,y,z,label in its first line. "
                f"Got {','.join(map(str, table.columns))} instead."
            )
        if not len(table):
            raise LabelError(f"{path} must hold labels. Got a header alone.")
        gaps = np.flatnonzero(table[label].isna())
        if len(gaps):
            raise LabelError(f"{path}, row {gaps[0] + 1}: the label is missing.")
        values = table[label].to_numpy()
        if by_index:
            files = table["file"].astype(str).to_numpy(dtype=object) if "file" in table else None
            return cls(path, values, _numbers(table, ["index"], path)[:, 0], None, files)
        return cls(path, values, None, _numbers(table, ["x", "y", "z"], path))

    @classmethod
    def of_scans(cls, request: SegmentRequest, files: ScanFiles) -> LabelFile:
        """The labels of a request, each of which names a point of one of its scans."""
        found = cls.read(request.labels)
        if request.unlabelled is not None:
            raise ParameterError(
                "--unlabelled names values of a field of the scan. Got it beside the labels of "
                f"{request.labels}; leave it out, and leave points without a label out of that file."
            )
        if found.index is None:
            return found if files.bounds is None else found._within(files.bounds)
        if files.bounds is not None:
            raise ColumnError(
                f"Labels by index count the points of the whole scan. Got {found.path} beside --bounds; give "
                "it the columns x,y,z,label."
            )
        names = [path.name for path in files.paths]
        if found.files is None and len(names) > 1:
            raise ColumnError(
                f"{found.path} must say which of the {len(names)} scans an index is of: give it the columns "
                "file,index,label or x,y,z,label."
            )
        given = np.full(len(found.index), names[0]) if found.files is None else found.files
        plain = np.array([Path(name).name for name in given], dtype=object)
        for row in np.flatnonzero(~np.isin(plain, names))[:1]:
            raise DataError(
                f"{found.path}, row {row + 1}: the file must be {'' if len(names) == 1 else 'one of '}"
                f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}. Got {given[row]!r} instead."
            )
        count = dict(zip(names, files.counts, strict=True))
        counts = np.array([count[name] for name in plain])
        wrong = (found.index != np.floor(found.index)) | (found.index < 0) | (found.index >= counts)
        for row in np.flatnonzero(wrong)[:1]:
            raise DataError(
                f"{found.path}, row {row + 1}: the index must be one of 0 to {counts[row] - 1:,}. "
                f"Got {found.index[row]:g} instead."
            )
        return replace(found, files=plain)

    def check_twice(self, found: np.ndarray) -> None:
        """That no two rows give one point different labels; ``found`` are the points' numbers."""
        order = np.argsort(found, kind="stable")
        twice = np.flatnonzero(found[order][1:] == found[order][:-1])
        for at in twice:
            first, second = order[at], order[at + 1]
            if self.values[first] != self.values[second]:
                raise LabelError(
                    f"{self.path}, rows {first + 1} and {second + 1}: they label the same point, "
                    f"{self.values[first]!r} and {self.values[second]!r}. Remove one."
                )

    def _within(self, bounds: Bounds) -> LabelFile:
        """The labels of places inside bounds."""
        assert self.places is not None
        kept = bounds.inside(self.places)
        if not kept.any():
            raise LabelError(f"{self.path} has no label within the bounds {bounds}.")
        return replace(self, values=self.values[kept], places=self.places[kept])

    def nearest(self, source: ScanSource, metres: float) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the points nearest to the rows' places, infinite where none is near; only
        points near some row are kept while the scan goes by."""
        assert self.places is not None
        near, rows = NEAR / metres, cKDTree(self.places)
        numbers, points = [np.empty(0, dtype=np.int64)], [np.empty((0, 3))]
        low, high = self.places.min(axis=0) - near, self.places.max(axis=0) + near
        for piece in source.chunks(fields=()):
            some = np.flatnonzero(((piece.points >= low) & (piece.points <= high)).all(axis=1))
            distance, _ = rows.query(piece.points[some], distance_upper_bound=near)
            some = some[np.isfinite(distance)]
            numbers.append(piece.start + some)
            points.append(piece.points[some])
        number, point = np.concatenate(numbers), np.concatenate(points)
        if not len(point):
            return np.full(len(self.places), np.inf), np.zeros(len(self.places), dtype=int)
        distance, nearest = cKDTree(point).query(self.places, distance_upper_bound=near)
        return distance, number[np.minimum(nearest, len(number) - 1)]

    def check_near(self, distance: np.ndarray, scan: str) -> None:
        assert self.places is not None
        lost = np.flatnonzero(~np.isfinite(distance))
        if len(lost):
            x, y, z = self.places[lost[0]]
            raise LabelError(
                f"{self.path}, row {lost[0] + 1}: no point of {scan} is within {NEAR:g} m of "
                f"({x:g}, {y:g}, {z:g}){f', nor of {len(lost) - 1} other rows' if len(lost) > 1 else ''}."
            )


def _numbers(table: pd.DataFrame, names: list[str], path: Path) -> np.ndarray:
    columns = [pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=float) for name in names]
    numbers = np.column_stack(columns)
    for row, at in np.argwhere(~np.isfinite(numbers))[:1]:
        value = table[names[at]].iloc[row]
        raise DataError(f"{path}, row {row + 1}: {names[at]} must be a number. Got {value!r} instead.")
    return numbers
