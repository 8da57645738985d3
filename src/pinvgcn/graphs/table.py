"""A table as a hypergraph: its rows are nodes, and each value of a column is a hyperedge.

``TableEncoder`` learns from training rows which hyperedges there are, and places any other rows in
them. Every column follows one of three rules, each of which sorts values into numbered *slots*:

==========  ==========================================  ===========================================
rule        columns                                     slots
==========  ==========================================  ===========================================
``Flag``    booleans                                    one, for True
``Bins``    numbers                                     equally wide, half-open bins, the last closed
``Values``  text, pandas categories, mixtures of types  one for each value present in training
==========  ==========================================  ===========================================

A slot becomes a hyperedge if it holds at least ``min_size`` training rows. A column is first reduced
to its distinct values, so rules work on few values and rows are placed by one indexing.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import check_choice, check_count, is_missing
from pinvgcn.errors import ColumnError, DataError, InputError, ModelFileError

Scalar = str | int | float | bool

NOWHERE = -1  # a cell that belongs to no hyperedge by rule: False, ignored missing, a slot below min_size
UNSEEN = -2  # a cell whose value no training row had
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, pd.Period)
_TYPE_OF_DTYPE = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}


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
        width = (high - low) / len(self)
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
        return {_type_of(value) for value in self.values}

    def slots(self, values: np.ndarray) -> np.ndarray:
        slot = {_key(value): i for i, value in enumerate(self.values)}
        return np.array([slot.get(_key(value), UNSEEN) for value in values.tolist()], dtype=np.int64)

    def names(self, column: str) -> list[str]:
        bare = self.types() == {"text"}  # beside other types text needs its quotes: 1 is not '1'
        plain = [bare and value == str(value).strip() != "" for value in self.values]
        return [f"{column} = {v if p else repr(v)}" for v, p in zip(self.values, plain, strict=True)]


Rule = Flag | Bins | Values


@dataclass(frozen=True)
class Column:
    """A column as learned: its rule and how many training rows each slot holds.

    With ``missing="value"`` one more slot, the last, is that of missing cells.
    """

    name: str
    rule: Rule
    sizes: tuple[int, ...]


class TableEncoder:
    """The incidence matrix H of a table, H[i, e] = 1 if row i has the value that hyperedge e stands for.

    Text, pandas categories and mixtures of types give one hyperedge for each value present, a boolean
    column one for True, and numbers are cut into ``bins`` equally wide bins over the range of the
    training rows. Hyperedges are ordered by column, then by value (ordered categories keep their
    order), whatever the order of the rows.

    Parameters
    ----------
    bins: bins of a numeric column; empty ones give no hyperedge.
    missing: "ignore": a missing cell is in no hyperedge; "value": all those of a column form one.
    min_size: hyperedges with fewer training rows are dropped. The table of data sets in the paper
        counts those with one row, so its numbers need ``min_size=1``.
    """

    def __init__(self, bins: int = 10, *, missing: str = "ignore", min_size: int = 2) -> None:
        self.bins = check_count("bins", bins)
        self.missing = check_choice("missing", missing, ("ignore", "value"))
        self.min_size = check_count("min_size", min_size)
        self._learned: tuple[Column, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order; those of an array are x0, x1, ..."""
        return tuple(column.name for column in self._fitted())

    @property
    def names(self) -> tuple[str, ...]:
        """One readable name for each hyperedge."""
        return tuple(
            name
            for column in self._fitted()
            for name, size in zip(self._slot_names(column), column.sizes, strict=True)
            if size >= self.min_size
        )

    def fit_transform(self, table: Any) -> sp.csr_matrix:
        """H (n, |E|) of the training rows, whose values become the hyperedges."""
        frame, _ = _as_frame(table)
        learned, places = [], []
        for name in frame.columns:
            codes, values = _distinct(frame[name])
            rule = self._rule(frame[name], values)
            place = self._place(rule, codes, values)
            sizes = np.bincount(place[place >= 0], minlength=len(rule) + (self.missing == "value"))
            learned.append(Column(name, rule, tuple(sizes.tolist())))
            places.append(place)
        self._check_informative(learned, len(frame))
        self._learned = tuple(learned)
        return self._incidence(places)[0]

    def transform(self, table: Any) -> tuple[sp.csr_matrix, dict[str, int]]:
        """H (n, |E|) of any rows in the learned hyperedges, and how many values of each column were unseen.

        Columns are found by name, others are ignored; an array must have them all, in order. A value
        that no training row had, or a number outside every non-empty bin, is unseen and belongs to no
        hyperedge.
        """
        frame, named = _as_frame(table)
        learned = self._fitted()
        if not named and frame.shape[1] == len(learned):
            frame.columns = pd.Index(self.columns)
        elif not named:
            raise ColumnError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting {len(learned)} "
                f"features as input: {_listed(self.columns)}."
            )
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise ColumnError(
                f"The table must have every column of the training rows. Missing: {_listed(absent)}. "
                f"Got {_listed(frame.columns)} instead."
            )
        places = []
        for column in learned:
            codes, values = _distinct(frame[column.name])
            _check_types(column, values)
            places.append(self._place(column.rule, codes, values))
        return self._incidence(places)

    def to_dict(self) -> dict[str, Any]:
        """All that was learned, in types that JSON keeps exactly."""
        columns = [
            {"name": column.name, "rule": type(column.rule).__name__, "sizes": list(column.sizes)}
            | {field: list(content) for field, content in vars(column.rule).items()}
            for column in self._fitted()
        ]
        return {"bins": self.bins, "missing": self.missing, "min_size": self.min_size, "columns": columns}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> TableEncoder:
        """The encoder that ``to_dict`` described."""
        try:
            encoder = cls(state["bins"], missing=state["missing"], min_size=state["min_size"])
            learned = []
            for entry in state["columns"]:
                make = {"Flag": Flag, "Bins": Bins, "Values": Values}[entry["rule"]]
                rule = make(*(tuple(entry[field.name]) for field in fields(make)))
                if len(rule) + (encoder.missing == "value") != len(entry["sizes"]):
                    raise ValueError(f"wrong number of sizes in column {entry['name']!r}")
                learned.append(Column(entry["name"], rule, tuple(entry["sizes"])))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"The description of a table encoder is damaged: {error!r}.") from None
        encoder._learned = tuple(learned)
        return encoder

    def _fitted(self) -> tuple[Column, ...]:
        if not self._learned:
            raise InputError("This TableEncoder has not seen a table yet; call fit_transform first.")
        return self._learned

    def _rule(self, series: pd.Series, values: np.ndarray) -> Rule:
        """The rule that the distinct values of a training column call for."""
        types = _types_of(values)
        if isinstance(series.dtype, pd.CategoricalDtype) and series.cat.ordered:
            return Values(tuple(_distinct(series.sort_values())[1].tolist()))
        if isinstance(series.dtype, pd.CategoricalDtype) or len(types) != 1 or types == {"text"}:
            return Values(tuple(sorted(values.tolist(), key=_key)))
        if types == {"booleans"}:
            return Flag()
        x = values.astype(np.float64)
        return Bins.between(float(x.min()), float(x.max()), self.bins)

    def _place(self, rule: Rule, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The slot of every row, (n,)."""
        slots = rule.slots(values) if len(values) else np.empty(0, dtype=np.int64)
        slots = np.append(slots, len(rule) if self.missing == "value" else NOWHERE)
        return slots.astype(np.int32)[codes]  # code -1, missing, is the last

    def _slot_names(self, column: Column) -> list[str]:
        missing = [f"{column.name} is missing"] if self.missing == "value" else []
        return column.rule.names(column.name) + missing

    def _incidence(self, places: Sequence[np.ndarray]) -> tuple[sp.csr_matrix, dict[str, int]]:
        """H from the slot of every cell, and the number of unseen cells of each column."""
        edges = np.empty((len(places[0]), len(places)), dtype=np.int32)  # the hyperedge of every cell
        unseen, n_edges = {}, 0
        for j, (column, place) in enumerate(zip(self._learned, places, strict=True)):
            sizes = np.array(column.sizes, dtype=np.int64)
            kept = sizes >= self.min_size
            edge_of = np.where(kept, n_edges + np.cumsum(kept) - 1, np.where(sizes > 0, NOWHERE, UNSEEN))
            edges[:, j] = np.append(edge_of, [UNSEEN, NOWHERE])[place]  # slots -2 and -1 stay themselves
            unseen[column.name] = int(np.count_nonzero(edges[:, j] == UNSEEN))
            n_edges += int(kept.sum())
        member = edges >= 0
        indptr = np.append(0, np.cumsum(member.sum(axis=1)))
        indices = edges[member]  # row by row and ascending, since columns are in order
        H = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(edges), n_edges))
        return H, unseen

    def _check_informative(self, learned: Sequence[Column], n: int) -> None:
        sizes = [size for column in learned for size in column.sizes if size >= self.min_size]
        names = _listed(column.name for column in learned)
        if not sizes:
            raise ColumnError(
                f"The table must have values that at least min_size = {self.min_size} rows share. "
                f"Got {n} sample(s) that share none in {names}; add columns or rows, or lower min_size."
            )
        if min(sizes) == n:
            raise ColumnError(
                f"The table must have a column that tells rows apart. Got {n} sample(s), the same in every "
                f"column: {names}; add columns or rows that differ."
            )


def _as_frame(table: Any) -> tuple[pd.DataFrame, bool]:
    """The table as a new frame whose columns are unique text, and whether it came with their names."""
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
    for length, things in zip(frame.shape, ("sample(s)", "feature(s)"), strict=True):
        if length == 0:
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


def _distinct(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
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
        codes_of_used, values = _distinct(pd.Series(series.cat.categories[used], name=series.name))
        codes[present] = codes_of_used[rows]
        return codes, values
    if series.dtype.kind in _TYPE_OF_DTYPE:
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
    codes[present] = [slots.setdefault(_key(_plain(cell, series)), len(slots)) for cell in cells]
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


def _check_types(column: Column, values: np.ndarray) -> None:
    """New values are of a type that the column held in training; one all missing may be anything."""
    known = column.rule.types()
    if known and not _types_of(values) <= known:
        value = next(value for value in values.tolist() if _type_of(value) not in known)
        raise ColumnError(
            f"Column {column.name!r} must hold {' or '.join(sorted(known))}, as it did in training. "
            f"Got {value!r} instead; convert the column."
        )


def _types_of(values: np.ndarray) -> set[str]:
    if len(values) and values.dtype.kind in _TYPE_OF_DTYPE:
        return {_TYPE_OF_DTYPE[values.dtype.kind]}
    return {_type_of(value) for value in values}


def _type_of(value: Scalar) -> str:
    return "text" if isinstance(value, str) else "booleans" if isinstance(value, bool) else "numbers"


def _key(value: Scalar) -> tuple[str, Any]:
    """What makes a value distinct, and what sorts it: its type, then itself."""
    return _type_of(value), value


def _short(edge: float, width: float) -> str:
    """An edge, to a thousandth of the bin's width."""
    if 0 < width < math.inf:
        edge = round(edge, max(0, 3 - math.floor(math.log10(width))))
    return repr(edge).removesuffix(".0")


def _listed(names: Iterable[Any], limit: int = 20) -> str:
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:limit]) + (f" and {len(shown) - limit} more" if len(shown) > limit else "")
