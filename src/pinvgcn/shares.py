"""Checks of rows that several ranks hold together: what one of them cannot use, all refuse."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.checks import as_matrix
from pinvgcn.errors import DataError
from pinvgcn.group import Group, together


def as_shared_matrix(values: Any, name: str, group: Group) -> np.ndarray:
    """The finite rows (n, d) of this rank, of which there may be none where there are several ranks."""
    with together(group):
        matrix = as_matrix(values, name, least=1 if group.alone else 0)
    widths = group.values(matrix.shape[1])
    if len(set(widths)) > 1:
        other = next(rank for rank, width in enumerate(widths) if width != widths[0])
        raise DataError(
            f"{name} must have the same columns on all ranks, also where there are no rows. "
            f"Got {widths[0]} columns on rank 0 and {widths[other]} on rank {other}."
        )
    return matrix
