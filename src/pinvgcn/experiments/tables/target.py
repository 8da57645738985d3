"""The column that is to be predicted: its classes, and the rows that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import LabelError, ModelFileError
from pinvgcn.features.table_cells import as_text, cells_of
from pinvgcn.words import counted

MANY = 20  # different values, from which on a target that hardly repeats any is a measurement
KINDS = ("text", "whole", "number", "truth")


@dataclass(frozen=True)
class Target:
    """A column's name, and its classes as text in the order of their codes."""

    name: str
    classes: tuple[str, ...]
    kind: str = "text"  # what the column held: text, or in Parquet whole numbers, numbers or truth values

    @classmethod
    def read(cls, name: str, series: pd.Series) -> tuple[Target, np.ndarray]:
        """The target, and the code of each row (n,), -1 where its cell is empty."""
        codes, values = cells_of(series)
        texts = [as_text(value) for value in values]
        if any(text is None for text in texts):
            raise LabelError(f"The target column {name!r} must hold classes. Got lists or bytes instead.")
        present = int((codes >= 0).sum())
        names = sorted({text for text in texts if text is not None}, key=_in_order)
        if len(names) == 0:
            raise LabelError(
                f"The target column {name!r} must hold the classes of some rows. "
                f"Got {counted(len(codes), 'empty cell')}."
            )
        if len(names) == 1:
            raise LabelError(
                f"The target column {name!r} must hold at least two classes. Got only {names[0]!r}, "
                f"in {counted(present, 'row')}."
            )
        if len(names) > max(MANY, present // 2):
            raise LabelError(
                f"The target column {name!r} must hold classes that repeat. Got {len(names):,} different "
                f"values in {present:,} rows; put numbers into a few groups first."
            )
        place = np.array([names.index(text) if text is not None else UNLABELLED for text in texts])
        return cls(name, tuple(names), _kind(series)), np.append(place, UNLABELLED)[codes]

    def column(self, codes: np.ndarray) -> Any:
        """Classes (n,) in the type that the column has, missing where the code is -1."""
        texts = pd.array([self.classes[c] if c >= 0 else None for c in codes], dtype="string")
        if self.kind == "whole":
            return pd.array([None if pd.isna(t) else int(t) for t in texts], dtype="Int64")
        if self.kind == "number":
            return pd.array([None if pd.isna(t) else float(t) for t in texts], dtype="Float64")
        if self.kind == "truth":
            return pd.array([None if pd.isna(t) else t == "True" for t in texts], dtype="boolean")
        return texts

    def to_dict(self) -> dict[str, Any]:
        """In the types that JSON keeps."""
        return {"name": self.name, "classes": list(self.classes), "kind": self.kind}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Target:
        """The target that ``to_dict`` described."""
        try:
            target = cls(str(state["name"]), tuple(map(str, state["classes"])), state["kind"])
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"The target of a saved model is damaged: {error!r}.") from None
        if target.kind not in KINDS:
            raise ModelFileError(f"The target of a saved model is damaged: its kind is {target.kind!r}.")
        return target


def _kind(series: pd.Series) -> str:
    """Of the column that is written beside: text stays text, so that a file's own notation is kept."""
    if pd.api.types.is_bool_dtype(series.dtype):
        return "truth"
    if pd.api.types.is_integer_dtype(series.dtype):
        return "whole"
    return "number" if pd.api.types.is_float_dtype(series.dtype) else "text"


def _in_order(text: str) -> tuple[int, float, str]:
    """Numbers by their size, before text."""
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)
