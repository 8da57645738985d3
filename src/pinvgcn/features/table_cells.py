"""A column of a table as its distinct values and the place of each row among them."""

from __future__ import annotations

import datetime
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import is_missing


def cells_of(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """(codes, values): row i holds ``values[codes[i]]``, -1 where missing.

    Values are numbers in double precision, dates, or objects: text without spaces around it, and what is
    of no use.
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, used = pd.factorize(series.cat.codes.to_numpy())
        inner, values = cells_of(pd.Series(series.cat.categories[used[used >= 0]]))
        place = np.full(len(used), -1)
        place[used >= 0] = inner
        return place[codes], values
    if pd.api.types.is_bool_dtype(series.dtype):
        truth = _objects(series)
        series = pd.Series([None if cell is None else str(bool(cell)) for cell in truth], dtype=object)
    elif pd.api.types.is_numeric_dtype(series.dtype):
        x = series.to_numpy(dtype=np.float64, na_value=np.nan)
        codes, values = pd.factorize(np.where(np.isfinite(x), x, np.nan))
        return codes, np.asarray(values)
    elif isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_localize(None)
    if series.dtype.kind == "m":
        return cells_of(series.dt.total_seconds())
    if series.dtype.kind == "M":
        codes, dates = pd.factorize(series)
        return codes, np.asarray(dates)
    cells = _objects(series)
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind == "boolean":
        return cells_of(pd.Series(cells, dtype="boolean"))
    if kind not in ("string", "empty"):
        return _mixed(cells)
    codes, values = pd.factorize(cells)
    stripped = np.array([text.strip() for text in values], dtype=object)
    again, values = pd.factorize(stripped)
    empty = np.flatnonzero(values == "")
    if len(empty):
        again = np.where(again == empty[0], -1, again)
    return np.append(again, -1)[codes], np.asarray(values, dtype=object)


def _mixed(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Objects of any type: exact decimals are numbers, dates are dates, the rest is text or of no use."""
    present = [cell for cell in cells if cell is not None and cell is not pd.NaT and cell == cell]
    if present and all(isinstance(cell, numbers.Real | Decimal) for cell in present):
        return cells_of(pd.Series([np.nan if c is None else float(c) for c in cells], dtype=np.float64))
    if present and all(isinstance(cell, datetime.date) for cell in present):
        return cells_of(pd.to_datetime(pd.Series(cells), errors="coerce"))
    if not all(isinstance(cell, str | numbers.Real | Decimal) for cell in present):
        codes = np.array([-1 if cell is None else 0 for cell in cells])
        return codes, np.array([b""], dtype=object)  # lists, bytes and the like
    texts = [None if cell is None or cell != cell else str(cell) for cell in cells]
    return cells_of(pd.Series(texts, dtype=object))


def as_text(value: Any) -> str | None:
    """A value as the text of a category; None where it can be none."""
    if isinstance(value, str):
        return value
    if isinstance(value, float | np.floating):
        return whole_text(float(value))
    if isinstance(value, np.datetime64):
        return str(value)[:10]
    return None


def whole_text(value: float) -> str:
    """A number as text, whole ones without a point."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _objects(series: pd.Series) -> np.ndarray:
    """The cells as they are, None where missing."""
    cells: np.ndarray = np.array(series, dtype=object)
    cells[is_missing(series)] = None
    return cells
