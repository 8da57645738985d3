"""The header of a PLY file: lines of text up to ``end_header``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from pinvgcn.errors import ScanFileError

MAGIC = b"ply"
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
NAMES = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "f4": "float",
         "f8": "double"}  # fmt: skip
_LONGEST = 1 << 20  # bytes


@dataclass
class PlyProperty:
    """A scalar, or a list whose length has the type ``length``."""

    name: str
    dtype: np.dtype
    line: int
    length: np.dtype | None = None


@dataclass
class PlyElement:
    """So many rows of the same properties."""

    name: str
    count: int
    properties: list[PlyProperty] = field(default_factory=list)

    @property
    def has_lists(self) -> bool:
        return any(item.length is not None for item in self.properties)

    @property
    def width(self) -> int:
        """Bytes of the scalars of a packed row, and of the lengths of its lists: the least it can take."""
        return sum((item.dtype if item.length is None else item.length).itemsize for item in self.properties)


@dataclass
class PlyHeader:
    """``lines`` as they are in the file, with their ends."""

    lines: list[bytes]
    order: str  # "<", ">", or "" for text
    elements: list[PlyElement]

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))

    @property
    def byte_order(self) -> Literal["<", ">", "="]:
        """For numpy; text has none of its own."""
        return "<" if self.order == "<" else ">" if self.order == ">" else "="


def read_header(path: Path) -> PlyHeader:
    """Read up to ``end_header``."""
    with path.open("rb") as file:
        start = file.read(_LONGEST)
    lines = _lines(path, start)
    order: str | None = None
    elements: list[PlyElement] = []
    for number, line in enumerate(lines):
        words = line.decode("latin-1").split()
        if not words or words[0] in ("ply", "comment", "obj_info", "end_header"):
            continue
        if words[0] == "format" and len(words) == 3 and words[1] in ORDERS:
            order = ORDERS[words[1]]
        elif words[0] == "element" and len(words) == 3 and words[2].isdecimal() and len(words[2]) < 19:
            elements.append(PlyElement(words[1], int(words[2])))
        elif words[0] == "property" and elements and (item := _property(words, number, order or "")):
            elements[-1].properties.append(item)
        else:
            shown = line.strip()[:60].decode("latin-1")
            raise ScanFileError(
                f"{path}, line {number + 1}: must be a line of a PLY header. Got {shown!r} instead."
            )
    if order is None:
        raise ScanFileError(f"{path} is damaged: its header must have a line 'format'. Got none.")
    return PlyHeader(lines, order, elements)


def _lines(path: Path, start: bytes) -> list[bytes]:
    lines: list[bytes] = []
    for line in start.splitlines(keepends=True):
        lines.append(line)
        if line.strip() == b"end_header" and line.endswith((b"\n", b"\r")):
            return lines
    raise ScanFileError(f"{path} is truncated or damaged: its PLY header does not end.")


def _property(words: list[str], line: int, order: str) -> PlyProperty | None:
    if len(words) == 3 and words[1] in TYPES:
        return PlyProperty(words[2], np.dtype(order + TYPES[words[1]]), line)
    if len(words) == 5 and words[1] == "list" and words[2] in TYPES and words[3] in TYPES:
        length = np.dtype(order + TYPES[words[2]])
        if length.kind in "iu":
            return PlyProperty(words[4], np.dtype(order + TYPES[words[3]]), line, length)
    return None
