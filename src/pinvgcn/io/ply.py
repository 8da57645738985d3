"""PLY: the vertices of a file, as text, little endian or big endian.

Other elements and comments stay in a copy as they are. Lists are read past behind the vertices, where faces
are; lists in the vertices, or in elements before them, are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.point_rows import LONGEST_HEADER, RowSource, RowWriter, Scalar, narrowed
from pinvgcn.io.scan import ScanWriter

Order = Literal["<", ">", "="]
ORDERS: dict[str, Order] = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
NAMES = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float",
         "f8": "double"}  # fmt: skip
WIDTHS = {"i": (1, 2, 4), "u": (1, 2, 4), "f": (4, 8)}


@dataclass
class PlyElement:
    """``count`` rows of the same properties; ``lines`` says where in the header each property is."""

    name: str
    count: int
    properties: list[Scalar] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    has_lists: bool = False

    @property
    def width(self) -> int:
        return sum(item.dtype.itemsize for item in self.properties)


def read_header(path: Path) -> tuple[list[bytes], Order, list[PlyElement]]:
    """The lines up to ``end_header``, with their ends; the order of bytes, "=" for text; the elements."""
    with path.open("rb") as file:
        every = file.read(LONGEST_HEADER).splitlines(keepends=True)
    ends = (n for n, line in enumerate(every, start=1) if line.strip() == b"end_header" != line)
    lines = every[: next(ends, 0)]
    if not lines:
        raise ScanFileError(f"{path} is truncated or damaged: its PLY header does not end.")
    order: Order | None = None
    elements: list[PlyElement] = []
    for number, line in enumerate(lines):
        match line.decode("latin-1").split():
            case [] | ["ply" | "comment" | "obj_info" | "end_header", *_]:
                continue
            case ["format", known, _] if known in ORDERS:
                order = ORDERS[known]
            case ["element", name, count] if count.isdecimal() and len(count) < 19:
                elements.append(PlyElement(name, int(count)))
            case ["property", "list", length, kind, _] if (
                elements and kind in TYPES and TYPES.get(length, "f")[0] in "iu"
            ):
                elements[-1].has_lists = True
            case ["property", kind, name] if elements and kind in TYPES:
                dtype = np.dtype(TYPES[kind]).newbyteorder(order or "=")
                elements[-1].properties.append(Scalar(name, dtype))
                elements[-1].lines.append(number)
            case _:
                shown = line.strip()[:60].decode("latin-1")
                raise ScanFileError(
                    f"{path}, line {number + 1}: must be a line of a PLY header. Got {shown!r} instead."
                )
    if order is None:
        raise ScanFileError(f"{path} is damaged: its header must have a line 'format'. Got none.")
    return lines, order, elements


class PlySource(RowSource):
    format = "ply"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.lines, self.order, self.elements = read_header(path)
            found = [element for element in self.elements if element.name == "vertex"]
            if len(found) != 1:
                names = ", ".join(element.name for element in self.elements) or "none"
                raise ScanFileError(f"{path} must have one element 'vertex'. Got {names} instead.")
            self.vertex = found[0]
            self.header_bytes = sum(map(len, self.lines))
            text = self.order == "="
            self._describe(self.vertex.properties, self.vertex.count, self._offset(text), ascii=text)
            self.check_size(2 * len(self.columns) - 1 if text else self.vertex.width)

    def _offset(self, text: bool) -> int:
        """Where the vertices start: the byte, or in text the line."""
        before = self.elements[: self.elements.index(self.vertex)]
        lists = next((element.name for element in (*before, self.vertex) if element.has_lists), None)
        if lists is not None:
            raise ScanFileError(
                f"{self.path}: the vertices and what is before them must be scalars. Got a list in the "
                f"element {lists!r}; save the file without it."
            )
        if not text:
            return self.header_bytes + sum(element.count * element.width for element in before)
        missing = sum(element.count for element in before if element.properties)
        file, lines = self.open_lines()
        with file:
            lines.skip(len(self.lines))
            while missing:
                _, found = lines.take(min(missing, 100_000))
                if not found:
                    raise ScanFileError(f"{self.path} is truncated: it ends before its vertices.")
                missing -= found
            return lines.number

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        return PlyWriter(self, out, columns) if format == "ply" else None


class PlyWriter(RowWriter):
    """Writes the encoding of its source."""

    source: PlySource

    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        return narrowed(name, dtype, WIDTHS, "PLY").newbyteorder(self.source.order)

    def header(self) -> bytes:
        lines, vertex = list(self.source.lines), self.source.vertex
        end = b"\r\n" if lines[0].endswith(b"\r\n") else lines[0][-1:]
        for number, column in self.replaced.items():
            if column is not self.source.columns[number]:
                lines[vertex.lines[number]] = property_line(column) + end
        lines[vertex.lines[-1]] += b"".join(property_line(column) + end for column in self.appended)
        return b"".join(lines)


def property_line(column: Scalar) -> bytes:
    return f"property {NAMES[column.dtype.str[1:]]} {column.name}".encode("latin-1", "replace")


def new_header(columns: list[Scalar], count: int) -> bytes:
    """The header of a new file, little endian."""
    properties = [property_line(column) for column in columns]
    lines = [b"ply", b"format binary_little_endian 1.0", f"element vertex {count}".encode(), *properties]
    return b"\n".join([*lines, b"end_header", b""])
