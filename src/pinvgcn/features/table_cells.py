"""The cells of a table: a column as its distinct values, and the numbers and dates that text may be.

Numbers are read as people write them: 1234.5, 1,234.5, 1.234,5, 1 234,5, 12 %, € 12. Of dates in the usual
formats only the day matters.
"""

from __future__ import annotations

import datetime
import numbers
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import is_missing

_GROUPS = {".": r",", ",": r"\."}  # the sign between thousands, by the decimal sign
_PATTERNS = {
    decimal: re.compile(
        rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:{groups}\d{{3}})+|[1-9]\d{{0,2}}(?:[ '’\u00a0\u202f\u2009]\d{{3}})+)?"
        rf"(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?"
    )
    for decimal, groups in _GROUPS.items()
}
_AROUND = re.compile(r"^[€$£¥]\s*|\s*[%€$£¥]$")
_DIGIT = re.compile(r"\d")
NUMBERS = 5_000  # distinct values that decide
# where day and month can be either way round, the more usual way with this sign between them comes first
FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d",
    "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%Y", "%d/%m/%Y",
    "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%y",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d-%b-%Y", "%d-%b-%y", "%Y%m%d",
)  # fmt: skip
EITHER = {"%d-%m-%Y": "%m-%d-%Y", "%m/%d/%Y": "%d/%m/%Y", "%m/%d/%y": "%d/%m/%y"}
_TIME = re.compile(
    r"[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp]\.?[Mm]\.?)?(?:\s*(?:Z|UTC|[+-]\d{2}:?\d{2}))?$"
)
YEARS = (1800, 2200)  # what a date without signs between its parts must lie in
MOST = 0.98  # the share of values that a format must fit
DATES = 2_000  # distinct values that decide


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


def parse_numbers(texts: np.ndarray, decimal: str) -> np.ndarray:
    """The numbers (m,) that these texts are, with this decimal sign; NaN where one is none."""
    numbers: np.ndarray
    if decimal == ".":  # most cells need no care
        numbers = np.array(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce"), dtype=np.float64)
        plain = np.isfinite(numbers)
        numbers[plain] = texts[plain].astype(np.float64)  # before 3.1 pandas may miss the last digit
        careful = np.flatnonzero(~plain)
    else:
        numbers = np.empty(len(texts))
        careful = np.arange(len(texts))
    for place in careful:
        numbers[place] = _parse(texts[place], decimal)
    return numbers


def find_decimal(texts: np.ndarray) -> str | None:
    """The decimal sign that these texts must have; None where both give a number of each, or none does.

    1,234 may be a thousand or a little more than one; 1,23 can only be the latter.
    """
    texts = texts[:NUMBERS]
    dot, comma = (np.isfinite([_parse(text, decimal) for text in texts]) for decimal in (".", ","))
    only_dot, only_comma = int((dot & ~comma).sum()), int((comma & ~dot).sum())
    return None if only_dot == only_comma else "." if only_dot > only_comma else ","


def _parse(text: str, decimal: str) -> float:
    bare = _AROUND.sub("", text.strip()).replace("−", "-")
    if not _PATTERNS[decimal].fullmatch(bare) or not _DIGIT.search(bare):
        return np.nan
    kept = re.sub(r"[^\d+\-eE" + re.escape(decimal) + "]", "", bare)
    try:
        number = float(kept.replace(decimal, "."))
    except ValueError:  # such as "e5"
        return np.nan
    return number if np.isfinite(number) else np.nan


def parse_dates(texts: np.ndarray, form: str) -> pd.DatetimeIndex:
    """The dates (m,) that these texts are, times of day apart; NaT where one is none."""
    days = [_TIME.sub("", text.strip()) for text in texts]
    return pd.DatetimeIndex(pd.to_datetime(pd.Series(days, dtype=object), format=form, errors="coerce"))


def find_format(texts: np.ndarray) -> tuple[str, bool] | None:
    """The format of nearly all of these texts, and whether day and month may be the other way round."""
    sample = texts[:DATES]
    if not len(sample) or not _maybe(sample):
        return None
    fits = {form: _fitting(sample, form) for form in FORMATS}
    best = max(fits.values())
    if best < MOST:
        return None
    form = next(form for form in FORMATS if fits[form] == best)
    return form, fits.get(EITHER.get(form, ""), 0.0) == best


def _fitting(texts: np.ndarray, form: str) -> float:
    dates = parse_dates(texts, form)
    known = np.asarray(dates.notna())
    if form == "%Y%m%d":
        known &= (dates.year >= YEARS[0]) & (dates.year <= YEARS[1])
        known &= np.array([len(_TIME.sub("", text.strip())) == 8 for text in texts])
    return float(known.mean())


def _maybe(texts: np.ndarray) -> bool:
    """Whether the first texts have the length and the digits of dates: most columns need no closer look."""
    head = texts[:20]
    likely = [6 <= len(t.strip()) <= 40 and sum(c.isdigit() for c in t) >= 3 for t in head]
    return sum(likely) >= 0.9 * len(likely)
