"""What a column of a table is, by its name and by how often each of its values comes in all parts.

Counts are small but where nearly every cell differs: beyond 262,144 distinct values, those of the pool of
rows stand for all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import MOST, in_subsample
from pinvgcn.features.table_cells import (
    as_text,
    cells_of,
    find_decimal,
    find_format,
    parse_dates,
    parse_numbers,
    whole_text,
)
from pinvgcn.wording import counted, verb

USELESS = b""  # the one value of a column of lists, bytes or the like
FEW = 20  # whole numbers with at most so many values are categories; so are years
MOSTLY = 0.95  # the share of cells that must be numbers for a column to be one of numbers
UNIQUE = 0.5  # distinct values per cell, above which text joins too few rows
UNIQUE_FROM = 10  # distinct values below which no column is called near-unique
WORDS = 4.0  # words of a mean cell, from which on text is free text ...
FREE = 0.2  # ... if there are so many distinct values per cell
# cells among numbers that stand for none: they do not make a column one of text
PLACEHOLDERS = frozenset(
    ("-", "--", "—", ".", "*", "n.a.", "na", "none", "nil", "unknown", "missing", "k.a.")
)
KINDS = ("category", "number", "date", "left out")
FIELDS = {"year": "year", "month": "month", "weekday": "day_of_week"}  # parts of a date, as pandas calls them
PARTS = tuple(FIELDS)
_ID = re.compile(r"(^|[^a-z])(id|ids|idx|index|nr|no|number|key|uuid|guid|code|ref|row)([^a-z]|$)", re.I)
_PADDED = re.compile(r"0\d+")


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
        if len(filled) == 1:
            return replace(filled[0], missing=missing)
        if any(_useless(part.values) for part in filled):
            values = np.concatenate([part._useless().values for part in filled])
        elif len({part.values.dtype.kind for part in filled}) > 1:
            values = np.array([as_text(value) for part in filled for value in part.values], dtype=object)
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
            useless = _useless(self.values)
            kind, values = ("useless", len(self.values)) if useless else ("O", self.values.tolist())
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
    own = ColumnCounts.merged(each)
    if group.alone:
        return own
    return ColumnCounts.merged([ColumnCounts.from_state(state) for state in group.values(own.state())])


def _useless(values: np.ndarray) -> bool:
    return values.dtype == object and len(values) > 0 and isinstance(values[0], bytes)


@dataclass(frozen=True)
class ColumnPlan:
    """What becomes of one column."""

    name: str
    kind: str  # "category", "number", "date" or "left out"
    reason: str = ""  # why it is left out
    distinct: int = 0
    missing: int = 0
    decimal: str = ""  # of a column of numbers: its decimal sign
    whole: bool = False  # of a category: whole numbers
    form: str = ""  # of a date in text: its format
    parts: tuple[str, ...] = ()  # of a date: those that differ
    years: str = "category"  # of a date: what its years are
    rare: tuple[str, ...] = ()  # of a category: values that became one
    alone: tuple[str, ...] = ()  # of a category: values of a single row each
    note: str = ""  # what was assumed

    @property
    def made(self) -> tuple[str, ...]:
        """The names of the columns that are made of it."""
        if self.kind == "date":
            return tuple(f"{self.name} {part}" for part in self.parts)
        return () if self.kind == "left out" else (self.name,)

    @property
    def becomes(self) -> str:
        """In words, for a reader."""
        if self.kind == "left out":
            return self.reason
        if self.kind == "date":
            return ", ".join(self.parts)
        pooled = f", {len(self.rare)} rare ones as one" if self.rare else ""
        return f"{self.distinct:,} values{pooled}"


def rare_below(rows: int) -> int:
    """Fewer rows than this make a value rare: 3 in a small table, up to 20 in a large one."""
    return min(20, max(3, rows // 2_000))


def plan_of(
    name: str, cells: ColumnCounts, rare: int, *, asked: bool, decimal: str | None = None
) -> tuple[ColumnPlan, bool]:
    """The plan of a column, and whether its numbers might be read with either decimal sign."""
    values = cells.values
    basic = ColumnPlan(name, "left out", distinct=len(values), missing=cells.missing)
    if len(values) == 0:
        return replace(basic, reason="empty"), False
    if len(values) == 1:
        useless = isinstance(values[0], bytes)
        return replace(basic, reason="lists, bytes or the like" if useless else "always the same"), False
    if values.dtype.kind == "M":
        return _date_plan(basic, pd.DatetimeIndex(values)), False
    if values.dtype.kind == "f":
        return _number_plan(basic, values, cells, ".", rare, asked), False
    return _text_plan(basic, cells, rare, asked, decimal)


def _text_plan(
    basic: ColumnPlan, cells: ColumnCounts, rare: int, asked: bool, decimal: str | None
) -> tuple[ColumnPlan, bool]:
    values, counts = cells.values, cells.counts
    padded = any(_PADDED.fullmatch(text) for text in values[:1000])  # codes such as 00123, not numbers
    found = find_format(values)
    if found is not None:
        form, either = found
        first = "day" if form.startswith("%d") else "month"
        note = f"day and month could be either way round; the {first} was taken to come first"
        basic = replace(basic, form=form, note=note if either else "")
        return _date_plan(basic, parse_dates(values, form)), False
    sign = find_decimal(values)
    numbers_ = parse_numbers(values, decimal or sign or ".")
    readable = np.isfinite(numbers_)
    empty = np.array([text.casefold() in PLACEHOLDERS for text in values])
    if not padded and counts[readable].sum() >= MOSTLY * counts[~empty].sum() and readable.sum() > 1:
        odd = int(counts[~readable].sum())
        are = verb(odd, "is no number and counts", "are no numbers and count")
        note = f"{counted(odd, 'cell')} {are} as missing" if odd else ""
        ambiguous = sign is None and any("," in text or "." in text for text in values)
        plan = _number_plan(replace(basic, note=note), numbers_, cells, decimal or sign or ".", rare, asked)
        return plan, ambiguous
    ratio = len(values) / counts.sum()
    words = float(np.mean([text.count(" ") + 1 for text in values]))
    many = len(values) > UNIQUE_FROM
    reason = ""
    if not asked and many and words >= WORDS and ratio > FREE:
        reason = "free text"
    elif not asked and many and ratio > UNIQUE:
        reason = f"nearly unique: {len(values):,} values in {counts.sum():,} cells"
    plan = replace(basic, reason=reason) if reason else _category_plan(basic, values, counts, rare)
    return plan, False


def _number_plan(
    basic: ColumnPlan, values: np.ndarray, cells: ColumnCounts, decimal: str, rare: int, asked: bool
) -> ColumnPlan:
    """``values`` are the cells' values as numbers, NaN where one is none."""
    known = values[np.isfinite(values)]
    distinct = np.unique(known)
    if len(distinct) == 1:
        return replace(basic, reason="always the same")
    basic = replace(basic, decimal=decimal, distinct=len(distinct))
    whole = bool((distinct == np.round(distinct)).all()) and np.abs(distinct).max() < 2**53
    if whole and len(distinct) <= FEW:
        place, kept = pd.factorize(np.array([whole_text(x) for x in known], dtype=object))
        often = np.bincount(place, weights=cells.counts[np.isfinite(values)])
        return _category_plan(replace(basic, whole=True), kept, often, rare)
    if whole and not asked and _numbers_rows(basic.name, values, cells, distinct):
        return replace(basic, reason="numbers the rows")
    return replace(basic, kind="number")


