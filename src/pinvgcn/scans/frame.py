"""Frame: from the numbers of a file to what a model sees of its points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.errors import DataError
from pinvgcn.io import ScanChunk, ScanSource
from pinvgcn.scans.columns import field_of

GRID = 1024.0  # metres that origins are multiples of


@dataclass(frozen=True)
class Frame:
    """x ↦ m x − o, metres from an origin o; and extra columns, by the names that models know them by.

    Map coordinates have six or seven digits before the point. The origin near the middle of the scan is a
    multiple of 1,024 m: to take it off loses nothing of such coordinates, and cells of a lattice, whose sides
    are powers of two up to 1,024 m, lie at the same places of the world for every such origin.
    """

    metres: float  # per unit of the file
    origin: tuple[float, float, float]  # in metres
    columns: tuple[str, ...]

    @classmethod
    def around(cls, low: np.ndarray, high: np.ndarray, metres: float, columns: tuple[str, ...]) -> Frame:
        """For a scan with these corners, in the units of its file."""
        x, y, z = (GRID * np.round(metres * (low + high) / 2 / GRID)).tolist()
        return cls(metres, (x, y, z), columns)

    def points(self, coordinates: np.ndarray) -> np.ndarray:
        """(k, 3), in metres."""
        moved: np.ndarray = coordinates * self.metres
        moved -= np.array(self.origin)
        return moved

    def coordinates(self, points: np.ndarray) -> np.ndarray:
        """Back to those of the file: (k, 3)."""
        back: np.ndarray = (points + np.array(self.origin)) / self.metres
        return back

    def fields(self, source: ScanSource) -> list[str]:
        """The names that the extra columns have in a file."""
        found = [field_of(source, name) for name in self.columns]
        missing = [name for name, field in zip(self.columns, found, strict=True) if field is None]
        if missing:
            listed = ", ".join(source.fields) or "none besides x, y, z"
            raise DataError(
                f"{source.path} must have {' and '.join(map(repr, missing))}, which the model needs. "
                f"Its fields: {listed}."
            )
        return [field for field in found if field is not None]

    def beside(self, piece: ScanChunk, fields: list[str], source: ScanSource) -> np.ndarray:
        """The extra columns of a piece: (k, c)."""
        columns = np.empty((len(piece.points), len(fields)))
        for at, field in enumerate(fields):
            columns[:, at] = piece.fields[field]
            bad = np.flatnonzero(~np.isfinite(columns[:, at]))
            if len(bad):
                raise DataError(
                    f"{source.path}: {field!r} must be finite, as the model uses it. "
                    f"Got {columns[bad[0], at]} at point {piece.start + bad[0]:,} (counted from 0)."
                )
        return columns

    def about(self) -> dict[str, Any]:
        """For a model's file."""
        return {"origin": list(self.origin), "columns": list(self.columns)}
