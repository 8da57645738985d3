"""PLY: the vertices of a file, as text, little endian or big endian.

Lists are read past behind the vertices, where faces are; lists in the vertices, or in elements before them,
are refused. A copy has the vertices alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.point_rows import LONGEST_HEADER, RowSource, Scalar, row_type

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
    """``count`` rows of the same properties."""

    name: str
    count: int
    properties: list[Scalar] = field(default_factory=list)
    has_lists: bool = False


def read_header(path: Path) -> tuple[list[bytes], str, list[PlyElement]]:
    """The lines up to ``end_header``, with their ends; the order of bytes, "=" for text; the elements."""
    with path.open("rb") as file:
        every = file.read(LONGEST_HEADER).splitlines(keepends=True)
    ends = (n for n, line in enumerate(every, start=1) if line.strip() == b"end_header" != line)
    lines = every[: next(ends, 0)]
    if not lines:
        raise ScanFileError(f"{path} is truncated or damaged: its PLY header does not end.")
    order: Order | None = None
    elements: list[PlyElement] = []
    for number, line in enumerate(lines, start=1):
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
            case _:
                shown = line.strip()[:60].decode("latin-1")
                raise ScanFileError(
                    f"{path}, line {number}: must be a line of a PLY header. Got {shown!r} instead."
                )
    if order is None:
        raise ScanFileError(f"{path} is damaged: its header must have a line 'format'. Got none.")
    return lines, order, elements


class PlySource(RowSource):
    format = "ply"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            lines, order, elements = read_header(path)
            places = [place for place, element in enumerate(elements) if element.name == "vertex"]
            if len(places) != 1:
                names = ", ".join(element.name for element in elements) or "none"
                raise ScanFileError(f"{path} must have one element 'vertex'. Got {names} instead.")
            before, vertex = elements[: places[0]], elements[places[0]]
            lists = next((element.name for element in (*before, vertex) if element.has_lists), None)
            if lists is not None:
                raise ScanFileError(
                    f"{path}: the vertices and what is before them must be scalars. Got a list in the "
                    f"element {lists!r}; save the file without it."
                )
            text = order == "="
            start = len(lines) if text else sum(map(len, lines))
            for one in filter(lambda element: element.properties, before):
                start += one.count * (1 if text else row_type(one.properties).itemsize)
            self._describe(vertex.properties, vertex.count, start, ascii=text)


def new_header(columns: list[Scalar], count: int) -> bytes:
    """The header of a new file, little endian."""
    properties = [f"property {NAMES[column.dtype.str[1:]]} {column.name}" for column in columns]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {count}", *properties]
    return "\n".join([*lines, "end_header", ""]).encode("latin-1", "replace")
