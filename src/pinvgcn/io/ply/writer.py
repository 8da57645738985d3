"""Writing a copy of a PLY file with the vertices' properties replaced or added.

Comments, other elements, lists and the order of everything stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.io.packed import PackedWriter, Scalar
from pinvgcn.io.packed.columns import narrowed
from pinvgcn.io.packed.writer import as_bytes
from pinvgcn.io.ply.header import NAMES
from pinvgcn.io.ply.source import PlySource
from pinvgcn.io.ply.walk import text_places

_WIDTHS = {"i": (1, 2, 4), "u": (1, 2, 4), "f": (4, 8)}


class PlyWriter(PackedWriter):
    """Writes the encoding of its source."""

    source: PlySource

    def __init__(self, source: PlySource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        self._scalar = [number for number, item in enumerate(source.vertex.properties) if item.length is None]
        self._places: Iterator[tuple[mmap, list[int]]] | None = None
        self._last = 0

    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        return narrowed(name, dtype, _WIDTHS, "PLY").newbyteorder(self.source.header.byte_order)

    def header(self) -> bytes:
        header, vertex = self.source.header, self.source.vertex
        lines = list(header.lines)
        end = b"\r\n" if lines[0].endswith(b"\r\n") else lines[0][-1:]
        for number, column in self.replaced.items():
            if column is not self.source.columns[number]:
                lines[vertex.properties[self._scalar[number]].line] = _property(column) + end
        lines[vertex.properties[-1].line] += b"".join(_property(column) + end for column in self.appended)
        return b"".join(lines)

    def place(self, line: bytes, number: int) -> int:
        places = text_places(line.split(), self.source.vertex)
        assert places is not None  # reading it has checked that
        return places[self._scalar[number]]

    def _begin(self, stream: IO[bytes]) -> None:
        super()._begin(stream)
        if not self.source.ascii and self.source.vertex.has_lists:
            self._places = self.source.packed_places()

    def _write_rows(self, new: dict[str, np.ndarray], count: int) -> None:
        if self._places is None:
            super()._write_rows(new, count)
            return
        replaced = {self._scalar[n]: as_bytes(new[column.name]) for n, column in self.replaced.items()}
        appended = [as_bytes(new[column.name]) for column in self.appended]
        for point, (whole, places) in enumerate(itertools.islice(self._places, count)):
            for number in range(len(places) - 1):
                changed = replaced.get(number)
                old = whole[places[number] : places[number + 1]]
                self._to.write(old if changed is None else changed[point].tobytes())
            for column in appended:
                self._to.write(column[point].tobytes())
            self._last = places[-1]

    def _end(self) -> None:
        if self._places is not None and self._file is not None:
            self._file.seek(self._last)
        super()._end()

    def _release(self) -> None:
        self._places = None
        super()._release()


def _property(column: Scalar) -> bytes:
    return f"property {NAMES[column.dtype.str[1:]]} {column.name}".encode("latin-1", "replace")
