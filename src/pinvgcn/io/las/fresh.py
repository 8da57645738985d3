"""LAS and LAZ from scans of other formats, whose coordinates are then rounded."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.conversion import ConvertingWriter
from pinvgcn.io.failures import reading
from pinvgcn.io.las.extra_bytes import column_type
from pinvgcn.io.scan import ScanSource

COLOURS = ("red", "green", "blue")
STANDARD = (*COLOURS, "intensity", "classification", "return_number", "number_of_returns", "gps_time")
MOST = 2**31 - 1  # steps from the offset that a coordinate may be


class FreshLasWriter(ConvertingWriter):
    """Writes LAS 1.4, point format 6, or 7 with colours, in steps of ``source.rounded``.

    Intensity is brought from its own range to that of 16 bits, and so are colours of 8 bits; fields without a
    place of their own become extra dimensions.
    """

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype], format: str) -> None:
        super().__init__(source, out, columns, format)
        for name, dtype in self._types.items():
            if name not in STANDARD:
                column_type(name, dtype)  # what cannot be written fails now
        self._writer: Any = None

    def _begin(self, stream: IO[bytes]) -> None:
        import laspy

        self._start_reading()
        with reading(self.source.path):
            self._rest = next(self._pieces)
        coloured = all(name in self._types for name in COLOURS)
        header = laspy.LasHeader(version="1.4", point_format=7 if coloured else 6)
        header.scales = np.full(3, self.source.rounded)
        header.offsets = np.floor(self._rest.points.min(axis=0))
        self._standard = [n for n in STANDARD if n in self._types and (coloured or n not in COLOURS)]
        self._added = [name for name in self._types if name not in self._standard]
        header.add_extra_dims(
            [laspy.ExtraBytesParams(name, column_type(name, self._types[name])) for name in self._added]
        )
        if getattr(self.source, "wkt", ""):
            with contextlib.suppress(Exception):  # a description that nobody understands is left out
                import pyproj

                header.add_crs(pyproj.CRS.from_wkt(self.source.wkt))  # type: ignore[attr-defined]
        self._ranges = self._intensities() if "intensity" in self._standard else (0.0, 1.0)
        self._header = header
        self._writer = laspy.LasWriter(stream, header, do_compress=self.format == "laz", closefd=False)

    def _intensities(self) -> tuple[float, float]:
        """The smallest and largest intensity of the source."""
        low, high = np.inf, -np.inf
        for piece in self.source.chunks(fields=["intensity"]):
            values = piece.fields["intensity"]
            known = values[np.isfinite(values)]
            low, high = min(low, known.min(initial=np.inf)), max(high, known.max(initial=-np.inf))
        return (float(low), float(high)) if low < high else (0.0, 1.0)

    def _put(self, points: np.ndarray, fields: dict[str, np.ndarray]) -> None:
        import laspy

        steps = np.abs(points - self._header.offsets).max() / self.source.rounded
        if not steps < MOST:
            raise ScanFileError(
                f"{self.source.path} is too large for LAS in steps of {self.source.rounded:g} m; write PLY."
            )
        record = laspy.ScaleAwarePointRecord.zeros(len(points), header=self._header)
        record.x, record.y, record.z = points.T
        for name in self._standard:
            record[name] = self._fitted(name, fields[name])
        for name in self._added:
            record[name] = fields[name]
        self._writer.write_points(record)

    def _fitted(self, name: str, values: np.ndarray) -> np.ndarray:
        """The values of a field as its standard dimension holds them."""
        if name == "intensity":
            low, high = self._ranges
            known = np.where(np.isfinite(values), values, low)
            scaled: np.ndarray = np.round((known - low) * (65_535 / (high - low))).astype(np.uint16)
            return scaled
        if name in COLOURS:
            return values.astype(np.uint16) * np.uint16(257 if values.dtype == np.uint8 else 1)
        if name == "gps_time":
            return np.nan_to_num(values)
        if name in ("return_number", "number_of_returns"):
            return np.clip(values, 0, 15).astype(np.uint8)
        return values

    def _end(self) -> None:
        self._writer.close()
        self._writer = None

    def _release(self) -> None:
        super()._release()
        self._writer = None
