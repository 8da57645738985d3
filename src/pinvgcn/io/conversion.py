"""Writing a scan in another format than its own: PLY, PCD or text, with coordinates in double precision.

LAS is not among them: it stores coordinates as multiples of a scale, and would round what another format
holds. Nothing but points and fields is carried over; a copy in the same format keeps everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.io.failures import reading
from pinvgcn.io.packed.columns import Scalar, narrowed, row_type
from pinvgcn.io.ply.header import NAMES
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource
from pinvgcn.io.scan_writer import ScanWriter, exact_cast
from pinvgcn.io.text.writer import Packed, quoted

_WIDTHS = {
    "ply": {"i": (1, 2, 4), "u": (1, 2, 4), "f": (4, 8)},
    "pcd": {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)},
}


class ConvertingWriter(ScanWriter):
    """Writes x, y, z, the source's fields and the columns; those of the same name take the fields' places."""

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype], format: str) -> None:
        super().__init__(source, out, columns)
        self.format = format
        self._types = {**source.fields, **columns}
        if format != "text":
            axes = [Scalar(axis, np.dtype("<f8")) for axis in "xyz"]
            self._packed = axes + [self._column(name, dtype) for name, dtype in self._types.items()]
        ending = out.name.lower().removesuffix(".gz")
        self._separator = b"," if ending.endswith(".csv") else b"\t" if ending.endswith(".tsv") else b" "

    def _column(self, name: str, dtype: np.dtype) -> Scalar:
        plain = "_".join(name.split())  # neither format has names with spaces
        narrow = narrowed(plain, dtype, _WIDTHS[self.format], self.format.upper())
        return Scalar(plain, narrow.newbyteorder("<"))

    def _open(self, path: Path) -> IO[bytes]:
        packed = self.format == "text" and self.out.name.lower().endswith(".gz")
        return Packed(path) if packed else path.open("wb")  # type: ignore[return-value]

    def _check(self, name: str, values: np.ndarray) -> None:
        """What the source's format could not hold does not matter here."""

    def _begin(self, stream: IO[bytes]) -> None:
        self._to = stream
        self._kept = [name for name in self.source.fields if name not in self.columns]
        self._pieces: Iterator[ScanChunk] = self.source.chunks(PIECE // 4, fields=self._kept)
        self._rest = ScanChunk(0, np.empty((0, 3)))
        stream.write(
            {"ply": self._ply_header, "pcd": self._pcd_header, "text": self._text_header}[self.format]()
        )

    def _ply_header(self) -> bytes:
        properties = [f"property {NAMES[column.dtype.str[1:]]} {column.name}" for column in self._packed]
        lines = ["ply", "format binary_little_endian 1.0", f"element vertex {self.source.count}", *properties]
        return "\n".join([*lines, "end_header", ""]).encode("latin-1", "replace")

    def _pcd_header(self) -> bytes:
        columns = self._packed
        lines = [
            "# .PCD v0.7 - Point Cloud Data file format",
            "VERSION 0.7",
            "FIELDS " + " ".join(column.name for column in columns),
            "SIZE " + " ".join(str(column.dtype.itemsize) for column in columns),
            "TYPE " + " ".join(column.dtype.kind.upper() for column in columns),
            "COUNT " + " ".join("1" for _ in columns),
            f"WIDTH {self.source.count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {self.source.count}",
            "DATA binary\n",
        ]
        return "\n".join(lines).encode("latin-1", "replace")

    def _text_header(self) -> bytes:
        names = [quoted(name.encode(), self._separator) for name in ("x", "y", "z", *self._types)]
        # programs that read plain xyz files expect numbers from the first line on, and skip comments
        return (b"" if self._separator != b" " else b"//") + self._separator.join(names) + b"\n"

    def _write(self, values: dict[str, np.ndarray], count: int) -> None:
        done = 0
        while done < count:
            if len(self._rest) == 0:
                with reading(self.source.path):
                    self._rest = next(self._pieces)
            some = min(count - done, len(self._rest))
            fields = {name: self._rest.fields[name][:some] for name in self._kept}
            fields |= {name: column[done : done + some] for name, column in values.items()}
            points = self._rest.points[:some]
            if self.format == "text":
                self._write_lines(points, fields)
            else:
                self._write_rows(points, fields)
            left = {name: column[some:] for name, column in self._rest.fields.items()}
            self._rest = ScanChunk(0, self._rest.points[some:], left)
            done += some

    def _write_rows(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        rows = np.empty(len(points), row_type(self._packed))
        columns = [*points.T, *(fields[name] for name in self._types)]
        for number, (column, values) in enumerate(zip(self._packed, columns, strict=True)):
            rows[f"c{number}"] = exact_cast(column.name, values, column.dtype, column.dtype.name)
        self._to.write(rows.tobytes())

    def _write_lines(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        texts = [_texts(column, self._separator) for column in (*points.T, *(fields[n] for n in self._types))]
        self._to.write(b"".join(self._separator.join(cells) + b"\n" for cells in zip(*texts, strict=True)))

    def _end(self) -> None:
        """Nothing follows the points."""

    def _release(self) -> None:
        self._pieces = iter(())


def _texts(column: np.ndarray, separator: bytes) -> list[bytes]:
    """Each value in the shortest digits that give it back."""
    if column.dtype.kind in "UO":
        return [quoted(str(value).encode(), separator) for value in column.tolist()]
    if column.dtype.kind == "b":
        column = column.astype(np.uint8)
    return [word.encode() for word in column.astype(str).tolist()]
