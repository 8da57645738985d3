"""Labels of a scan's points, as codes: from 0 on for classes, -1 for what is to be found, -2 for noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import LabelError
from pinvgcn.io import ScanChunk, ScanSource
from pinvgcn.io.asprs import NOISE, UNCLASSIFIED, class_name

UNKNOWN, OMITTED = -1, -2
MOST = 256  # classes; a field with more is a measurement
LAS = ("las", "laz")
CLASSIFICATION = "classification"


@dataclass
class Classes:
    """The classes in the order in which they were met; whole numbers or text."""

    values: list[Any] = field(default_factory=list)
    code: dict[Any, int] = field(default_factory=dict)

    def codes(self, values: np.ndarray, name: str) -> np.ndarray:
        """Codes (k,) of values that are classes, new ones included."""
        found, inverse = np.unique(values, return_inverse=True)
        numbers = np.empty(len(found), dtype=np.int16)
        for at, value in enumerate(found.tolist()):
            plain = plain_class(value, name)
            if plain not in self.code:
                if len(self.values) == MOST:
                    raise too_many(name, plain)
                self.code[plain] = len(self.values)
                self.values.append(plain)
            numbers[at] = self.code[plain]
        return numbers[inverse]

    def in_order(self) -> tuple[list[Any], np.ndarray]:
        """The values in ascending order, and the new code of each old one."""
        order = sorted(range(len(self.values)), key=lambda at: (str(type(self.values[at])), self.values[at]))
        ranks = np.empty(len(order), dtype=np.int16)
        ranks[order] = np.arange(len(order))
        return [self.values[at] for at in order], ranks


@dataclass(frozen=True)
class FieldLabels:
    """Labels in a field of the file itself."""

    name: str
    unlabelled: tuple[str, ...]  # values as they were typed

    @classmethod
    def of(cls, source: ScanSource, name: str, unlabelled: tuple[str, ...] | None) -> FieldLabels:
        """By default 0 and 1 are unlabelled where LAS says so, -1 and gaps elsewhere."""
        source.known_field(name)
        if unlabelled is None:
            in_las = source.format in LAS and name == CLASSIFICATION
            unlabelled = tuple(map(str, UNCLASSIFIED)) if in_las else ("-1", "")
        elif source.fields[name].kind in "biuf":
            for word in unlabelled:
                if word and as_number(word) is None:
                    raise LabelError(
                        f"{name} holds numbers: unlabelled must be some, too. Got {word!r} instead."
                    )
        return cls(name, unlabelled)

    def known(self, piece: ScanChunk) -> np.ndarray:
        """Which points of a piece have a label: a mask (k,)."""
        values = piece.fields[self.name]
        known = ~pd.isna(values)
        for word in self.unlabelled:
            if values.dtype.kind in "biuf":
                number = as_number(word)
                if number is not None:
                    known &= values != number
            else:
                known &= np.char.strip(values.astype(str)) != word
        return np.asarray(known)


def too_many(name: str, value: Any) -> LabelError:
    """That a field has more than ``MOST`` classes, one of which is ``value``."""
    return LabelError(
        f"{name} must hold classes, {MOST} at most. Got more, such as {value!r}; name the values that mean "
        "unlabelled, or another field."
    )


def noise_in(piece: ScanChunk) -> np.ndarray:
    """Which points of a LAS piece are noise by their class: a mask (k,)."""
    return np.isin(piece.fields[CLASSIFICATION], NOISE)


def has_noise(source: ScanSource) -> bool:
    """Whether the format knows classes of noise."""
    return source.format in LAS and CLASSIFICATION in source.fields


def name_of(value: Any, *, asprs: bool) -> str:
    """A class as people read it."""
    return f"{value} {class_name(value)}" if asprs and isinstance(value, int) else str(value)


def plain_class(value: Any, name: str) -> Any:
    """A class as a Python int or str; a float that is whole becomes an int."""
    if isinstance(value, bool | int | str):
        return int(value) if isinstance(value, bool) else value
    if float(value).is_integer():
        return int(value)
    raise LabelError(f"{name} must hold classes: whole numbers or text. Got {value!r} instead.")


def as_number(word: str) -> float | None:
    """What was typed, as a number; None where it is none."""
    try:
        return float(word)
    except ValueError:
        return None
