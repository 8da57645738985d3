"""PCD: text, packed rows, or columns packed by LZF.

The header has lines ``KEY values`` up to ``DATA``. Fields called ``_`` fill space. A field with a COUNT above
1 is that many scalars, called ``name[0]``, ``name[1]`` and so on. In a copy comments, viewpoint and grid
stay. ``DATA binary_compressed`` packs all columns at once: such a file is unpacked in memory, which takes
4 GiB at most, and its copy has ``DATA binary``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import lzf
import numpy as np

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.point_rows import LONGEST_HEADER, LONGEST_ROW, RowSource, RowWriter, Scalar, narrowed
from pinvgcn.io.scan import ScanChunk, ScanWriter

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
            self.lines, self.groups, count, self.encoding = read_header(path)
            self.header_bytes = sum(map(len, self.lines))
            self.compressed, text = self.encoding == "binary_compressed", self.encoding == "ascii"
            columns = [column for field in self.groups for column in field.columns]
            self._describe(columns, count, len(self.lines) if text else self.header_bytes, ascii=text)
            if not self.compressed:
                self.check_size(2 * len(columns) - 1 if text else self.row.itemsize)

    def unpacked_rows(self) -> np.ndarray:
        """The rows (n, length) of a file that is packed by columns; only their order in memory is another."""
        whole = _unpacked(self.path, self.offset, self.count * self.row.itemsize)
        blocks, at = [], 0
        for field in self.groups:
            width = sum(column.dtype.itemsize for column in field.columns)
            blocks.append(whole[at : at + width * self.count].reshape(self.count, width))
            at += width * self.count
        return np.concatenate(blocks, axis=1)

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if not self.compressed:
            yield from super()._pieces(size, names)
            return
        rows = self.unpacked_rows()
        for start in range(0, self.count, size):
            yield self._piece(start, rows[start : start + size], names)

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        return PcdWriter(self, out, columns) if format == "pcd" else None


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


class PcdWriter(RowWriter):
    """Writes the encoding of its source."""

    source: PcdSource

    def __init__(self, source: PcdSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        for number, column in self.replaced.items():
            if "[" in column.name and column is not source.columns[number]:
                raise DataError(
                    f"{column.name!r} is one element of a field of {source.path} and must keep its type "
                    f"{source.fields[column.name]}. Got {column.dtype.name} instead."
                )

    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        return narrowed(name, dtype, WIDTHS, "PCD").newbyteorder("<")

    def header(self) -> bytes:
        fields, number = [], 0
        for field in self.source.groups:
            new = self.replaced.get(number)
            fields.append(field if new is None or field.count > 1 else PcdField(field.name, new.dtype))
            number += len(field.columns)
        table = _table([*fields, *(PcdField(column.name, column.dtype) for column in self.appended)])
        if self.source.compressed:
            table["DATA"] = ["binary"]
        return b"".join(_exchanged_values(line, table) for line in self.source.lines)

    def _begin(self, to: IO[bytes]) -> None:
        super()._begin(to)
        if self.source.compressed:
            with reading(self.source.path):
                self._left = self.source.unpacked_rows()
            self._opened.callback(delattr, self, "_left")

    def _rows(self, count: int) -> np.ndarray:
        if not self.source.compressed:
            return super()._rows(count)
        rows, self._left = self._left[:count], self._left[count:]
        return rows

    def _end(self, to: IO[bytes]) -> None:
        if not self.source.compressed:
            super()._end(to)


def _table(fields: Sequence[PcdField]) -> dict[str, list[str]]:
    return {
        "FIELDS": [field.name for field in fields],
        "SIZE": [str(field.dtype.itemsize) for field in fields],
        "TYPE": [field.dtype.kind.upper() for field in fields],
        "COUNT": [str(field.count) for field in fields],
    }


def _exchanged_values(line: bytes, table: dict[str, list[str]]) -> bytes:
    """A line of the header with the values of the table, as it is where they are the same."""
    key, *old = line.decode("latin-1").split() or [""]
    if table.get(key, old) == old:
        return line
    return " ".join([key, *table[key]]).encode("latin-1", "replace") + line[len(line.rstrip(b"\r\n")) :]


def new_header(columns: list[Scalar], count: int) -> bytes:
    """The header of a new file with packed rows."""
    table = _table([PcdField(column.name, column.dtype) for column in columns])
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        *(" ".join([key, *values]) for key, values in table.items()),
        f"WIDTH {count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {count}",
        "DATA binary\n",
    ]
    return "\n".join(lines).encode("latin-1", "replace")
