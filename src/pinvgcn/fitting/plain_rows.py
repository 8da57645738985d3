"""Some rows of a table as plain values: they can be kept in a file, joined, and mixed cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ModelFileError
from pinvgcn.graphs.cells import Scalar, as_frame, distinct, key_of, types_of

TYPES = (str, int, float, bool)  # of a value in a file


class PlainColumn(NamedTuple):
    """Row i holds ``values[codes[i]]``; −1 stands for a missing cell."""

    codes: np.ndarray  # (n,)
    values: tuple[Scalar, ...]

    @classmethod
    def of(cls, series: pd.Series) -> PlainColumn:
        """Of a column of a frame."""
        codes, values = distinct(series)
        return cls(codes, tuple(values.tolist()))

    def followed_by(self, other: PlainColumn) -> PlainColumn:
        """With the rows of another one below."""
        places = {key_of(value): place for place, value in enumerate(self.values)}
        moved = [places.setdefault(key_of(value), len(places)) for value in other.values]
        codes = np.array([*moved, -1], dtype=np.int64)[other.codes]
        return PlainColumn(np.append(self.codes, codes), tuple(value for _, value in places))

    def at(self, rows: np.ndarray) -> Any:
        """The cells of these rows (m,), as a column of a frame: numbers, categories or objects."""
        codes, types = self.codes[rows], types_of(np.array(self.values, dtype=object))
        if types <= {"numbers"}:
            return np.array([*self.values, np.nan], dtype=np.float64)[codes]
        if len(types) == 1:
            return pd.Categorical.from_codes(codes, categories=pd.Index(self.values, dtype=object))
        return np.array([*self.values, None], dtype=object)[codes]


@dataclass(frozen=True)
class PlainRows:
    """Rows of a table, by the names of its columns."""

    columns: Mapping[str, PlainColumn]

    @classmethod
    def of(cls, frame: pd.DataFrame, names: Sequence[str]) -> PlainRows:
        """These columns of a frame."""
        return cls({name: PlainColumn.of(frame[name]) for name in names})

    @classmethod
    def of_all(cls, X: Any, numbers: np.ndarray, group: Group = ALONE) -> PlainRows:
        """The rows of these ascending ``numbers`` among those that the ranks of a group share out, on all of
        them."""
        frame, _ = as_frame(X, least=0)
        start, _ = group.offset(len(frame))
        here = numbers[(numbers >= start) & (numbers < start + len(frame))] - start
        own = cls.of(frame.iloc[here], list(frame.columns))
        if group.alone:
            return own
        first, *others = [cls.from_dict(told) for told in group.values(own.to_dict())]
        for other in others:
            first = first.followed_by(other)
        return first

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def followed_by(self, other: PlainRows) -> PlainRows:
        """With the rows of another table of the same columns below."""
        return PlainRows({name: own.followed_by(other.columns[name]) for name, own in self.columns.items()})

    def take(self, rows: np.ndarray) -> PlainRows:
        """Some of the rows."""
        return PlainRows({name: own._replace(codes=own.codes[rows]) for name, own in self.columns.items()})

    def cells(self, names: Sequence[str]) -> np.ndarray:
        """Numbers that are equal where rows agree in all of these columns: (n,)."""
        codes = np.column_stack([self.columns[name].codes for name in names])
        return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)

    def mixed(self, parts: Sequence[Sequence[str]], source: np.ndarray) -> pd.DataFrame:
        """Rows that have the columns ``parts[j]`` of row ``source[i, j]``: a frame of m rows, for ``source``
        (m, parts)."""
        return pd.DataFrame(
            {name: self.columns[name].at(source[:, j]) for j, names in enumerate(parts) for name in names}
        )

    def to_dict(self) -> dict[str, Any]:
        """In the types that JSON keeps."""
        return {name: [own.codes.tolist(), list(own.values)] for name, own in self.columns.items()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> PlainRows:
        """From what ``to_dict`` gave."""
        try:
            columns = {
                name: PlainColumn(np.array(codes, dtype=np.int64), tuple(values))
                for name, (codes, values) in state.items()
            }
            sound = len({len(own.codes) for own in columns.values()}) == 1 and all(
                ((own.codes >= -1) & (own.codes < len(own.values))).all()
                and all(isinstance(value, TYPES) for value in own.values)
                for own in columns.values()
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelFileError(f"The rows that a model keeps are damaged: {error!r}.") from None
        if not sound:
            raise ModelFileError("The rows that a model keeps are damaged: codes and values do not fit.")
        return cls(columns)
