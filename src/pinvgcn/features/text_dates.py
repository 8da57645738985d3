"""Dates as people write them, of which year, month and weekday matter here."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

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
ENOUGH = 0.98  # the share of values that a format must fit
SAMPLE = 2_000  # distinct values that decide


def parse_dates(texts: np.ndarray, form: str) -> pd.DatetimeIndex:
    """The dates (m,) that these texts are, times of day apart; NaT where one is none."""
    days = [_TIME.sub("", text.strip()) for text in texts]
    return pd.DatetimeIndex(pd.to_datetime(pd.Series(days, dtype=object), format=form, errors="coerce"))


def find_format(texts: np.ndarray) -> tuple[str, bool] | None:
    """The format of nearly all of these texts, and whether day and month may be the other way round."""
    sample = texts[:SAMPLE]
    if not len(sample) or not _maybe(sample):
        return None
    fits = {form: _share(sample, form) for form in FORMATS}
    best = max(fits.values())
    if best < ENOUGH:
        return None
    form = next(form for form in FORMATS if fits[form] == best)
    return form, fits.get(EITHER.get(form, ""), 0.0) == best


def _share(texts: np.ndarray, form: str) -> float:
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
