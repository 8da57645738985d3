"""What experts see of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

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
