"""Writing rows of scalars: those that stay are copied as the bytes, or the digits, that they are."""

from __future__ import annotations

from abc import abstractmethod
from itertools import compress
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.io.failures import reading
from pinvgcn.io.packed.columns import Scalar
from pinvgcn.io.packed.source import PackedSource
from pinvgcn.io.scan_writer import ScanWriter, copy_bytes, exact_cast
from pinvgcn.io.text.lines import LineReader, are_data
from pinvgcn.io.text.writer import digits, exchanged, extended


class PackedWriter(ScanWriter):
    """A format's own class says how types and headers are written."""

    source: PackedSource

    def __init__(self, source: PackedSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        # by number of the source's column
        self.replaced: dict[int, Scalar] = {}
        self.appended: list[Scalar] = []
        for name, dtype in columns.items():
            number = source.number_of(name)
            if number is None:
                self.appended.append(Scalar(name, self.file_type(name, dtype)))
            elif dtype == source.fields[name]:
                self.replaced[number] = source.columns[number]
            else:
                self.replaced[number] = Scalar(name, self.file_type(name, dtype))
        self._file: IO[bytes] | None = None
        self._lines: LineReader | None = None

    @abstractmethod
    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        """The type, with its byte order, in which the format holds a column."""

    @abstractmethod
    def header(self) -> bytes:
        """The source's header with the columns as they will be."""

    def _begin(self, stream: IO[bytes]) -> None:
        self._to = stream
        stream.write(self.header())
        with reading(self.source.path):
            self._file = file = self.source.path.open("rb")
            if self.source.ascii:
                self._lines, before = self.source.start_lines(file)
                stream.write(b"".join(before)[self.source.header_bytes :])
                return
            file.seek(self.source.header_bytes)
        copy_bytes(file, stream, self.source.offset - self.source.header_bytes, self.source.path)

    def _write(self, values: dict[str, np.ndarray], count: int) -> None:
        new = {
            column.name: exact_cast(column.name, values[column.name], column.dtype, f"{column.dtype.name}")
            for column in (*self.replaced.values(), *self.appended)
        }
        if self._lines is not None:
            self._write_lines(new, count)
        else:
            self._write_rows(new, count)

    def _write_rows(self, new: dict[str, np.ndarray], count: int) -> None:
        assert self._file is not None
        with reading(self.source.path):
            rows = self.source.read_rows(self._file, count)
        self._to.write(self._joined(rows, new).data)

    def _joined(self, rows: np.ndarray, new: dict[str, np.ndarray]) -> np.ndarray:
        """Rows as they will be, (k, length)."""
        parts, at = [], 0
        for number, column in enumerate(self.source.columns):
            width = column.dtype.itemsize
            if number in self.replaced:
                parts.append(as_bytes(new[column.name]))
            else:
                parts.append(rows[:, at : at + width])
            at += width
        parts += [as_bytes(new[column.name]) for column in self.appended]
        return np.concatenate(parts, axis=1)

    def _write_lines(self, new: dict[str, np.ndarray], count: int) -> None:
        assert self._lines is not None
        with reading(self.source.path):
            lines, _ = self._lines.take(count)
        texts = {name: digits(column) for name, column in new.items()}
        for point, number in enumerate(compress(range(len(lines)), are_data(lines))):
            line = lines[number]
            cells = {self.place(line, n): texts[c.name][point] for n, c in self.replaced.items()}
            line = exchanged(line, b"", cells) if cells else line
            ends = [texts[column.name][point] for column in self.appended]
            lines[number] = extended(line, b"", ends) if ends else line
        self._to.write(b"".join(lines))

    def place(self, line: bytes, number: int) -> int:
        """Which word of a line a column is."""
        return number

    def _end(self) -> None:
        """Everything after the points."""
        if self._lines is not None:
            while lines := self._lines.skip(100_000):
                self._to.write(b"".join(lines))
            return
        assert self._file is not None
        while block := self._file.read(1 << 24):
            self._to.write(block)

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None


def as_bytes(column: np.ndarray) -> np.ndarray:
    """Each value's bytes as a row, (k, width)."""
    return np.ascontiguousarray(column).view(np.uint8).reshape(len(column), column.itemsize)
