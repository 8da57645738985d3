"""Writing a scan in another format than its own: PLY, PCD or text, with coordinates in double precision.

LAS stores coordinates as multiples of a scale, and would round what these formats hold: only sources that say
how far become LAS (``las/fresh.py``). Nothing but points and fields is carried over; a copy in the same
format keeps everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.io import pcd, ply
from pinvgcn.io.failures import reading
from pinvgcn.io.point_rows import Scalar, narrowed, row_type
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource
from pinvgcn.io.scan_writer import ScanWriter, exact_cast
from pinvgcn.io.text.cells import digits, quoted
from pinvgcn.io.text.file import open_output

_WIDTHS = {"ply": ply.WIDTHS, "pcd": pcd.WIDTHS}


class ConvertingWriter(ScanWriter):
    """Writes x, y, z, the source's fields and the columns; those of the same name take the fields' places."""

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype], format: str) -> None:
        super().__init__(source, out, columns)
        self.format = format
        self._types = {**source.fields, **columns}
        if format in _WIDTHS:
            axes = [Scalar(axis, np.dtype("<f8")) for axis in "xyz"]
            self._packed = axes + [self._column(name, dtype) for name, dtype in self._types.items()]
        ending = out.name.lower().removesuffix(".gz")
        self._separator = "," if ending.endswith(".csv") else "\t" if ending.endswith(".tsv") else ""

    def _column(self, name: str, dtype: np.dtype) -> Scalar:
        plain = "_".join(name.split())  # neither format has names with spaces
        narrow = narrowed(plain, dtype, _WIDTHS[self.format], self.format.upper())
        return Scalar(plain, narrow.newbyteorder("<"))

    def _open(self, path: Path) -> IO[bytes]:
        return open_output(path, self.out) if self.format == "text" else path.open("wb")

    def _check(self, name: str, values: np.ndarray) -> None:
        """What the source's format could not hold does not matter here."""

    def _start_reading(self) -> None:
        self._kept = [name for name in self.source.fields if name not in self.columns]
        self._pieces: Iterator[ScanChunk] = self.source.chunks(PIECE // 4, fields=self._kept)
        self._rest = ScanChunk(0, np.empty((0, 3)))

    def _begin(self, stream: IO[bytes]) -> None:
        self._to = stream
        self._start_reading()
        if self.format == "text":
            stream.write(self._text_header())
        else:
            module = ply if self.format == "ply" else pcd
            stream.write(module.new_header(self._packed, self.source.count))

    def _text_header(self) -> bytes:
        names = [quoted(name, self._separator) for name in ("x", "y", "z", *self._types)]
        # programs that read plain xyz files expect numbers from the first line on, and skip comments
        return (("" if self._separator else "//") + (self._separator or " ").join(names) + "\n").encode()

    def _write(self, values: dict[str, np.ndarray], count: int) -> None:
        done = 0
        while done < count:
            if len(self._rest) == 0:
                with reading(self.source.path):
                    self._rest = next(self._pieces)
            some = min(count - done, len(self._rest))
            fields = {name: self._rest.fields[name][:some] for name in self._kept}
            fields |= {name: column[done : done + some] for name, column in values.items()}
            self._put(self._rest.points[:some], fields)
            left = {name: column[some:] for name, column in self._rest.fields.items()}
            self._rest = ScanChunk(0, self._rest.points[some:], left)
            done += some

    def _put(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        """Some points with all their fields."""
        if self.format == "text":
            self._write_lines(points, fields)
        else:
            self._write_rows(points, fields)

    def _write_rows(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        rows = np.empty(len(points), row_type(self._packed))
        columns = [*points.T, *(fields[name] for name in self._types)]
        for number, (column, values) in enumerate(zip(self._packed, columns, strict=True)):
            rows[f"c{number}"] = exact_cast(column.name, values, column.dtype, column.dtype.name)
        self._to.write(rows.tobytes())

    def _write_lines(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        texts = [_texts(column, self._separator) for column in (*points.T, *(fields[n] for n in self._types))]
        between = self._separator or " "
        self._to.write("".join(between.join(cells) + "\n" for cells in zip(*texts, strict=True)).encode())

    def _end(self) -> None:
        """Nothing follows the points."""

    def _release(self) -> None:
        self._pieces = iter(())


def _texts(column: np.ndarray, separator: str) -> list[str]:
    if column.dtype.kind in "UO":
        return [quoted(" ".join(str(value).splitlines()), separator) for value in column.tolist()]
    return digits(column.astype(np.uint8) if column.dtype.kind == "b" else column)
