"""Writing a copy of a text scan: columns are replaced in their place or appended, and every other
character stays, comments and line ends too.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.io.failures import reading
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.text.dialect import WORD, split
from pinvgcn.io.text.lines import LineReader, are_data, open_text
from pinvgcn.io.text.source import TextSource


class TextWriter(ScanWriter):
    """Writes text in the dialect of its source; packed where the name ends in .gz."""

    source: TextSource

    def __init__(self, source: TextSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        names = source.dialect.names
        self._replaced = {name: names.index(name) for name in columns if name in names}
        self._appended = [name for name in columns if name not in names]
        self._file: IO[bytes] | None = None

    def _open(self, path: Path) -> IO[bytes]:
        if self.out.name.lower().endswith(".gz"):
            return Packed(path)  # type: ignore[return-value]
        return path.open("wb")

    def _begin(self, stream: IO[bytes]) -> None:
        dialect = self.source.dialect
        self._to = stream
        with reading(self.source.path):
            self._file = open_text(self.source.path, self.source.packed)
            self._lines = LineReader(self._file, self.source.path)
            preamble = self._lines.skip(dialect.preamble)
        if dialect.header is not None and self._appended:
            names = [self._word(name) for name in self._appended]
            preamble[dialect.header] = extended(preamble[dialect.header], dialect.separator, names)
        stream.write(b"".join(preamble))

    def _write(self, values: dict[str, np.ndarray], count: int) -> None:
        dialect = self.source.dialect
        with reading(self.source.path):
            lines, _ = self._lines.take(count)
        replaced = [(place, self._texts(values[name])) for name, place in self._replaced.items()]
        appended = list(zip(*(self._texts(values[name]) for name in self._appended), strict=True))
        for point, number in enumerate(compress(range(len(lines)), are_data(lines))):
            if replaced:
                cells = {place: texts[point] for place, texts in replaced}
                lines[number] = exchanged(lines[number], dialect.separator, cells)
            if appended:
                lines[number] = extended(lines[number], dialect.separator, appended[point])
        self._to.write(b"".join(lines))

    def _end(self) -> None:
        while lines := self._lines.skip(100_000):  # comments after the last point
            self._to.write(b"".join(lines))

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def _texts(self, column: np.ndarray) -> list[bytes]:
        """Each value as it is written: the shortest digits that give it back."""
        dialect = self.source.dialect
        if column.dtype.kind in "UO":
            return [self._word(value) for value in column.tolist()]
        if column.dtype.kind == "b":
            column = column.astype(np.uint8)
        texts = digits(column)
        if dialect.decimal == ".":
            return texts
        return [quoted(text.replace(b".", b","), dialect.separator) for text in texts]

    def _word(self, value: object) -> bytes:
        dialect = self.source.dialect
        return quoted(str(value).encode(dialect.encoding, "backslashreplace"), dialect.separator)


class Packed(gzip.GzipFile):
    """A gzip file without name and time inside: equal results are equal files."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("wb")
        super().__init__(filename="", mode="wb", fileobj=self._raw, mtime=0)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._raw.close()


def digits(column: np.ndarray) -> list[bytes]:
    """Each number in the fewest digits that give it back."""
    if column.dtype.kind in "iu":
        texts: list[bytes] = column.astype(
            bytes
        ).tolist()  # at once is faster; of floating point it is slower
        return texts
    return [text.encode() for text in column.astype(str).tolist()]


def extended(line: bytes, separator: bytes, cells: Sequence[bytes]) -> bytes:
    body = line.rstrip(b"\r\n")
    between = separator or (b"\t" if b"\t" in body else b" ")
    return between.join([body, *cells]) + line[len(body) :]


def exchanged(line: bytes, separator: bytes, cells: dict[int, bytes]) -> bytes:
    """The line with other cells at some places; the space around them stays."""
    body = line.rstrip(b"\r\n")
    if separator:
        parts = split(body, separator)
        for place, cell in cells.items():
            parts[place] = cell
        return separator.join(parts) + line[len(body) :]
    spans = [match.span() for match in WORD.finditer(body)]
    for place, cell in sorted(cells.items(), reverse=True):
        start, stop = spans[place]
        body = body[:start] + cell + body[stop:]
    return body + line[len(line.rstrip(b"\r\n")) :]


def quoted(text: bytes, separator: bytes) -> bytes:
    """In quotes where it would otherwise be taken for several cells, or for none."""
    special = text.split() != [text] if not separator else separator in text
    if special or any(letter in text for letter in (b'"', b"\n", b"\r")):
        return b'"' + text.replace(b'"', b'""').replace(b"\n", b" ").replace(b"\r", b" ") + b'"'
    return text
