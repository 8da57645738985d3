"""What experts see of rows, the labelled rows that they learn from, and their arrays in a saved model."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from pinvgcn.distributed.rows import rows_of_all
from pinvgcn.nn import Basis


class Seen(NamedTuple):
    """What experts see of m rows."""

    inputs: Any  # (m, N₀)
    basis: Basis  # (m, k + r)
    values: Any = None  # (m, v), what experts other than networks see: of scans, shapes without the place
    trust: np.ndarray | None = None  # (m,) from 0 to 1, how far the place of a row counts; None for fully

    def at(self, rows: np.ndarray) -> Seen:
        """Of some of the rows."""
        X, V, *others = self
        return Seen(X[rows], V[rows], *(None if some is None else some[rows] for some in others))

    def of_all(self) -> Seen:
        """Of the rows of all processes, each of which has a few."""
        X, V, values, trust = self
        group = V.group
        values = None if values is None else rows_of_all(values, group)
        trust = None if trust is None else group.rows(trust)
        return Seen(rows_of_all(X, group), V.of_all(), values, trust)


class LabelledRows(Protocol):
    """Rows with a class. ``RowLabels`` of a fit are such."""

    @property
    def classes(self) -> np.ndarray:
        """The classes: (c,)."""

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the labelled rows, ascending, among those of all processes: (m,)."""

    @property
    def codes(self) -> np.ndarray:
        """Their classes, as places in ``classes``: (m,)."""

    @property
    def weights(self) -> np.ndarray | None:
        """Their weights, positive; None where all are equal: (m,)."""


def of_member(number: int) -> str:
    """The prefix of the names of a member's arrays; the first member has none."""
    return f"member{number}." if number else ""


def arrays_after(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
