"""How often each value of a column comes, in all parts of a table, wherever they are.

What becomes of a column is decided by its distinct values, in the order in which they first come, and their
counts. These are small but where nearly every cell differs: beyond 262,144 distinct values, those of the
pool of rows stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import MOST, in_subsample
from pinvgcn.features.table_cells import as_text, cells_of

USELESS = b""  # the one value of a column of lists, bytes or the like


@dataclass(frozen=True)
class ColumnCounts:
    """Distinct values in the order in which they come, how often each does, and how many cells are empty."""

    values: np.ndarray  # (v,) numbers, dates or objects, as ``cells_of`` has them
    counts: np.ndarray  # (v,)
    missing: int
    share: float = 1.0  # of the rows, that these stand for all of

    @classmethod
    def of(cls, series: pd.Series) -> ColumnCounts:
        """Of one part."""
        codes, values = cells_of(series)
        present = codes[codes >= 0]
        return cls(values, np.bincount(present, minlength=len(values)), int(len(codes) - len(present)))

    @classmethod
    def merged(cls, parts: Sequence[ColumnCounts]) -> ColumnCounts:
        """Of parts one below the other. Numbers or dates in one and text in another are text."""
        filled = [part for part in parts if len(part.values)]
        missing = sum(part.missing for part in parts)
        if not filled:
            return cls(np.empty(0, dtype=object), np.empty(0, dtype=np.int64), missing)
        kinds = {part.values.dtype.kind for part in filled}
        if len(filled) == 1:
            return replace(filled[0], missing=missing)
        if any(_useless(part.values) for part in filled):
            values = np.concatenate([part._useless().values for part in filled])
        elif len(kinds) > 1:
            texts = [[as_text(value) for value in part.values] for part in filled]
            values = np.array([text for part in texts for text in part], dtype=object)
        else:
            values = np.concatenate([part.values for part in filled])
        place, distinct = pd.factorize(values)
        weights = np.concatenate([part.counts for part in filled])
        counts = np.bincount(place, weights, minlength=len(distinct)).astype(np.int64)
        return cls(np.asarray(distinct, dtype=values.dtype), counts, missing)

    def _useless(self) -> ColumnCounts:
        return replace(self, values=np.full(len(self.values), USELESS, dtype=object))

    def state(self) -> dict[str, Any]:
        """In the types that JSON keeps."""
        kind: str = self.values.dtype.kind
        if kind == "M":
            values: Any = self.values.astype("datetime64[ns]").astype(np.int64).tolist()
        elif kind == "f":
            values = self.values.tolist()
        else:
            kind, values = (
                ("useless", len(self.values)) if _useless(self.values) else ("O", self.values.tolist())
            )
        return {"kind": kind, "values": values, "counts": self.counts.tolist(), "missing": self.missing}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ColumnCounts:
        """The inverse of ``state``."""
        kind, values = state["kind"], state["values"]
        if kind == "M":
            found = np.array(values, dtype=np.int64).astype("datetime64[ns]")
        elif kind == "useless":
            found = np.full(values, USELESS, dtype=object)
        else:
            found = np.empty(len(values), dtype=np.float64 if kind == "f" else object)
            found[:] = values
        return cls(found, np.array(state["counts"], dtype=np.int64), state["missing"])


def count_cells(parts: Sequence[pd.Series], *, group: Group = ALONE) -> ColumnCounts:
    """A column of all parts of all ranks, each of which has some parts that follow each other."""
    each = [ColumnCounts.of(part) for part in parts]
    start, total = group.offset(sum(len(part) for part in parts))
    if total > MOST and group.largest(max((len(one.values) for one in each), default=0)) > MOST:
        return _of_pool(parts, start, total, group)
    found = _everywhere(each, group)
    return _of_pool(parts, start, total, group) if len(found.values) > MOST else found


def _of_pool(parts: Sequence[pd.Series], start: int, total: int, group: Group) -> ColumnCounts:
    """Of the rows of the pool, which stand for all."""
    chosen, missing = [], 0
    for part in parts:
        rows = in_subsample(start, len(part), total)
        chosen.append(ColumnCounts.of(part.iloc[rows]))
        missing += int(part.isna().sum())
        start += len(part)
    found = _everywhere(chosen, group)
    seen = int(found.counts.sum()) + found.missing
    return replace(found, missing=group.sum(missing), share=seen / total)


def _everywhere(each: Sequence[ColumnCounts], group: Group) -> ColumnCounts:
    if group.alone:
        return ColumnCounts.merged(each)
    own = ColumnCounts.merged(each)
    return ColumnCounts.merged([ColumnCounts.from_state(state) for state in group.values(own.state())])


def _useless(values: np.ndarray) -> bool:
    return values.dtype == object and len(values) > 0 and isinstance(values[0], bytes)
