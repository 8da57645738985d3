"""A table as a hypergraph: its rows are nodes, and each value of a column is a hyperedge.

``TableEncoder`` learns from training rows which hyperedges there are, and places any other rows in
them. Every column follows one of three rules, each of which sorts values into numbered *slots*:

==========  ==========================================  ===========================================
rule        columns                                     slots
==========  ==========================================  ===========================================
``Flag``    booleans                                    one, for True
``Bins``    numbers                                     half-open bins, the last closed
``Values``  text, pandas categories, mixtures of types  one for each value present in training
==========  ==========================================  ===========================================

A slot becomes a hyperedge if it holds at least ``min_size`` training rows. A column is first reduced
to its distinct values, so rules work on few values and rows are placed by one indexing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import check_choice, check_count
from pinvgcn.errors import ColumnError, InputError, ModelFileError
from pinvgcn.graphs.cells import Scalar, as_frame, distinct, key_of, listed, type_of, types_of

BINNINGS = ("width", "quantile")
NOWHERE = -1  # a cell that belongs to no hyperedge by rule: False, ignored missing, a slot below min_size
UNSEEN = -2  # a cell whose value no training row had


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
    def filled(cls, values: np.ndarray, counts: np.ndarray, count: int) -> Bins:
        """Up to ``count`` bins with equally many rows each, as far as equal values allow.

        Edge k is the smallest value with k/``count`` of the rows below it. ``values`` are distinct.
        """
        order = np.argsort(values)
        x, sizes = values[order], counts[order]
        below = np.cumsum(sizes) - sizes
        wanted = np.arange(1, count) * (sizes.sum() / count)
        places = np.unique(np.searchsorted(below, wanted, side="left"))
        inner = x[places[(places > 0) & (places < len(x))]]
        return cls((float(x[0]), *inner.tolist(), float(x[-1])))

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
    column one for True, and numbers are cut into ``bins`` bins over the range of the training rows.
    Hyperedges are ordered by column, then by value (ordered categories keep their order), whatever the
    order of the rows.

    Parameters
    ----------
    bins: bins of a numeric column; empty ones give no hyperedge.
    binning: "width": they are equally wide; "quantile": they hold equally many rows, as far as may be.
    missing: "ignore": a missing cell is in no hyperedge; "value": all those of a column form one.
    min_size: hyperedges with fewer training rows are dropped. The table of data sets in the paper
        counts those with one row, so its numbers need ``min_size=1``.
    """

    def __init__(
        self, bins: int = 10, *, binning: str = "width", missing: str = "ignore", min_size: int = 2
    ) -> None:
        self.bins = check_count("bins", bins)
        self.binning = check_choice("binning", binning, BINNINGS)
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
        frame, _ = as_frame(table)
        learned, places = [], []
        for name in frame.columns:
            codes, values = distinct(frame[name])
            rule = self._rule(frame[name], codes, values)
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
        frame, named = as_frame(table)
        learned = self._fitted()
        if not named and frame.shape[1] == len(learned):
            frame.columns = pd.Index(self.columns)
        elif not named:
            raise ColumnError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting {len(learned)} "
                f"features as input: {listed(self.columns)}."
            )
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise ColumnError(
                f"The table must have every column of the training rows. Missing: {listed(absent)}. "
                f"Got {listed(frame.columns)} instead."
            )
        places = []
        for column in learned:
            codes, values = distinct(frame[column.name])
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
        return {
            "bins": self.bins,
            "binning": self.binning,
            "missing": self.missing,
            "min_size": self.min_size,
            "columns": columns,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> TableEncoder:
        """The encoder that ``to_dict`` described."""
        try:
            encoder = cls(
                state["bins"],
                binning=state.get("binning", "width"),  # files of before have none
                missing=state["missing"],
                min_size=state["min_size"],
            )
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

    def _rule(self, series: pd.Series, codes: np.ndarray, values: np.ndarray) -> Rule:
        """The rule that the distinct values of a training column call for."""
        types = types_of(values)
        if isinstance(series.dtype, pd.CategoricalDtype) and series.cat.ordered:
            return Values(tuple(distinct(series.sort_values())[1].tolist()))
        if isinstance(series.dtype, pd.CategoricalDtype) or len(types) != 1 or types == {"text"}:
            return Values(tuple(sorted(values.tolist(), key=key_of)))
        if types == {"booleans"}:
            return Flag()
        x = values.astype(np.float64)
        if self.binning == "quantile":
            return Bins.filled(x, np.bincount(codes[codes >= 0], minlength=len(x)), self.bins)
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
        names = listed(column.name for column in learned)
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


def _check_types(column: Column, values: np.ndarray) -> None:
    """New values are of a type that the column held in training; one all missing may be anything."""
    known = column.rule.types()
    if known and not types_of(values) <= known:
        value = next(value for value in values.tolist() if type_of(value) not in known)
        raise ColumnError(
            f"Column {column.name!r} must hold {' or '.join(sorted(known))}, as it did in training. "
            f"Got {value!r} instead; convert the column."
        )


def _short(edge: float, width: float) -> str:
    """An edge, to a thousandth of the bin's width."""
    if 0 < width < math.inf:
        edge = round(edge, max(0, 3 - math.floor(math.log10(width))))
    return repr(edge).removesuffix(".0")
