"""Writing a scan in another format than its own. Points and fields are carried over, and nothing else.

PLY, PCD and text hold coordinates in double precision. LAS holds them as multiples of a scale, and would
round them: only sources that say how far become LAS.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io import pcd, ply
from pinvgcn.io.atomic import reading
from pinvgcn.io.las_writer import column_type
from pinvgcn.io.point_rows import Scalar, narrowed, row_type
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource, ScanWriter, exact_cast
from pinvgcn.io.text import digits, open_output, quoted

MODULES = {"ply": ply, "pcd": pcd}
COLOURS = ("red", "green", "blue")
STANDARD = (*COLOURS, "intensity", "classification", "return_number", "number_of_returns", "gps_time")
MOST = 2**31 - 1  # steps from the offset that a coordinate in LAS may be


class NewFile(ScanWriter):
    """Writes x, y, z, the source's fields and the columns; those of the same name take the fields' places."""

    checked = False

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype], format: str) -> None:
        super().__init__(source, out, columns)
        self.format = format
        self._types = {**source.fields, **columns}
        if format in MODULES:
            axes = [Scalar(axis, np.dtype("<f8")) for axis in "xyz"]
            self._packed = axes + [self._column(name, dtype) for name, dtype in self._types.items()]
        ending = out.name.lower().removesuffix(".gz")
        self._separator = "," if ending.endswith(".csv") else "\t" if ending.endswith(".tsv") else ""

    def _column(self, name: str, dtype: np.dtype) -> Scalar:
        plain = "_".join(name.split())  # neither format has names with spaces
        narrow = narrowed(plain, dtype, MODULES[self.format].WIDTHS, self.format.upper())
        return Scalar(plain, narrow.newbyteorder("<"))

    def _open(self, path: Path) -> IO[bytes]:
        return open_output(path, self.out) if self.format == "text" else path.open("wb")

    def _begin(self, to: IO[bytes]) -> None:
        self._start_reading()
        if self.format in MODULES:
            to.write(MODULES[self.format].new_header(self._packed, self.source.count))
            return
        names = [quoted(name, self._separator) for name in ("x", "y", "z", *self._types)]
        # programs that read plain xyz files expect numbers from the first line on, and skip comments
        to.write((("" if self._separator else "//") + (self._separator or " ").join(names) + "\n").encode())

    def _start_reading(self) -> None:
        kept = [name for name in self.source.fields if name not in self.columns]
        self._pieces = self.source.chunks(PIECE // 4, fields=kept)
        self._opened.callback(self._pieces.close)
        self._rest = ScanChunk(0, np.empty((0, 3)))

    def _write(self, values: dict[str, np.ndarray], count: int, to: IO[bytes]) -> None:
        done = 0
        while done < count:
            if len(self._rest) == 0:
                with reading(self.source.path):
                    self._rest = next(self._pieces)
            some = min(count - done, len(self._rest))
            now, self._rest = self._rest.at(slice(some)), self._rest.at(slice(some, None))
            new = {name: column[done : done + some] for name, column in values.items()}
            self._put(now.points, {**now.fields, **new}, to)
            done += some

    def _put(self, points: np.ndarray, fields: dict[str, np.ndarray], to: IO[bytes]) -> None:
        columns = [*points.T, *(fields[name] for name in self._types)]
        if self.format == "text":
            texts = [_texts(column, self._separator) for column in columns]
            between = self._separator or " "
            to.write("".join(between.join(cells) + "\n" for cells in zip(*texts, strict=True)).encode())
            return
        rows = np.empty(len(points), row_type(self._packed))
        for number, (column, values) in enumerate(zip(self._packed, columns, strict=True)):
            rows[f"c{number}"] = exact_cast(column.name, values, column.dtype, column.dtype.name)
        to.write(rows.tobytes())


def _texts(column: np.ndarray, separator: str) -> list[str]:
    if column.dtype.kind in "UO":
        return [quoted(" ".join(str(value).splitlines()), separator) for value in column.tolist()]
    return digits(column)


class NewLas(NewFile):
    """Writes LAS 1.4, point format 6, or 7 with colours, in steps of ``source.rounded``.

    Intensity is brought from its own range to that of 16 bits, and so are colours of 8 bits; fields without a
    place of their own become extra dimensions.
    """

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype], format: str) -> None:
        super().__init__(source, out, columns, format)
        coloured = all(name in self._types for name in COLOURS)
        self._standard = [n for n in STANDARD if n in self._types and (coloured or n not in COLOURS)]
        # what cannot be written fails now
        self._added = {n: column_type(n, t) for n, t in self._types.items() if n not in self._standard}
        self._point_format = 7 if coloured else 6

    def _begin(self, to: IO[bytes]) -> None:
        import laspy

        self._start_reading()
        with reading(self.source.path):
            self._rest = next(self._pieces)
        header = laspy.LasHeader(version="1.4", point_format=self._point_format)
        header.scales = np.full(3, self.source.rounded)
        header.offsets = np.floor(self._rest.points.min(axis=0))
        header.add_extra_dims([laspy.ExtraBytesParams(*column) for column in self._added.items()])
        if getattr(self.source, "wkt", ""):
            with suppress(Exception):  # a description that nobody understands is left out
                import pyproj

                header.add_crs(pyproj.CRS.from_wkt(self.source.wkt))  # type: ignore[attr-defined]
        self._ranges = self._intensities() if "intensity" in self._standard else (0.0, 1.0)
        self._header = header
        self._las: Any = laspy.LasWriter(to, header, do_compress=self.format == "laz", closefd=False)

    def _intensities(self) -> tuple[float, float]:
        """The smallest and largest of the source."""
        low, high = np.inf, -np.inf
        for piece in self.source.chunks(fields=["intensity"]):
            values = piece.fields["intensity"].astype(float)
            known = values[np.isfinite(values)]
            low, high = min(low, known.min(initial=np.inf)), max(high, known.max(initial=-np.inf))
        return (float(low), float(high)) if low < high else (0.0, 1.0)

    def _put(self, points: np.ndarray, fields: dict[str, np.ndarray], to: IO[bytes]) -> None:
        import laspy

        steps = np.abs(points - self._header.offsets).max() / self.source.rounded
        if not steps < MOST:
            raise ScanFileError(
                f"{self.source.path} is too large for LAS in steps of {self.source.rounded:g} m; write PLY."
            )
        record = laspy.ScaleAwarePointRecord.zeros(len(points), header=self._header)
        record.x, record.y, record.z = points.T
        for name in (*self._standard, *self._added):
            record[name] = self._fitted(name, fields[name])
        self._las.write_points(record)

    def _fitted(self, name: str, values: np.ndarray) -> np.ndarray:
        """The values of a field as its dimension holds them."""
        if name == "intensity":
            low, high = self._ranges
            known = np.where(np.isfinite(values), values, low)
            scaled: np.ndarray = np.round((known - low) * (65_535 / (high - low))).astype(np.uint16)
            return scaled
        if name in COLOURS and name in self._standard:
            return values.astype(np.uint16) * np.uint16(257 if values.dtype == np.uint8 else 1)
        if name == "gps_time":
            return np.nan_to_num(values)
        if name in ("return_number", "number_of_returns"):
            return np.clip(values, 0, 15).astype(np.uint8)
        return values

    def _end(self, to: IO[bytes]) -> None:
        self._las.close()
