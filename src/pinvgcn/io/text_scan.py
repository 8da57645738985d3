"""Scans as text: XYZ, CSV, TSV.

In a copy columns are replaced in their place or appended; every other character stays, comments and line
ends too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource, ScanWriter
from pinvgcn.io.text import (
    LONGEST,
    LineReader,
    TextFile,
    are_data,
    digits,
    extended,
    open_output,
    put_cells,
    quoted,
)
from pinvgcn.io.text_columns import EMPTY, Dialect, NumberReader, detect

SAMPLE = 1000  # lines that decide the dialect


class TextSource(ScanSource):
    """A text scan. Opening it reads it twice: for its encoding, and to count points and find types."""

    format = "text"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.file = TextFile.find(path, longest=LONGEST, error=ScanFileError)
            with self.file.open() as (text, _):
                self.dialect: Dialect = detect(path, LineReader(text, path).skip(SAMPLE))
            self.numbers = NumberReader(path, self.dialect)
            self.count, self.fields = self._survey()

    @contextmanager
    def lines(self) -> Iterator[LineReader]:
        """The lines from the first point on."""
        with self.file.open() as (text, _):
            lines = LineReader(text, self.path)
            lines.skip(self.dialect.preamble)
            yield lines

    def _survey(self) -> tuple[int, dict[str, np.dtype]]:
        """The number of points, and the types of the columns beside the coordinates."""
        places = self.dialect.places
        types = {name: EMPTY for at, name in enumerate(self.dialect.names) if at not in places}
        count = 0
        with self.lines() as lines:
            while True:
                first = lines.number + 1
                taken, found = lines.take(PIECE // 4)
                if not taken:
                    break
                count += found
                if found:
                    types = self.numbers.types(taken, first, types)
        if count == 0:
            raise ScanFileError(f"{self.path} holds no points.")
        if self.dialect.promised not in (None, count):
            raise ScanFileError(
                f"{self.path} is truncated or damaged: its first line promises {self.dialect.promised:,} "
                f"points. Got {count:,} instead."
            )
        return count, {name: np.dtype(float) if dtype == EMPTY else dtype for name, dtype in types.items()}

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        types = {name: self.fields[name] for name in names}
        start = 0
        with self.lines() as lines:
            while True:
                first = lines.number + 1
                taken, found = lines.take(size)
                if not found:
                    return
                yield self.numbers.chunk(start, taken, first, types)
                start += found

    def _place(self, point: int) -> str:
        with reading(self.path), self.lines() as lines:
            while True:
                _, found = lines.take(min(point + 1, PIECE))  # the last of these lines is a point
                if found > point or not found:
                    return f"line {lines.number}"
                point -= found

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        return TextWriter(self, out, columns) if format == "text" else None


class TextWriter(ScanWriter):
    """Writes text in the dialect of its source; packed where the name ends in .gz."""

    source: TextSource

    def __init__(self, source: TextSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        names = source.dialect.names
        self._replaced = {name: names.index(name) for name in columns if name in names}
        self._appended = [name for name in columns if name not in names]

    def _open(self, path: Path) -> IO[bytes]:
        return open_output(path, self.out)

    def _begin(self, to: IO[bytes]) -> None:
        dialect = self.source.dialect
        with reading(self.source.path):
            text, _ = self._opened.enter_context(self.source.file.open())
            self._lines = LineReader(text, self.source.path)
            preamble = self._lines.skip(dialect.preamble)
        if dialect.header is not None and self._appended:
            names = [self._word(name) for name in self._appended]
            preamble[dialect.header] = extended(preamble[dialect.header], dialect.separator, names)
        to.write(self.source.file.mark)
        to.write(self._encoded(preamble))

    def _write(self, values: dict[str, np.ndarray], count: int, to: IO[bytes]) -> None:
        with reading(self.source.path):
            lines, _ = self._lines.take(count)
        replaced = [(place, self._texts(values[name])) for name, place in self._replaced.items()]
        appended = [self._texts(values[name]) for name in self._appended]
        put_cells(lines, are_data(lines), self.source.dialect.separator, replaced, appended)
        to.write(self._encoded(lines))

    def _end(self, to: IO[bytes]) -> None:
        for lines in self._lines.rest():  # comments after the last point
            to.write(self._encoded(lines))

    def _encoded(self, lines: Sequence[str]) -> bytes:
        return "".join(lines).encode(self.source.file.encoding, "backslashreplace")

    def _texts(self, column: np.ndarray) -> list[str]:
        """Each value as it is written: the shortest digits that give it back."""
        dialect = self.source.dialect
        if column.dtype.kind in "UO":
            return [self._word(value) for value in column.tolist()]
        texts = digits(column)
        if dialect.decimal == ".":
            return texts
        return [quoted(text.replace(".", ","), dialect.separator) for text in texts]

    def _word(self, value: object) -> str:
        return quoted(" ".join(str(value).splitlines()), self.source.dialect.separator)
