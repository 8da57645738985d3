"""Rows that several processes hold together: their common check, and the rows of all on each."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import as_matrix
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import DataError


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


def rows_of_all(matrix: Any, group: Group) -> Any:
    """The rows of all ranks, in their order, of a dense or sparse matrix of which each has a few."""
    if group.alone or not sp.issparse(matrix):
        return matrix if group.alone else group.rows(matrix)
    A = sp.csr_array(matrix)
    # ranks may have chosen their whole numbers differently wide
    lengths, indices = (group.rows(part.astype(np.int64)) for part in (np.diff(A.indptr), A.indices))
    data, starts = group.rows(A.data), np.append(0, np.cumsum(lengths))
    if max(starts[-1], A.shape[1]) < 2**31:  # what everybody reads
        indices, starts = indices.astype(np.int32), starts.astype(np.int32)
    return sp.csr_array((data, indices, starts), shape=(len(lengths), A.shape[1]))