def _numbers_rows(name: str, values: np.ndarray, cells: ColumnCounts, distinct: np.ndarray) -> bool:
    """Whether whole numbers are the names of rows: nearly all different, and in order with few gaps,
    or without gaps, or called so. Other large whole numbers, such as prices, are measurements."""
    if len(distinct) <= UNIQUE_FROM or len(distinct) < MOSTLY * cells.counts.sum():
        return False
    reach = (distinct[-1] - distinct[0] + 1) / len(distinct) * cells.share
    rising = bool((cells.counts == 1).all() and (np.diff(values) > 0).all())
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)  # customerId → customer Id
    return (reach < 10 and rising) or reach <= 1.1 or bool(_ID.search(spaced))


def _category_plan(basic: ColumnPlan, values: np.ndarray, counts: np.ndarray, rare: int) -> ColumnPlan:
    few = values[counts < rare]
    if len(few) == len(values) or len(few) < 2:  # nothing to tell them from, or nothing to join
        few = few[:0]
    alone = values[counts == 1]  # also where it is the only rare one, which stays itself
    rare_ones, single = (tuple(sorted(map(str, some))) for some in (few, alone))
    return replace(basic, kind="category", distinct=len(values), rare=rare_ones, alone=single)


def _date_plan(basic: ColumnPlan, dates: pd.DatetimeIndex) -> ColumnPlan:
    known = dates[dates.notna()]
    each = {part: getattr(known, field) for part, field in FIELDS.items()}
    parts = tuple(part for part in PARTS if each[part].nunique() > 1)
    if not parts:
        return replace(basic, reason="always the same year, month and weekday")
    years = "category" if each["year"].nunique() <= FEW else "number"
    return replace(basic, kind="date", parts=parts, years=years)
