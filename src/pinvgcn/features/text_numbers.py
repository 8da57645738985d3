"""Numbers as people write them: 1234.5, 1,234.5, 1.234,5, 1 234,5, 12 %, € 12."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

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
SAMPLE = 5_000  # distinct values that decide


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
    texts = texts[:SAMPLE]
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
