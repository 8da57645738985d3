"""What joins the rows of X, where nobody has said it: values that they share, or distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import DataError

WORDS = {"categorical": "a table", "gaussian": "points"}


def graph_kind(X: Any, group: Group = ALONE) -> str:
    """ "categorical" for a table, "gaussian" for points; the same on all ranks.

    A frame is a table if a column is not of numbers: text, categories, truth values, dates, objects. An array
    or a list is one if it holds text. Other numbers are points, in frames as in arrays, however many columns
    there are: a frame and its array give one model. Ranks without rows have no say.
    """
    with together(group):
        own = "categorical" if _is_table(X) else "gaussian"
        rows = _count(X)
    told = group.values([own, rows])
    said = {rank: kind for rank, (kind, count) in enumerate(told) if count} or {0: told[0][0]}
    first = next(iter(said))
    for rank, kind in said.items():
        if kind != said[first]:
            raise DataError(
                f"X must be a table on all ranks or points on all. Got {WORDS[said[first]]} on rank {first} "
                f"and {WORDS[kind]} on rank {rank}; use columns of the same types, or pass "
                "graph='categorical' or 'gaussian'."
            )
    return said[first]


def _is_table(X: Any) -> bool:
    if isinstance(X, pd.DataFrame):
        return not all(_is_number(dtype) for dtype in X.dtypes)
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths, which are refused later
        return False
    if array.dtype.kind == "O":
        return any(isinstance(cell, str) for cell in array.flat)
    return array.dtype.kind in "UST"


def _count(X: Any) -> int:
    """How many rows X has; what has no rows at all is refused later."""
    shape = getattr(X, "shape", (len(X),) if isinstance(X, list | tuple) else ())
    return int(shape[0]) if shape else 0


def _is_number(dtype: Any) -> bool:
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
