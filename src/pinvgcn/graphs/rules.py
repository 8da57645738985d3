"""The rules by which values of a table's column are sorted into numbered slots (see ``table``).

A column's rule depends on its values over all ranks, each of which tells the others what it has: types and
extremes always; the distinct values of a column of categories; and for bins that hold equally many rows the
distinct numbers with their counts, of all rows or of the pool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import Group
from pinvgcn.distributed.rows import MOST, in_subsample
from pinvgcn.graphs.cells import Scalar, distinct, key_of, type_of, types_of

NOWHERE = -1  # a cell that belongs to no hyperedge by rule: False, ignored missing, a slot below min_size
UNSEEN = -2  # a cell whose value no training row had
FEW = 2**14  # distinct numbers of a column up to which all rows count for its quantiles


@dataclass(frozen=True)
class Flag:
    """The rule of a boolean column: True is a hyperedge, False is none."""

    def __len__(self) -> int:
        return 1

    def types(self) -> set[str]:
        return {"booleans"}

    def slots(self, values: np.ndarray) -> np.ndarray:
        return np.where(values.astype(bool), 0, NOWHERE)

    def names(self, column: str) -> list[str]:
        return [column]


@dataclass(frozen=True)
class Bins:
    """The rule of a numeric column: bin k is [edges[k], edges[k + 1]), the last one is closed."""

    edges: tuple[float, ...]

    @classmethod
    def between(cls, low: float, high: float, count: int) -> Bins:
        """``count`` equally wide bins, with edges computed exactly from the decimals that print.

        Then a value that lies on an edge in decimal notation, such as 0.3 in tenths of [0, 1], is
        equal to that edge as a float too, and falls in the upper bin.
        """
        first, last = Fraction(repr(low)), Fraction(repr(high))
        steps = range(count + 1) if first < last else (0, count)
        return cls(tuple(float(first + (last - first) * step / count) for step in steps))

    @classmethod
    def filled(cls, values: np.ndarray, counts: np.ndarray, count: int, *, low: float, high: float) -> Bins:
        """Up to ``count`` bins from ``low`` to ``high`` with equally many rows each, as far as equal values
        allow.

        Edge k is the smallest value with k/``count`` of the rows below it. ``values`` are distinct.
        """
        order = np.argsort(values)
        x, sizes = values[order], counts[order]
        below = np.cumsum(sizes) - sizes
        wanted = np.arange(1, count) * (sizes.sum() / count)
        places = np.unique(np.searchsorted(below, wanted, side="left"))
        inner = x[places[(places > 0) & (places < len(x))]]
        return cls((low, *inner.tolist(), high))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def types(self) -> set[str]:
        return {"numbers"}

    def slots(self, values: np.ndarray) -> np.ndarray:
        x = values.astype(np.float64)
        slots = np.searchsorted(self.edges, x, side="right") - 1
        slots = np.minimum(slots, len(self) - 1)  # the maximum belongs to the last bin
        return np.where((x < self.edges[0]) | (x > self.edges[-1]), UNSEEN, slots)

    def names(self, column: str) -> list[str]:
        low, high = self.edges[0], self.edges[-1]
        width = min((b - a for a, b in pairwise(self.edges) if b > a), default=0.0)
        if low == high:
            return [f"{column} = {_short(low, width)}"]
        ends = [_short(edge, width) for edge in self.edges]
        names = [f"{column} in [{a}, {b})" for a, b in pairwise(ends)]
        return [*names[:-1], names[-1][:-1] + "]"]


@dataclass(frozen=True)
class Values:
    """The rule of a categorical column: each value present in training is a hyperedge."""

    values: tuple[Scalar, ...]

    def __len__(self) -> int:
        return len(self.values)

    def types(self) -> set[str]:
        return {type_of(value) for value in self.values}

    def slots(self, values: np.ndarray) -> np.ndarray:
        slot = {key_of(value): i for i, value in enumerate(self.values)}
        return np.array([slot.get(key_of(value), UNSEEN) for value in values.tolist()], dtype=np.int64)

    def names(self, column: str) -> list[str]:
        bare = self.types() == {"text"}  # beside other types text needs its quotes: 1 is not '1'
        plain = [bare and value == str(value).strip() != "" for value in self.values]
        return [f"{column} = {v if p else repr(v)}" for v, p in zip(self.values, plain, strict=True)]


Rule = Flag | Bins | Values


def _short(edge: float, width: float) -> str:
    """An edge, to a thousandth of the bin's width."""
    if 0 < width < math.inf:
        edge = round(edge, max(0, 3 - math.floor(math.log10(width))))
    return repr(edge).removesuffix(".0")


