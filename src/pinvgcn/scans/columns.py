"""Which columns of a scan say something about what a point belongs to, beside where it is."""

from __future__ import annotations

import numpy as np

from pinvgcn.errors import DataError
from pinvgcn.io import ScanSource

# what models call them: how files do, in small letters
USEFUL = {
    "intensity": ("intensity", "reflectance", "amplitude", "i"),
    "return_number": ("return_number", "returnnumber", "return"),
    "number_of_returns": ("number_of_returns", "numberofreturns", "num_returns"),
    "red": ("red", "r", "diffuse_red"),
    "green": ("green", "g", "diffuse_green"),
    "blue": ("blue", "b", "diffuse_blue"),
    "nir": ("nir", "near_infrared"),
}


def plain_name(field: str) -> str:
    """A field's name as models keep it: small letters, without what CloudCompare puts before it."""
    name = field.lower().removeprefix("scalar_")
    return next((known for known, names in USEFUL.items() if name in names), name)


def field_of(source: ScanSource, name: str) -> str | None:
    """The field of a file that a model knows by this name."""
    return next((field for field in source.fields if plain_name(field) == name), None)


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


class Ranges:
    """The least and greatest value of columns that come piece by piece, and whether all are numbers."""

    def __init__(self, fields: list[str]) -> None:
        self.low = dict.fromkeys(fields, np.inf)
        self.high = dict.fromkeys(fields, -np.inf)
        self.gaps: set[str] = set()

    def add(self, fields: dict[str, np.ndarray], rows: np.ndarray) -> None:
        """Look at these rows of a piece."""
        for name in self.low:
            values = np.asarray(fields[name][rows], dtype=float)
            if not np.isfinite(values).all():
                self.gaps.add(name)
            elif len(values):
                self.low[name] = min(self.low[name], float(values.min()))
                self.high[name] = max(self.high[name], float(values.max()))

    def split(self) -> tuple[list[str], dict[str, str]]:
        """The fields that can be used, and why the others cannot."""
        left = {
            name: "has gaps" if name in self.gaps else "is the same everywhere"
            for name in self.low
            if name in self.gaps or not self.low[name] < self.high[name]
        }
        return [name for name in self.low if name not in left], left
