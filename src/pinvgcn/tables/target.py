"""The column that is to be predicted: its classes, and the rows that have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import LabelError, ModelFileError
from pinvgcn.features.table_cells import as_text, cells_of
from pinvgcn.features.table_counts import count_cells
from pinvgcn.wording import counted

MANY = 20  # different values; a target with more, most of them once, is a measurement
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
        target, codes = cls.of_parts(name, [series])
        return target, codes[0]

    @classmethod
    def of_parts(
        cls, name: str, parts: Sequence[pd.Series], *, group: Group = ALONE
    ) -> tuple[Target, list[np.ndarray]]:
        """The same for a table in parts, which processes may share: the codes of each part here."""
        cells = count_cells(parts, group=group)
        texts = [as_text(value) for value in cells.values]
        if any(text is None for text in texts):
            raise LabelError(f"The target column {name!r} must hold classes. Got lists or bytes instead.")
        present, missing = int(cells.counts.sum()), cells.missing
        names = sorted({text for text in texts if text is not None}, key=_in_order)
        if len(names) == 0:
            raise LabelError(
                f"The target column {name!r} must hold the classes of some rows. "
                f"Got {counted(missing, 'empty cell')}."
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
        target = cls(name, tuple(names), _joint_kind(parts, group))
        return target, [target.codes_of(part) for part in parts]

    def codes_of(self, series: pd.Series) -> np.ndarray:
        """The code of each row (n,), -1 where its cell is empty or holds none of the classes."""
        codes, values = cells_of(series)
        number = {name: code for code, name in enumerate(self.classes)}
        place = [number.get(as_text(value) or "", UNLABELLED) for value in values]
        return np.array([*place, UNLABELLED])[codes]

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


def _joint_kind(parts: Sequence[pd.Series], group: Group) -> str:
    """The kind that all parts share; numbers where some parts are whole numbers; else text."""
    own = {_kind(part) for part in parts if part.notna().any()}
    kinds = {kind for told in group.values(sorted(own)) for kind in told}
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"whole", "number"} else "text"


def _kind(series: pd.Series) -> str:
    """Of a column of the file; text stays text, which keeps the notation of the file."""
    if pd.api.types.is_bool_dtype(series.dtype):
        return "truth"
    if pd.api.types.is_integer_dtype(series.dtype):
        return "whole"
    return "number" if pd.api.types.is_float_dtype(series.dtype) else "text"


def _in_order(text: str) -> tuple[int, float, str]:
    """The sort key of a class: numbers by their size, before text."""
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)