@dataclass(frozen=True)
class ColumnCells:
    """The cells of one column on this rank: row i holds ``values[codes[i]]``, and -1 stands for missing."""

    codes: np.ndarray  # (n,)
    values: np.ndarray
    categorical: bool  # pandas categories
    order: tuple[Scalar, ...] | None  # all categories, where they have an order

    @classmethod
    def of(cls, series: pd.Series) -> ColumnCells:
        codes, values = distinct(series)
        order = None
        categorical = isinstance(series.dtype, pd.CategoricalDtype)
        if categorical and series.cat.ordered:
            order = tuple(distinct(pd.Series(series.cat.categories))[1].tolist())
        return cls(codes, values, categorical, order)

    def told(self) -> dict[str, Any]:
        """What the other ranks need to know first."""
        types = types_of(self.values)
        x = self.values.astype(np.float64) if types == {"numbers"} else np.empty(0)
        return {
            "types": sorted(types),
            "categorical": self.categorical,
            "order": None if self.order is None else list(self.order),
            "range": [float(x.min()), float(x.max())] if len(x) else None,
            "distinct": len(self.values),
        }

    def counts(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """How often each value comes, among these rows: (distinct,)."""
        codes = self.codes[rows]
        return np.bincount(codes[codes >= 0], minlength=len(self.values))


@dataclass(frozen=True)
class RuleLearner:
    """Finds rules from the rows of all ranks, of which this one has those from ``start`` on, of ``total``.

    Of few rows there are fewer bins of equally many: such that each can have ``min_size``.
    """

    bins: int
    binning: str
    min_size: int
    group: Group
    start: int
    total: int

    def __call__(self, columns: Sequence[ColumnCells]) -> list[Rule]:
        """The rule of each column."""
        told = self.group.values([column.told() for column in columns])
        rules: list[Rule] = []
        for column, said in zip(columns, zip(*told, strict=True), strict=True):
            filled = [one for one in said if one["distinct"]]  # a rank without a value has no say
            types = {name for one in filled for name in one["types"]}
            if len(types) != 1 or types == {"text"} or any(one["categorical"] for one in filled):
                rules.append(self._values(column, [one["order"] for one in filled], len(types) > 1))
            elif types == {"booleans"}:
                rules.append(Flag())
            else:
                low = min(one["range"][0] for one in filled)
                high = max(one["range"][1] for one in filled)
                if self.binning == "quantile":
                    many = max(one["distinct"] for one in filled) > FEW
                    x, counts = self._weighed(column, many)
                    most = max(1, min(self.bins, int(counts.sum()) // self.min_size))
                    rules.append(Bins.filled(x, counts, most, low=low, high=high))
                else:
                    rules.append(Bins.between(low, high, self.bins))
        return rules

    def _values(self, column: ColumnCells, orders: Sequence[list[Scalar] | None], mixed: bool) -> Values:
        """Each value that some rank has, once; in the order of the categories if all have the same one."""
        seen: dict[tuple[str, Any], Scalar] = {}
        for part in self.group.values(column.values.tolist()):
            for value in part:
                # beside other types whole numbers are int however they came, as in one column of objects
                whole = mixed and isinstance(value, float) and value.is_integer() and abs(value) < 2**53
                plain = int(value) if whole else value
                seen.setdefault(key_of(plain), plain)
        if orders and orders[0] is not None and all(order == orders[0] for order in orders):
            place = {key_of(value): i for i, value in enumerate(orders[0])}
            return Values(tuple(sorted(seen.values(), key=lambda value: place[key_of(value)])))
        return Values(tuple(sorted(seen.values(), key=key_of)))

    def _weighed(self, column: ColumnCells, many: bool) -> tuple[np.ndarray, np.ndarray]:
        """Distinct numbers and their counts over all ranks: of all rows, or of the pool where the rows are
        more than that and the numbers more than a few."""
        if self.total > MOST and not many:
            x, counts = self._joined(column.values, column.counts())
            if len(x) <= FEW:
                return x, counts
        counts = column.counts(in_subsample(self.start, len(column.codes), self.total, most=MOST))
        there = counts > 0
        return self._joined(column.values[there], counts[there])

    def _joined(self, values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distinct numbers of each rank and their counts, as those of all."""
        x = self.group.rows(values.astype(np.float64))
        number = self.group.rows(counts)
        if self.group.alone:
            return x, number
        found, place = np.unique(x, return_inverse=True)
        return found, np.bincount(place, number, minlength=len(found)).astype(np.int64)
