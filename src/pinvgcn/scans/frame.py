"""Frame: from the numbers of a file to what a model sees of its points, and which columns it sees.

A model keeps the columns by names of its own, since files call the same thing differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.errors import DataError, ModelFileError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.io import ScanChunk, ScanSource

GRID = 1024.0  # metres that origins are multiples of

# the names that models keep, and those in files, in small letters
USEFUL = {
    "intensity": ("intensity", "reflectance", "amplitude", "i"),
    "return_number": ("return_number", "returnnumber", "return"),
    "number_of_returns": ("number_of_returns", "numberofreturns", "num_returns"),
    "red": ("red", "r", "diffuse_red"),
    "green": ("green", "g", "diffuse_green"),
    "blue": ("blue", "b", "diffuse_blue"),
    "nir": ("nir", "near_infrared"),
}


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

    @classmethod
    def of_model(cls, model: PinvGCNClassifier, path: Path, metres: float) -> Frame:
        """Where a model was fitted, by what its file says."""
        about = model.about_ or {}
        if about.get("kind") == "scan":
            x, y, z = about["origin"]
            return cls(metres, (x, y, z), tuple(about["columns"]))
        if model.fitted_.scaling.n_extra:
            raise ModelFileError(
                f"{path} does not say which columns its {model.fitted_.scaling.n_extra} features are. "
                "Save it with `pinvgcn segment --save-model`, or predict in Python."
            )
        return cls(1.0, (0.0, 0.0, 0.0), ())  # fitted in Python, to coordinates as they were

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
        return fields_of(source, self.columns, "which the model needs")

    def beside(self, piece: ScanChunk, fields: list[str], source: ScanSource) -> np.ndarray:
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
        return {"origin": list(self.origin), "columns": list(self.columns)}


def plain_name(field: str) -> str:
    """A field's name as models keep it: small letters, without what CloudCompare puts before it."""
    name = field.lower().removeprefix("scalar_")
    return next((known for known, names in USEFUL.items() if name in names), name)


def fields_of(source: ScanSource, names: Sequence[str], why: str) -> list[str]:
    """The fields of a file that a model knows by these names; all must be there, ``why`` in the message."""
    fields = {plain_name(field): field for field in reversed(source.fields)}
    missing = " and ".join(repr(name) for name in names if name not in fields)
    if missing:
        raise DataError(f"{source.path} must have {missing}, {why}. Its fields: {source.listed_fields}.")
    return [fields[name] for name in names]


def candidates(source: ScanSource, wanted: tuple[str, ...] | None, *, besides: str | None) -> list[str]:
    """Fields that may become features: those that are ``wanted``, else all useful ones; never the labels."""
    if wanted is not None:
        for field in wanted:
            if field == besides:
                raise DataError(f"{source.path}: {field!r} holds the labels and cannot be a feature.")
            if source.fields[source.known_field(field)].kind not in "biuf":
                raise DataError(
                    f"{source.path}: a feature must be a column of numbers. Got {field!r}, which holds text."
                )
        return list(wanted)
    numbers = [field for field, dtype in source.fields.items() if dtype.kind in "biuf" and field != besides]
    found = {plain_name(field): field for field in reversed(numbers) if plain_name(field) in USEFUL}
    return [found[name] for name in USEFUL if name in found]
