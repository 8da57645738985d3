"""What PLY and PCD share: a header in text, then one row of scalars for each point, packed or as text."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.scan import ScanChunk, ScanSource
from pinvgcn.io.text import LineReader
from pinvgcn.io.text_columns import Dialect, NumberReader

LONGEST_ROW = 1 << 16  # bytes; a longer one is a damaged header
LONGEST_HEADER = 1 << 20  # bytes


@dataclass(frozen=True)
class Scalar:
    """A scalar of a row: its name, its type with the byte order of the file, whether it only fills space."""

    name: str
    dtype: np.dtype
    padding: bool = False


def row_type(columns: Sequence[Scalar]) -> np.dtype:
    """A row as numpy's structured type. Its fields are numbered: names in files may repeat."""
    return np.dtype([(f"c{number}", column.dtype) for number, column in enumerate(columns)])


def narrowed(name: str, dtype: np.dtype, widths: dict[str, tuple[int, ...]], format: str) -> np.dtype:
    """The type in which a format holds a column, given the widths that it has of each kind.

    64-bit whole numbers become 32-bit ones where there are no others; values that do not fit are refused
    when they come.
    """
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind not in widths:
        raise DataError(f"{format} holds numbers only: column {name!r} must not be of dtype {dtype}.")
    fitting = [width for width in widths[dtype.kind] if width >= dtype.itemsize]
    return np.dtype(f"<{dtype.kind}{min(fitting, default=max(widths[dtype.kind]))}")


class RowSource(ScanSource, ABC):
    """A format's own class reads the header, and then calls `_describe`."""

    ascii: bool
    offset: int  # where the rows start: a byte, in text a line

    def _describe(
        self, columns: list[Scalar], count: int, offset: int, *, ascii: bool, squeezed: bool = False
    ) -> None:
        """``squeezed`` columns are smaller in the file than their types say."""
        self.count, self.offset, self.ascii = count, offset, ascii
        if sum(column.dtype.itemsize for column in columns) > LONGEST_ROW:
            raise ScanFileError(f"{self.path} is damaged: a point must take {LONGEST_ROW:,} bytes at most.")
        lowered = [column.name.lower() for column in columns]
        if not {"x", "y", "z"} <= set(lowered):
            shown = ", ".join(column.name for column in columns[:20]) or "none"
            raise ScanFileError(f"{self.path} must have the columns x, y and z. Got {shown} instead.")
        counts = Counter(column.name for column in columns if not column.padding)
        ((often, times),) = counts.most_common(1)
        if times > 1:
            raise ScanFileError(f"{self.path} is damaged: it has the column {often!r} more than once.")
        if count == 0:
            raise ScanFileError(f"{self.path} holds no points.")
        self.row = row_type(columns)
        self.axes = (lowered.index("x"), lowered.index("y"), lowered.index("z"))
        self._places = {
            column.name: f"c{number}"
            for number, column in enumerate(columns)
            if number not in self.axes and not column.padding
        }
        self.fields = {name: self.row[place].newbyteorder("=") for name, place in self._places.items()}
        words = tuple(f"({n}: {c.name})" if c.padding else c.name for n, c in enumerate(columns))
        self._cells = NumberReader(self.path, Dialect("", ".", words, self.axes))
        # a header must not promise more than there is room for
        smallest = 0 if squeezed else 2 * len(columns) - 1 if ascii else self.row.itemsize
        room = self.path.stat().st_size - (0 if ascii else offset)
        if count * smallest > room:
            raise ScanFileError(
                f"{self.path} is truncated: its header promises {count:,} points. "
                f"Got {'at most ' if ascii else ''}{max(room, 0) // smallest:,} instead."
            )

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if self.ascii:
            yield from self._text_pieces(size, names)
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for start in range(0, self.count, size):
                yield self._piece(start, self._rows(file, min(size, self.count - start)), names)

    def _rows(self, file: IO[bytes], count: int) -> np.ndarray:
        rows = np.fromfile(file, self.row, count)
        if len(rows) < count:
            raise ScanFileError(f"{self.path} is truncated: it ends within its points.")
        return rows

    def _piece(self, start: int, rows: np.ndarray, names: Sequence[str]) -> ScanChunk:
        with np.errstate(invalid="ignore"):  # a NaN that signals; it is refused as any other
            points = np.stack([rows[f"c{axis}"].astype(np.float64) for axis in self.axes], axis=1)
        # copies: a view of a column would keep the whole rows in memory
        fields = {name: rows[self._places[name]].astype(self.fields[name]) for name in names}
        return ScanChunk(start, points, fields)

    def _text_pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        types = {name: self.fields[name] for name in names}
        with self.path.open(encoding="latin-1", newline="") as text:  # every byte is a character
            lines = LineReader(text, self.path)
            lines.skip(self.offset)
            yield from self._cells.pieces(lines, size, types, most=self.count)
