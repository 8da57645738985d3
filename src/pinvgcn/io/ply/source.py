"""Reading the vertices of a PLY file: text, little endian or big endian."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.failures import reading
from pinvgcn.io.packed import PackedSource, Scalar
from pinvgcn.io.ply.header import PlyElement, PlyHeader, read_header
from pinvgcn.io.ply.walk import packed_rows, text_places
from pinvgcn.io.scan import ScanChunk
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.text.lines import LineReader, is_data


class PlySource(PackedSource):
    """A PLY file. Elements other than ``vertex`` are skipped, and so are lists in it."""

    format = "ply"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.header: PlyHeader = read_header(path)
            self.vertex = self._find_vertex()
            self.header_bytes = self.header.size
            scalars = [item for item in self.vertex.properties if item.length is None]
            self._describe(
                [Scalar(item.name, item.dtype) for item in scalars],
                self.vertex.count,
                self._offset(),
                ascii=self.header.order == "",
            )
            self.check_size(2 * len(self.vertex.properties) - 1 if self.ascii else self.vertex.width)

    def _find_vertex(self) -> PlyElement:
        found = [element for element in self.header.elements if element.name == "vertex"]
        if len(found) != 1:
            names = ", ".join(element.name for element in self.header.elements) or "none"
            raise ScanFileError(f"{self.path} must have one element 'vertex'. Got {names} instead.")
        return found[0]

    def _offset(self) -> int:
        """Where the vertices start: the byte, or in text the line."""
        before = self.header.elements[: self.header.elements.index(self.vertex)]
        if self.header.order == "":
            with self.path.open("rb") as file:
                lines = LineReader(file, self.path)
                lines.skip(len(self.header.lines))
                for element in before:
                    missing = element.count if element.properties else 0
                    while missing:
                        _, found = lines.take(min(missing, 100_000))
                        if not found:
                            raise ScanFileError(f"{self.path} is truncated: it ends before its vertices.")
                        missing -= found
                return lines.number
        at = self.header.size
        for element in before:
            if element.has_lists:
                for _, places in self._walk(at, element):
                    at = places[-1]
            else:
                at += element.count * element.width
        return at

    def _walk(self, start: int, element: PlyElement) -> Iterator[tuple[mmap.mmap, list[int]]]:
        """The bytes of the file, and for each row of an element where its properties start in them."""
        with (
            self.path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole,
        ):
            for places in packed_rows(whole, start, element, self.path):
                yield whole, places

    def packed_places(self) -> Iterator[tuple[mmap.mmap, list[int]]]:
        """The same for the vertices."""
        return self._walk(self.offset, self.vertex)

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if self.ascii or not self.vertex.has_lists:
            yield from super()._pieces(size, names)
            return
        scalar = [number for number, item in enumerate(self.vertex.properties) if item.length is None]
        places = self.packed_places()
        for start in range(0, self.count, size):
            rows = b"".join(
                whole[at[number] : at[number + 1]]
                for whole, at in itertools.islice(places, size)
                for number in scalar
            )
            count = len(rows) // self.row.itemsize
            yield self._piece(start, np.frombuffer(rows, np.uint8).reshape(count, -1), names)

    def scalars(self, lines: list[bytes], first: int) -> list[bytes]:
        if not self.vertex.has_lists:
            return lines
        return [
            b" ".join(self.scalar_words(line, number)) + b"\n" if is_data(line) else line
            for number, line in enumerate(lines, first)
        ]

    def scalar_words(self, line: bytes, number: int) -> list[bytes]:
        words = line.split()
        places = text_places(words, self.vertex)
        if places is None:
            raise ScanFileError(
                f"{self.path}, line {number}: must hold the {len(self.vertex.properties)} properties of a "
                f"vertex. Got {len(words)} words that do not fit."
            )
        properties = zip(places, self.vertex.properties, strict=False)  # the last place is an end
        return [words[at] for at, item in properties if item.length is None]

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        if format != "ply":
            return None
        from pinvgcn.io.ply.writer import PlyWriter

        return PlyWriter(self, out, columns)
