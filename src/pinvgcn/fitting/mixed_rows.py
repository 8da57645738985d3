"""What a model of a table says of rows whose cells were put together from several rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from pinvgcn.errors import ColumnError, DataError, ParameterError, UnseenValueWarning
from pinvgcn.fitting.fitted_model import FittedModel, PlacedRows
from pinvgcn.fitting.table_nodes import TableNodes

CELLS = 2_000_000  # of the rows that are placed at a time
LEAST = 256  # rows at a time
ROWS = 20_000  # that are asked together, about
TINY = 1e-300  # probabilities have a logarithm
ROUNDING = 1e-10  # differences below this are none: the last digits depend on which rows are asked together
Sources = Mapping[str, Sequence[str]]  # columns that stand or fall together, by the name of their source


def table_nodes(fitted: FittedModel) -> TableNodes:
    """The nodes of a model of a table; an error for other models."""
    nodes = fitted.nodes
    if not isinstance(nodes, TableNodes):
        kind = "a point cloud" if nodes.kind == "gaussian" else "a given graph"
        raise ParameterError(
            "Only a model of a table, graph='categorical', can say which of its columns mattered. "
            f"Got a model of {kind} instead."
        )
    if fitted.scaling.n_extra > nodes.n_numbers:
        raise ParameterError(
            "Only a model of the columns of X alone can say which of them mattered. Got a model that was "
            "fitted with features= beside them; make them columns of X."
        )
    return nodes


def sources_of(nodes: TableNodes, sources: Sources | None) -> dict[str, tuple[str, ...]]:
    """The columns of the model, each once: those of the ``sources``, by default each of its own."""
    known = nodes.encoder.columns
    if sources is None:
        return {name: (name,) for name in known}
    named = {source: tuple(names) for source, names in sources.items() if names}
    listed = [name for names in named.values() for name in names]
    if sorted(listed) != sorted(known):
        odd = sorted(set(listed) ^ set(known)) or sorted(name for name in known if listed.count(name) > 1)
        raise ColumnError(f"sources must name each column of the model once. Got {odd[0]!r} otherwise.")
    return named


def pieces(rows: int, columns: int) -> Iterator[slice]:
    """Of rows that are asked together."""
    step = max(LEAST, CELLS // max(columns, 1))
    return (slice(start, start + step) for start in range(0, rows, step))


def known_rows(nodes: TableNodes, frame: pd.DataFrame) -> np.ndarray:
    """Which rows have a value that training knew: a mask (m,)."""
    H, _ = nodes.encoder.transform(frame)
    return np.diff(H.indptr) > 0


def probabilities_at(fitted: FittedModel, frame: pd.DataFrame, *, members: bool = False) -> np.ndarray:
    """Of the classes at any rows: (m, classes); with ``members`` those of each member alone:
    (m, members, classes). Of a row of which nothing is known they are the shares of the classes."""
    nodes = table_nodes(fitted)
    blocks = fitted.ensemble.members if members else 1
    P = np.tile(fitted.priors, (len(frame), blocks, 1))
    known = np.ones(len(frame), dtype=bool)
    rows: PlacedRows | None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValueWarning)  # that of the row itself was told before
        try:
            rows = fitted.place(frame)
        except DataError:  # hardly ever: to look for such rows first would take as long as to place all
            known = known_rows(nodes, frame)
            if known.all():
                raise
            rows = fitted.place(frame[known]) if known.any() else None
    if rows is not None and members:
        flat = fitted.smoothing.weighed(fitted.point_probabilities(rows, members=True))
        P[known] = flat.reshape(len(flat), 1 + blocks, -1)[:, 1:]
    elif rows is not None:
        P[known, 0] = fitted.probabilities(rows)
    return P if members else P[:, 0]
