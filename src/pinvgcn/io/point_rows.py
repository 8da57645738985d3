"""What PLY and PCD share: a header in text, then one row of scalars for each point, packed or as text.

In a copy the scalars that stay are the bytes, or the digits, that they were.
"""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.scan import ScanChunk, ScanSource, ScanWriter, copy_bytes, exact_cast
from pinvgcn.io.text import LineReader, are_data, digits, put_cells
from pinvgcn.io.text_columns import Dialect, NumberReader

LONGEST_ROW = 1 << 16  # bytes; a longer one is a damaged header
LONGEST_HEADER = 1 << 20  # bytes
TEXT = "latin-1"  # every byte is a character of it


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
    """The type in which a format holds a new column, given the widths that it has of each kind.

    64-bit whole numbers become 32-bit ones where there are no others; values that do not fit are refused
    when they come.
    """
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind not in widths:
        raise DataError(f"{format} holds numbers only: column {name!r} must not be of dtype {dtype}.")
    if not name or name.split() != [name]:
        raise DataError(f"A column of {format} must have a name without spaces. Got {name!r} instead.")
    fitting = [width for width in widths[dtype.kind] if width >= dtype.itemsize]
    return np.dtype(f"{dtype.kind}{min(fitting, default=max(widths[dtype.kind]))}")


class RowSource(ScanSource):
    """A format's own class reads the header, and then calls `_describe`."""

    columns: list[Scalar]
    ascii: bool
    offset: int  # where the rows start: a byte, in text a line
    header_bytes: int

    def _describe(self, columns: list[Scalar], count: int, offset: int, *, ascii: bool) -> None:
        self.columns, self.count, self.offset, self.ascii = columns, count, offset, ascii
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
        self.numbers = {  # of the fields, among the columns
            column.name: number
            for number, column in enumerate(columns)
            if number not in self.axes and not column.padding
        }
        self.fields = {name: columns[number].dtype.newbyteorder("=") for name, number in self.numbers.items()}
        words = tuple(f"({n}: {c.name})" if c.padding else c.name for n, c in enumerate(columns))
        self._cells = NumberReader(self.path, Dialect("", ".", words, self.axes))

    def check_size(self, smallest: int) -> None:
        """Refuse a header that promises more rows than ``smallest`` bytes each leave room for."""
        size = self.path.stat().st_size
        start = 0 if self.ascii else self.offset
        if start + self.count * smallest > size:
            there = max(size - start, 0) // max(smallest, 1)
            raise ScanFileError(
                f"{self.path} is truncated: its header promises {self.count:,} points. "
                f"Got {'at most ' if self.ascii else ''}{there:,} instead."
            )

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if self.ascii:
            yield from self._text_pieces(size, names)
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for start in range(0, self.count, size):
                yield self._piece(start, self.read_rows(file, min(size, self.count - start)), names)

    def read_rows(self, file: IO[bytes], count: int) -> np.ndarray:
        """The next rows of an open file, as bytes (k, length)."""
        rows = np.fromfile(file, np.uint8, count * self.row.itemsize)
        if len(rows) < count * self.row.itemsize:
            raise ScanFileError(f"{self.path} is truncated: it ends within its points.")
        return rows.reshape(count, self.row.itemsize)

    def _piece(self, start: int, rows: np.ndarray, names: Sequence[str]) -> ScanChunk:
        array = rows.reshape(-1).view(self.row)
        with np.errstate(invalid="ignore"):  # a NaN that signals; it is refused as any other
            points = np.stack([array[f"c{axis}"].astype(np.float64) for axis in self.axes], axis=1)
        # copies: a view of a column would keep the whole rows in memory
        fields = {name: array[f"c{self.numbers[name]}"].astype(self.fields[name]) for name in names}
        return ScanChunk(start, points, fields)

    def open_lines(self) -> tuple[Any, LineReader]:
        """The file as text, which the caller closes, and its lines."""
        text = self.path.open(encoding=TEXT, newline="")
        return text, LineReader(text, self.path)

    def _text_pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        text, lines = self.open_lines()
        types = {name: dtype for name, dtype in self.fields.items() if name in names}
        with text:
            lines.skip(self.offset)
            for start in range(0, self.count, size):
                first = lines.number + 1
                taken, found = lines.take(min(size, self.count - start))
                if found == 0:
                    return
                yield self._cells.chunk(start, taken, first, types)


class RowWriter(ScanWriter):
    """A format's own class says how types and headers are written."""

    source: RowSource

    def __init__(self, source: RowSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        # by number of the source's column
        self.replaced: dict[int, Scalar] = {}
        self.appended: list[Scalar] = []
        for name, dtype in columns.items():
            number = source.numbers.get(name)
            if number is None:
                self.appended.append(Scalar(name, self.file_type(name, dtype)))
            elif dtype == source.fields[name]:
                self.replaced[number] = source.columns[number]
            else:
                self.replaced[number] = Scalar(name, self.file_type(name, dtype))

    @abstractmethod
    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        """The type, with its byte order, in which the format holds a column."""

    @abstractmethod
    def header(self) -> bytes:
        """The source's header with the columns as they will be."""

    def _begin(self, to: IO[bytes]) -> None:
        source = self.source
        to.write(self.header())
        with reading(source.path):
            if source.ascii:
                text, self._lines = source.open_lines()
                self._opened.enter_context(text)
                before = "".join(self._lines.skip(source.offset))
                to.write(before.encode(TEXT)[source.header_bytes :])
                return
            self._file = self._opened.enter_context(source.path.open("rb"))
            self._file.seek(source.header_bytes)
        copy_bytes(self._file, to, source.offset - source.header_bytes, source.path)

    def _write(self, values: dict[str, np.ndarray], count: int, to: IO[bytes]) -> None:
        new = {
            column.name: exact_cast(column.name, values[column.name], column.dtype, f"{column.dtype.name}")
            for column in (*self.replaced.values(), *self.appended)
        }
        with reading(self.source.path):
            if not self.source.ascii:
                rows = self._rows(count)
            else:
                lines, _ = self._lines.take(count)
        if not self.source.ascii:
            to.write(self.joined(rows, new).data)
            return
        replaced = [(number, digits(new[column.name])) for number, column in self.replaced.items()]
        appended = [digits(new[column.name]) for column in self.appended]
        put_cells(lines, are_data(lines), "", replaced, appended)
        to.write("".join(lines).encode(TEXT))

    def _rows(self, count: int) -> np.ndarray:
        return self.source.read_rows(self._file, count)

    def joined(self, rows: np.ndarray, new: dict[str, np.ndarray]) -> np.ndarray:
        parts, at = [], 0
        for number, column in enumerate(self.source.columns):
            width = column.dtype.itemsize
            old = rows[:, at : at + width]
            parts.append(as_bytes(new[column.name]) if number in self.replaced else old)
            at += width
        return np.concatenate([*parts, *(as_bytes(new[column.name]) for column in self.appended)], axis=1)

    def _end(self, to: IO[bytes]) -> None:
        if self.source.ascii:
            for lines in self._lines.rest():
                to.write("".join(lines).encode(TEXT))
        else:
            shutil.copyfileobj(self._file, to)


def as_bytes(column: np.ndarray) -> np.ndarray:
    """Each value's bytes as a row, (k, width)."""
    return np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)
