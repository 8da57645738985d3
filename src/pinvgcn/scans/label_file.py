"""Labels in a table of their own: the number of a point or its coordinates, and its class."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from pinvgcn.errors import ColumnError, DataError, LabelError
from pinvgcn.io import ScanSource

NEAR = 0.05  # metres between a row's coordinates and the point that it means
LABELS = ("label", "class", "classification")


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
        label = next((name for name in LABELS if name in table), None)
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

    def points(self, source: ScanSource, metres: float) -> np.ndarray:
        """The number of the point that each row means: (r,)."""
        found = self._by_index(source) if self.index is not None else self._by_place(source, metres)
        self.check_twice(found)
        return found

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

    def _by_index(self, source: ScanSource) -> np.ndarray:
        assert self.index is not None
        if self.files is not None:
            other = np.flatnonzero(self.files != source.path.name)
            if len(other):
                raise DataError(
                    f"{self.path}, row {other[0] + 1}: the file must be {source.path.name}. "
                    f"Got {self.files[other[0]]!r} instead."
                )
        self.check_index(np.full(len(self.index), source.count))
        return self.index.astype(np.int64)

    def check_index(self, counts: np.ndarray) -> None:
        """That each row's index is below the ``counts`` (r,) of points of its scan."""
        assert self.index is not None
        wrong = (self.index != np.floor(self.index)) | (self.index < 0) | (self.index >= counts)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise DataError(
                f"{self.path}, row {row + 1}: the index must be one of 0 to {counts[row] - 1:,}. "
                f"Got {self.index[row]:g} instead."
            )

    def _by_place(self, source: ScanSource, metres: float) -> np.ndarray:
        distance, number = self.nearest(source, metres)
        self.check_near(distance, str(source.path))
        return number

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
        if len(point):
            distance, nearest = cKDTree(point).query(self.places, distance_upper_bound=near)
        else:
            return np.full(len(self.places), np.inf), np.zeros(len(self.places), dtype=int)
        return distance, number[np.minimum(nearest, len(number) - 1)]

    def check_near(self, distance: np.ndarray, scan: str) -> None:
        """That every row has a point."""
        assert self.places is not None
        lost = np.flatnonzero(~np.isfinite(distance))
        if len(lost):
            x, y, z = self.places[lost[0]]
            raise LabelError(
                f"{self.path}, row {lost[0] + 1}: no point of {scan} is within {NEAR:g} m of "
                f"({x:g}, {y:g}, {z:g}){f', nor of {len(lost) - 1} other rows' if len(lost) > 1 else ''}."
            )


def _numbers(table: pd.DataFrame, names: list[str], path: Path) -> np.ndarray:
    columns: list[Any] = []
    for name in names:
        column = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=float)
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise DataError(
                f"{path}, row {bad[0] + 1}: {name} must be a number. "
                f"Got {table[name].iloc[bad[0]]!r} instead."
            )
        columns.append(column)
    return np.column_stack(columns)
