"""The labelled rows that an expert learns from."""

from __future__ import annotations

from typing import Protocol

import numpy as np


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
