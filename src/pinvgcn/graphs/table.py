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

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import check_choice, check_count
from pinvgcn.compute.parallel import ranges
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ColumnError, DataError, InputError, ModelFileError, UnseenValueWarning
from pinvgcn.features.missing_numbers import MissingNumbers
from pinvgcn.graphs.cells import as_frame, distinct, listed, type_of, types_of
from pinvgcn.graphs.rules import NOWHERE, UNSEEN, Bins, ColumnCells, Flag, Rule, RuleLearner, Values

BINNINGS = ("width", "quantile")
BLOCK = 4_096  # rows at a time, so that their cells stay in the cache


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
        found = []
        for column in self._fitted():
            own = column.rule.names(column.name)
            own += [f"{column.name} is missing"] if self.missing == "value" else []
            found += [name for name, size in zip(own, column.sizes, strict=True) if size >= self.min_size]
        return tuple(found)

    @property
    def edge_columns(self) -> np.ndarray:
        """The place of the column that each hyperedge is a value of: (|E|,)."""
        kept = [sum(size >= self.min_size for size in column.sizes) for column in self._fitted()]
        return np.repeat(np.arange(len(kept)), kept)

    @property
    def number_columns(self) -> np.ndarray:
        """The places of the columns of numbers: (q,)."""
        return np.flatnonzero([isinstance(column.rule, Bins) for column in self._fitted()])

    def fit_transform(self, table: Any, group: Group = ALONE) -> sp.csr_matrix:
        """H (n, |E|) of the training rows, whose values become the hyperedges.

        The rows may be shared out over the ranks of a ``group``: the hyperedges are those of all rows.
        """
        with together(group):
            frame, _ = as_frame(table, least=1 if group.alone else 0)
            cells = [ColumnCells.of(frame[name]) for name in frame.columns]
        _check_same_columns(frame, group)
        start, total = group.offset(len(frame))
        if total == 0:
            raise DataError("The table has 0 sample(s) on all ranks while a minimum of 1 is required.")
        rules = RuleLearner(self.bins, self.binning, self.min_size, group, start, total)(cells)
        places = [self._place(rule, own.codes, own.values) for rule, own in zip(rules, cells, strict=True)]
        lengths = [len(rule) + (self.missing == "value") for rule in rules]
        own = [np.bincount(place[place >= 0], minlength=n) for place, n in zip(places, lengths, strict=True)]
        sizes = np.split(group.sum(np.concatenate(own)), np.cumsum(lengths)[:-1])
        counts = [tuple(own.tolist()) for own in sizes]
        learned = [Column(*each) for each in zip(frame.columns, rules, counts, strict=True)]
        self._check_informative(learned, total)
        self._learned = tuple(learned)
        return self._incidence(places)[0]

    def transform(self, table: Any) -> tuple[sp.csr_matrix, dict[str, int]]:
        """H (n, |E|) of any rows in the learned hyperedges, and how many values of each column were unseen.

        Columns are found by name, others are ignored; an array must have them all, in order. A value
        that no training row had, or a number outside every non-empty bin, is unseen and belongs to no
        hyperedge.
        """
        frame, learned = self._as_in_training(table), self._fitted()
        places = []
        for column in learned:
            codes, values = distinct(frame[column.name])
            _check_types(column, values)
            places.append(self._place(column.rule, codes, values))
        return self._incidence(places)

    def numbers(self, table: Any, missing: MissingNumbers | None = None) -> np.ndarray:
        """The columns of numbers as they are: (n, q).

        A missing cell has the number that ``missing`` gives it, or else the median (if bins hold equally
        many rows; the lower edge of its bin). Numbers beyond those of training are moved to the nearest.
        """
        numbers = self.known_numbers(table)
        if missing is not None:
            return missing.filled(numbers)
        for place, number in enumerate(self.number_columns):
            column = self._learned[number]
            assert isinstance(column.rule, Bins)
            below = np.cumsum(column.sizes[: len(column.rule)])
            lacks = np.isnan(numbers[:, place])
            numbers[lacks, place] = column.rule.edges[np.searchsorted(below, below[-1] / 2, side="right")]
        return numbers

    def known_numbers(self, table: Any) -> np.ndarray:
        """The same, with NaN where a cell is missing: (n, q)."""
        frame = self._as_in_training(table, least=0)  # a process may have no row
        numbers = np.empty((len(frame), len(self.number_columns)))
        for place, number in enumerate(self.number_columns):
            column = self._learned[number]
            assert isinstance(column.rule, Bins)
            edges = column.rule.edges
            codes, values = distinct(frame[column.name])
            _check_types(column, values)
            known = np.append(values.astype(np.float64), np.nan)  # code -1, missing, is the last
            numbers[:, place] = np.clip(known, edges[0], edges[-1])[codes]
        return numbers

    def _as_in_training(self, table: Any, *, least: int = 1) -> pd.DataFrame:
        frame, named = as_frame(table, least=least)
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
        return frame

    def to_dict(self) -> dict[str, Any]:
        """All that was learned, in types that JSON keeps exactly."""
        columns = [
            {"name": column.name, "rule": type(column.rule).__name__, "sizes": list(column.sizes)}
            | {field: list(content) for field, content in vars(column.rule).items()}
            for column in self._fitted()
        ]
        settings = {"bins": self.bins, "binning": self.binning, "missing": self.missing}
        return {**settings, "min_size": self.min_size, "columns": columns}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> TableEncoder:
        """The encoder that ``to_dict`` described."""
        encoder = cls(**{name: state[name] for name in ("bins", "binning", "missing", "min_size")})
        learned = []
        for entry in state["columns"]:
            make = {"Flag": Flag, "Bins": Bins, "Values": Values}[entry["rule"]]
            rule = make(*(tuple(entry[field.name]) for field in fields(make)))
            if len(rule) + (encoder.missing == "value") != len(entry["sizes"]):
                raise ModelFileError(f"wrong number of sizes in column {entry['name']!r}")
            learned.append(Column(entry["name"], rule, tuple(entry["sizes"])))
        encoder._learned = tuple(learned)
        return encoder

    def _fitted(self) -> tuple[Column, ...]:
        if not self._learned:
            raise InputError("This TableEncoder has not seen a table yet; call fit_transform first.")
        return self._learned

    def _place(self, rule: Rule, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The slot of every row, (n,)."""
        slots = rule.slots(values) if len(values) else np.empty(0, dtype=np.int64)
        slots = np.append(slots, len(rule) if self.missing == "value" else NOWHERE)
        return slots.astype(np.int32)[codes]  # code -1, missing, is the last

    def _incidence(self, places: Sequence[np.ndarray]) -> tuple[sp.csr_matrix, dict[str, int]]:
        """H from the slot of every cell, and the number of unseen cells of each column."""
        edge_of, n_edges = [], 0  # of every slot; slots -2 and -1 stay themselves
        for column in self._learned:
            sizes = np.array(column.sizes, dtype=np.int64)
            kept = sizes >= self.min_size
            edges = np.where(kept, n_edges + np.cumsum(kept) - 1, np.where(sizes > 0, NOWHERE, UNSEEN))
            edge_of.append(np.append(edges, [UNSEEN, NOWHERE]).astype(np.int32))
            n_edges += int(kept.sum())
        degrees, indices, unseen = [], [], np.zeros(len(places), dtype=np.int64)
        for rows in ranges(len(places[0]), BLOCK) or [slice(0, 0)]:  # a process may have no row
            cells = np.column_stack([own[place[rows]] for own, place in zip(edge_of, places, strict=True)])
            member = cells >= 0
            degrees.append(member.sum(axis=1))
            indices.append(cells[member])  # row by row and ascending, since columns are in order
            unseen += (cells == UNSEEN).sum(axis=0)
        indptr, edges = np.append(0, np.concatenate(degrees).cumsum()), np.concatenate(indices)
        H = sp.csr_matrix((np.ones(len(edges)), edges, indptr), shape=(len(indptr) - 1, n_edges))
        return H, dict(zip(self.columns, unseen.tolist(), strict=True))

    def _check_informative(self, learned: Sequence[Column], n: int) -> None:
        sizes = [size for column in learned for size in column.sizes if size >= self.min_size]
        names = listed(column.name for column in learned)
        if not sizes:
            raise ColumnError(
                f"The table must have values that at least min_size = {self.min_size} rows share. "
                f"Got {n} sample(s) that share none in {names}; add columns or rows, or lower min_size."
            )
        if min(sizes) == n:
            rare = any(0 < size < self.min_size for column in learned for size in column.sizes)
            but = f" but for values of fewer than min_size = {self.min_size} rows" if rare else ""
            way = ", or lower min_size" if rare else ""
            raise ColumnError(
                f"The table must have a column that tells rows apart. Got {n} sample(s), the same in every "
                f"column{but}: {names}; add columns or rows that differ{way}."
            )


def warn_of_unseen(unseen: dict[str, int], more: str = "", *, stacklevel: int) -> None:
    """Say in which columns ``transform`` met values that training never saw; ``more`` ends the message."""
    met = {column: count for column, count in unseen.items() if count}
    if met:
        some = ", ".join(f"{column!r} ({count} rows)" for column, count in list(met.items())[:5])
        warnings.warn(
            f"Values that training never saw were ignored in {len(met)} columns: {some}"
            f"{' and others' if len(met) > 5 else ''}.{more}",
            UnseenValueWarning,
            stacklevel=stacklevel + 1,
        )


def _check_same_columns(frame: pd.DataFrame, group: Group) -> None:
    names = group.values([str(name) for name in frame.columns])
    for rank, other in enumerate(names):
        if other != names[0]:
            raise ColumnError(
                f"Every rank must have the columns of rank 0, in their order: {listed(names[0])}. "
                f"Got {listed(other)} on rank {rank} instead."
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
