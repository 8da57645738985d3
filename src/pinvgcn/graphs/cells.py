"""The cells of a table, reduced to plain values.

A table of any kind becomes a frame with named columns, and a column becomes its distinct values, each a
boolean, a number or text, with a code for every row.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import is_missing
from pinvgcn.errors import ColumnError, DataError

Scalar = str | int | float | bool

_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)
TYPE_OF_DTYPE = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}


def as_frame(table: Any, *, least: int = 1) -> tuple[pd.DataFrame, bool]:
    """The table as a new frame of ``least`` rows or more whose columns are unique text, and whether it came
    with their names."""
    if sp.issparse(table):
        raise DataError(
            f"The table must be dense. Got a scipy sparse {type(table).__name__}; pass table.toarray()."
        )
    named = isinstance(table, pd.DataFrame)
    if named:
        frame = table.copy(deep=False)
        frame.columns = pd.Index([str(name) for name in table.columns], dtype=object)
    elif isinstance(table, list | tuple) and table and all(isinstance(row, list | tuple) for row in table):
        lengths = sorted({len(row) for row in table})
        if len(lengths) > 1:
            raise DataError(
                f"The rows of the table must be equally long. Got {lengths[0]} and {lengths[-1]} values."
            )
        frame = pd.DataFrame([list(row) for row in table])
    else:
        try:
            array = np.asarray(table)
        except ValueError as error:
            raise DataError(f"The table must be a 2-dimensional array. Got {error} instead.") from None
        if array.ndim != 2:
            raise DataError(
                f"The table must be 2-dimensional (rows, columns). Got shape {array.shape} instead. "
                "Reshape your data: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row."
            )
        frame = pd.DataFrame(array)
    for length, minimum, things in zip(frame.shape, (least, 1), ("sample(s)", "feature(s)"), strict=True):
        if length < minimum:
            raise DataError(
                f"The table has 0 {things} (shape={frame.shape}) while a minimum of 1 is required."
            )
    if not named:
        frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])], dtype=object)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ColumnError(
            f"Column names must be unique. Got {twice[0]!r} more than once; rename one of them."
        )
    return frame, named


def distinct(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """A column as (codes, values): row i holds ``values[codes[i]]``, and -1 stands for missing.

    Values are booleans or numbers of one dtype, or objects that are plain Python scalars; they appear
    in the order of their first rows.
    """
    if series.dtype == object:
        with contextlib.suppress(OverflowError):  # older pandas, on integers too large for a float
            series = series.infer_objects()
    present = ~is_missing(series)
    codes = np.full(len(series), -1, dtype=np.int64)
    values: Any
    if isinstance(series.dtype, pd.CategoricalDtype):
        rows, used = pd.factorize(series.cat.codes.to_numpy()[present])
        codes_of_used, values = distinct(pd.Series(series.cat.categories[used], name=series.name))
        codes[present] = codes_of_used[rows]
        return codes, values
    if series.dtype.kind in TYPE_OF_DTYPE:
        dtype = {"b": np.bool_, "i": np.int64, "u": np.uint64, "f": np.float64}[series.dtype.kind]
        codes[present], values = pd.factorize(series[present].to_numpy(dtype=dtype))
        if not np.isfinite(values).all():
            raise _infinite(series)
        return codes, values
    cells = series.to_numpy(dtype=object)[present]
    if pd.api.types.infer_dtype(cells, skipna=False) == "string":
        codes[present], values = pd.factorize(cells)
        return codes, values
    slots: dict[tuple[str, Scalar], int] = {}  # by type as well: True, 1 and "1" are three values
    codes[present] = [slots.setdefault(key_of(_plain(cell, series)), len(slots)) for cell in cells]
    values = np.empty(len(slots), dtype=object)
    values[:] = [value for _, value in slots]
    return codes, values


def _plain(cell: Any, series: pd.Series) -> Scalar:
    """A cell of an object column as bool, str, int or float; whole numbers are int however they came."""
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, numbers.Real | Decimal):
        try:
            number = float(cell)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            raise _infinite(series)
        if isinstance(cell, numbers.Integral):
            return int(cell)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if isinstance(cell, numbers.Complex):
        raise DataError(
            f"Complex data not supported: column {series.name!r} must be real. Got {cell!r} instead."
        )
    if isinstance(cell, _DATES):
        advice = "turn dates into columns such as year, month and weekday first"
    else:
        advice = "turn them into text first"
    raise ColumnError(
        f"Column {series.name!r} must hold numbers, text or booleans. "
        f"Got {cell!r} of type {type(cell).__name__} instead; {advice}."
    )


def _infinite(series: pd.Series) -> DataError:
    return DataError(
        f"Column {series.name!r} must be finite. Got infinity; remove these rows or mark them missing."
    )


def types_of(values: np.ndarray) -> set[str]:
    if len(values) and values.dtype.kind in TYPE_OF_DTYPE:
        return {TYPE_OF_DTYPE[values.dtype.kind]}
    return {type_of(value) for value in values}


def type_of(value: Scalar) -> str:
    return "text" if isinstance(value, str) else "booleans" if isinstance(value, bool) else "numbers"


def key_of(value: Scalar) -> tuple[str, Any]:
    """What makes a value distinct, and what sorts it: its type, then itself."""
    return type_of(value), value


def listed(names: Iterable[Any], limit: int = 20) -> str:
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:limit]) + (f" and {len(shown) - limit} more" if len(shown) > limit else "")
