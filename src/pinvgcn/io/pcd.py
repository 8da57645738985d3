"""PCD: text, packed rows, or columns packed by LZF.

The header has lines ``KEY values`` up to ``DATA``. Fields called ``_`` fill space. A field with a COUNT above
1 is that many scalars, called ``name[0]``, ``name[1]`` and so on. ``DATA binary_compressed`` packs all
columns at once: such a file is unpacked in memory, which takes 4 GiB at most. Copies have ``DATA binary``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import lzf
import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.point_rows import LONGEST_HEADER, LONGEST_ROW, RowSource, Scalar
from pinvgcn.io.scan import ScanChunk

ENCODINGS = ("ascii", "binary", "binary_compressed")
WIDTHS = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)}
_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_SIZES = struct.Struct("<II")
_EXPANSION = 88  # three bytes of LZF stand for 264 at most


@dataclass(frozen=True)
class PcdField:
    """A line of the table that FIELDS, SIZE, TYPE and COUNT make together."""

    name: str
    dtype: np.dtype
    count: int = 1

    @property
    def columns(self) -> list[Scalar]:
        if self.name == "_":
            return [Scalar("_", np.dtype(f"V{self.dtype.itemsize * self.count}"), padding=True)]
        if self.count == 1:
            return [Scalar(self.name, self.dtype)]
        return [Scalar(f"{self.name}[{number}]", self.dtype) for number in range(self.count)]


def looks_like_pcd(head: bytes) -> bool:
    """Whether a file that starts so is PCD: its first line that is no comment begins with a known key."""
    lines = head.split(b"\n")
    if lines[0].startswith(b"# .PCD"):
        return True
    words = next((line.split() for line in lines if line.strip() and not line.startswith(b"#")), [])
    return bool(words) and words[0] in (b"VERSION", b"FIELDS")


def read_header(path: Path) -> tuple[list[bytes], list[PcdField], int, str]:
    """The lines up to ``DATA``, with their ends; the fields, the number of points, the encoding."""
    with path.open("rb") as file:
        start = file.read(LONGEST_HEADER)
    lines: list[bytes] = []
    found: dict[str, list[str]] = {}
    for line in start.splitlines(keepends=True):
        lines.append(line)
        words = line.decode("latin-1").split()
        if not words or words[0].startswith("#"):
            continue
        key = "FIELDS" if words[0] == "COLUMNS" else words[0]
        if key not in _KEYS:
            shown = line.strip()[:60].decode("latin-1")
            raise ScanFileError(
                f"{path}, line {len(lines)}: must be a line of a PCD header. Got {shown!r} instead."
            )
        found[key] = words[1:]
        if key == "DATA" and line.endswith(b"\n"):
            return lines, *_meaning(path, found)
    raise ScanFileError(f"{path} is truncated or damaged: its PCD header does not end.")


def _meaning(path: Path, found: dict[str, list[str]]) -> tuple[list[PcdField], int, str]:
    missing = [key for key in ("FIELDS", "SIZE", "TYPE", "DATA") if not found.get(key)]
    if missing or not (found.get("POINTS") or (found.get("WIDTH") and found.get("HEIGHT"))):
        raise ScanFileError(
            f"{path} is damaged: its header must have {(missing or ['POINTS'])[0]}. Got none."
        )
    names = found["FIELDS"]
    counts = found.get("COUNT") or ["1"] * len(names)
    if not len(names) == len(found["SIZE"]) == len(found["TYPE"]) == len(counts):
        raise ScanFileError(
            f"{path} is damaged: FIELDS, SIZE, TYPE and COUNT must be equally long. Got {len(names)}, "
            f"{len(found['SIZE'])}, {len(found['TYPE'])} and {len(counts)} instead."
        )
    fields = [
        PcdField(name, _type(path, kind, size), _number(path, "COUNT", count))
        for name, size, kind, count in zip(names, found["SIZE"], found["TYPE"], counts, strict=True)
    ]
    if any(f.count == 0 for f in fields) or sum(f.dtype.itemsize * f.count for f in fields) > LONGEST_ROW:
        raise ScanFileError(
            f"{path} is damaged: COUNT must be 1 or a few. Got {' '.join(counts)[:60]} instead."
        )
    if found.get("POINTS"):
        count = _number(path, "POINTS", found["POINTS"][0])
    else:
        count = _number(path, "WIDTH", found["WIDTH"][0]) * _number(path, "HEIGHT", found["HEIGHT"][0])
    (encoding, *_) = found["DATA"]
    if encoding not in ENCODINGS:
        raise ScanFileError(
            f"{path}: DATA must be one of {', '.join(ENCODINGS)}. Got {encoding[:60]!r} instead."
        )
    return fields, count, encoding


def _type(path: Path, kind: str, size: str) -> np.dtype:
    letter = kind.lower()
    if kind not in ("F", "I", "U") or size not in map(str, WIDTHS[letter]):
        raise ScanFileError(f"{path} is damaged: no type of PCD is {kind[:20]!r} of size {size[:20]!r}.")
    return np.dtype(f"<{letter}{size}")


def _number(path: Path, key: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ScanFileError(f"{path} is damaged: {key} must be a number. Got {text[:60]!r} instead.")
    return int(text)


class PcdSource(RowSource):
    format = "pcd"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            lines, self._fields, count, encoding = read_header(path)
            self._packed, text = encoding == "binary_compressed", encoding == "ascii"
            columns = [column for field in self._fields for column in field.columns]
            start = len(lines) if text else sum(map(len, lines))
            self._describe(columns, count, start, ascii=text, squeezed=self._packed)

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if not self._packed:
            yield from super()._pieces(size, names)
            return
        whole = _unpacked(self.path, self.offset, self.count * self.row.itemsize)
        blocks, at = [], 0
        for field in self._fields:  # column by column
            width = sum(column.dtype.itemsize for column in field.columns)
            blocks.append(whole[at : at + width * self.count].reshape(self.count, width))
            at += width * self.count
        rows = np.concatenate(blocks, axis=1).view(self.row)[:, 0]
        for start in range(0, self.count, size):
            yield self._piece(start, rows[start : start + size], names)


def _unpacked(path: Path, offset: int, expected: int) -> np.ndarray:
    """The bytes that start at ``offset`` in the file, unpacked."""
    with path.open("rb") as file:
        file.seek(offset)
        head = file.read(_SIZES.size)
        if len(head) < _SIZES.size:
            raise ScanFileError(f"{path} is truncated: it ends before its points.")
        packed, unpacked = _SIZES.unpack(head)
        if unpacked != expected:
            raise ScanFileError(
                f"{path} is damaged: its header promises points of {expected:,} bytes. "
                f"Got {unpacked:,} instead."
            )
        if offset + _SIZES.size + packed > path.stat().st_size or unpacked > packed * _EXPANSION:
            raise ScanFileError(
                f"{path} is truncated: {packed:,} packed bytes must hold its points. Got fewer."
            )
        content = file.read(packed)
    result = lzf.decompress(content, unpacked)
    if result is None or len(result) != unpacked:
        raise ScanFileError(f"{path} is damaged: its points do not unpack.")
    return np.frombuffer(result, np.uint8)


def new_header(columns: list[Scalar], count: int) -> bytes:
    """The header of a new file with packed rows."""
    kinds = [column.dtype for column in columns]
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        f"FIELDS {' '.join(column.name for column in columns)}",
        f"SIZE {' '.join(str(kind.itemsize) for kind in kinds)}",
        f"TYPE {' '.join(kind.kind.upper() for kind in kinds)}",
        f"COUNT {' '.join('1' for _ in kinds)}",
        f"WIDTH {count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}\nDATA binary\n",
    ]
    return "\n".join(lines).encode("latin-1", "replace")
