"""Rows of a table: as plain values, and as nodes of a hypergraph.

What experts see of them is made for some rows at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ModelFileError
from pinvgcn.experts import Seen, TableColumns
from pinvgcn.features.missing_numbers import MissingNumbers
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.nodes import Nodes
from pinvgcn.graphs import Hypergraph, TableEncoder
from pinvgcn.graphs.cells import Scalar, as_frame, distinct, key_of, types_of
from pinvgcn.graphs.table import warn_of_unseen
from pinvgcn.nn import Basis
from pinvgcn.spectra import IncidenceExtension, Spectrum

TYPES = (str, int, float, bool)  # of a value in a file
BACKGROUND = 50  # rows of a table that its model keeps


class PlainColumn(NamedTuple):
    """Row i holds ``values[codes[i]]``; −1 stands for a missing cell."""

    codes: np.ndarray  # (n,)
    values: tuple[Scalar, ...]

    @classmethod
    def of(cls, series: pd.Series) -> PlainColumn:
        """Of a column of a frame."""
        codes, values = distinct(series)
        return cls(codes, tuple(values.tolist()))

    def followed_by(self, other: PlainColumn) -> PlainColumn:
        """With the rows of another one below."""
        places = {key_of(value): place for place, value in enumerate(self.values)}
        moved = [places.setdefault(key_of(value), len(places)) for value in other.values]
        codes = np.array([*moved, -1], dtype=np.int64)[other.codes]
        return PlainColumn(np.append(self.codes, codes), tuple(value for _, value in places))

    def at(self, rows: np.ndarray) -> Any:
        """The cells of these rows (m,), as a column of a frame: numbers, categories or objects."""
        codes, types = self.codes[rows], types_of(np.array(self.values, dtype=object))
        if types <= {"numbers"}:
            return np.array([*self.values, np.nan], dtype=np.float64)[codes]
        if len(types) == 1:
            return pd.Categorical.from_codes(codes, categories=pd.Index(self.values, dtype=object))
        return np.array([*self.values, None], dtype=object)[codes]


@dataclass(frozen=True)
class PlainRows:
    """Rows of a table, by the names of its columns."""

    columns: Mapping[str, PlainColumn]

    @classmethod
    def of(cls, frame: pd.DataFrame, names: Sequence[str]) -> PlainRows:
        """These columns of a frame."""
        return cls({name: PlainColumn.of(frame[name]) for name in names})

    @classmethod
    def of_all(cls, X: Any, numbers: np.ndarray, group: Group = ALONE) -> PlainRows:
        """The rows of these ascending ``numbers`` among those that the ranks of a group share out, on all of
        them."""
        frame, _ = as_frame(X, least=0)
        start, _ = group.offset(len(frame))
        here = numbers[(numbers >= start) & (numbers < start + len(frame))] - start
        own = cls.of(frame.iloc[here], list(frame.columns))
        if group.alone:
            return own
        first, *others = [cls.from_dict(told) for told in group.values(own.to_dict())]
        for other in others:
            first = first.followed_by(other)
        return first

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).codes)

    def followed_by(self, other: PlainRows) -> PlainRows:
        """With the rows of another table of the same columns below."""
        return PlainRows({name: own.followed_by(other.columns[name]) for name, own in self.columns.items()})

    def take(self, rows: np.ndarray) -> PlainRows:
        """Some of the rows."""
        return PlainRows({name: own._replace(codes=own.codes[rows]) for name, own in self.columns.items()})

    def cells(self, names: Sequence[str]) -> np.ndarray:
        """Numbers that are equal where rows agree in all of these columns: (n,)."""
        codes = np.column_stack([self.columns[name].codes for name in names])
        return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)

    def mixed(self, parts: Sequence[Sequence[str]], source: np.ndarray) -> pd.DataFrame:
        """Rows that have the columns ``parts[j]`` of row ``source[i, j]``: a frame of m rows, for ``source``
        (m, parts)."""
        return pd.DataFrame(
            {name: self.columns[name].at(source[:, j]) for j, names in enumerate(parts) for name in names}
        )

    def to_dict(self) -> dict[str, Any]:
        """In the types that JSON keeps."""
        return {name: [own.codes.tolist(), list(own.values)] for name, own in self.columns.items()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> PlainRows:
        """From what ``to_dict`` gave."""
        columns = {
            name: PlainColumn(np.array(codes, dtype=np.int64), tuple(values))
            for name, (codes, values) in state.items()
        }
        if len({len(own.codes) for own in columns.values()}) != 1 or not all(
            ((own.codes >= -1) & (own.codes < len(own.values))).all()
            and all(isinstance(value, TYPES) for value in own.values)
            for own in columns.values()
        ):
            raise ModelFileError("codes and values of the rows that a model keeps do not fit")
        return cls(columns)


class TableNodes(Nodes):
    """Rows joined by the values that they share; their features are these values, one-hot.

    Numbers have a value for each bin, and may be seen as numbers too.
    """

    kind = "categorical"
    numbers: np.ndarray | None = None  # (n, q) of the training rows, where they are seen as such
    missing: MissingNumbers | None = None  # numbers of cells that lack theirs; None if training has them all
    background: PlainRows | None  # some rows of training, with which others are compared

    def __init__(self, X: Any, encoder: TableEncoder, *, numbers: bool, group: Group = ALONE) -> None:
        self.graph = graph = Hypergraph.encoded(X, encoder, group)
        self.encoder, self.features = encoder, graph.incidence
        self.with_numbers = numbers and len(self.encoder.number_columns) > 0
        if self.with_numbers:
            self.missing = MissingNumbers.of(self.encoder.known_numbers(X), group)
        self.numbers = self.numbers_of(X)
        drawn = np.random.default_rng(0).choice(graph.n_total, min(BACKGROUND, graph.n_total), replace=False)
        self.background = PlainRows.of_all(X, np.sort(drawn), group)

    def numbers_of(self, X: Any) -> np.ndarray | None:
        """The numbers of any rows, (m, q), if they are seen as such."""
        return self.encoder.numbers(X, self.missing) if self.with_numbers else None

    @property
    def n_numbers(self) -> int:
        """How many columns are seen as numbers."""
        return len(self.encoder.number_columns) if self.with_numbers else 0

    def columns(self, n_extra: int) -> TableColumns:
        """What ``values`` are: of a column of numbers the number, not its bins."""
        encoder, others, first = self.encoder, n_extra - self.n_numbers, len(self.encoder.columns)
        numbers = encoder.number_columns[: self.n_numbers]
        known = np.concatenate([encoder.edge_columns[self._kept], numbers, first + np.arange(others)])
        return TableColumns(known.astype(np.int64), np.arange(len(known)) >= self._kept.sum())

    @property
    def _kept(self) -> np.ndarray:
        """Which hyperedges experts other than networks see: (|E|,)."""
        edges = self.encoder.edge_columns
        if not self.with_numbers:
            return np.ones(len(edges), dtype=bool)
        return ~np.isin(edges, self.encoder.number_columns)

    def values(self, inputs: sp.csr_array, scaling: InputScaling) -> sp.csr_array:
        """What experts other than networks see of rows with these inputs (m, N₀): 0 or 1 for each value of a
        category, and numbers of spread 1: (m, v)."""
        seen = np.append(self._kept, np.ones(scaling.n_extra, dtype=bool))
        unit = np.append(np.ones(self._kept.sum()), np.full(scaling.n_extra, 1 / scaling.spread))
        return sp.csr_array(inputs[:, np.flatnonzero(seen)] * unit)

    def encoded(self, X: Any, spectrum: Spectrum) -> sp.csr_array:
        """The incidences of any rows (m, |E|), with a warning of values that training never saw and an error
        where a row has no others."""
        H, unseen = self.encoder.transform(X)
        numbers = " Of numbers the nearest known one counts." if self.with_numbers else ""
        warn_of_unseen(unseen, numbers, stacklevel=5)  # the caller of predict
        extension = spectrum.extension
        assert isinstance(extension, IncidenceExtension)
        return extension.checked(H)[0]

    def state(self) -> dict[str, Any]:
        kept = None if self.background is None else self.background.to_dict()
        state = {"encoder": self.encoder.to_dict(), "numbers": self.with_numbers, "background": kept}
        return state if self.missing is None else {**state, "missing": self.missing.to_dict()}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> TableNodes:
        nodes, kept = cls.__new__(cls), state.get("background")
        nodes.encoder = TableEncoder.from_dict(state["encoder"])
        nodes.graph, nodes.with_numbers = None, state["numbers"]
        nodes.background = None if kept is None else PlainRows.from_dict(kept)
        if (missing := state.get("missing")) is not None:
            nodes.missing = MissingNumbers.from_dict(missing, nodes.n_numbers)
        return nodes


@dataclass(frozen=True)
class UnscaledRows:
    """m rows of a table. All that experts see of them would be several times larger."""

    nodes: TableNodes
    scaling: InputScaling
    spectrum: Spectrum
    incidence: sp.csr_array  # H (m, |E|)
    extra: np.ndarray | None  # (m, …) numbers, and what was handed in beside the table

    def __len__(self) -> int:
        return int(self.incidence.shape[0])

    def take(self, rows: np.ndarray) -> UnscaledRows:
        """Some of the rows."""
        extra = None if self.extra is None else self.extra[rows]
        return replace(self, incidence=self.incidence[rows], extra=extra)

    def at(self, rows: np.ndarray) -> Seen:
        """What experts see of some of the rows."""
        some = self.take(rows)
        inputs = self.scaling(some.incidence, some.extra)
        return Seen(inputs, some.basis, self.nodes.values(inputs, self.scaling))

    @property
    def basis(self) -> Basis:
        """By the extension of the spectrum: (m, k + r)."""
        extension = self.spectrum.extension
        assert isinstance(extension, IncidenceExtension)
        return Basis(extension.factor(self.incidence), extension.coefficients, self.spectrum.group)
