"""What every graph can do."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from pinvgcn.checks import check_count
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import GraphError, RankWarning, ToleranceWarning
from pinvgcn.spectra import Spectrum

DENSE_NODES = 1_000  # up to this size the whole matrix is the fastest solver


class Graph(ABC):
    """An undirected weighted graph with adjacency A and degrees d_i = Σ_j A_ij.

    Its nodes may be shared out over the processes of a ``group``: then ``n_nodes``, ``degrees`` and the rows
    of a spectrum are those of this rank.
    """

    n_nodes: int
    n_total: int  # the nodes of all ranks
    group: Group = ALONE
    start: int = 0  # the number of this rank's first node among all

    @property
    @abstractmethod
    def degrees(self) -> np.ndarray:
        """d: (n,)."""

    @property
    @abstractmethod
    def normalized_adjacency(self) -> LinearOperator:
        """D^(−1/2) A D^(−1/2) as a linear map: (n, n)."""

    @abstractmethod
    def spectrum(self, rank: int | None = None, *, solver: str = "auto") -> Spectrum:
        """The null vectors and the ``rank`` smallest non-zero eigenvalues of the Laplacian."""

    def __len__(self) -> int:
        return self.n_nodes

    def check_joined(self, isolated: np.ndarray, what_to_do: str) -> None:
        """No node is ``isolated`` (n,) on any rank: D^(−1/2) exists."""
        alone = np.flatnonzero(isolated)
        count = self.group.sum(len(alone))
        own = self.start + int(alone[0]) if len(alone) else np.iinfo(np.int64).max
        first = self.group.smallest(own)
        if count:
            raise GraphError(
                f"Every node must be joined to another. Got {count} isolated "
                f"node{'s' if count > 1 else ''} (first: node {first}); {what_to_do}."
            )


def resolve_rank(rank: int | None, default: int, largest: int) -> int:
    """The rank to compute: what was asked for, within what exists."""
    asked = default if rank is None else check_count("rank", rank)
    return min(asked, largest)


def announced(
    spectrum: Spectrum,
    rank: int | None,
    why: str,
    *,
    tolerance: float | None = None,
    advice: str = "use a larger tolerance or solver='dense'",
) -> Spectrum:
    """Say so when pairs are less accurate than was asked for, and when fewer exist."""
    missed = 0 if tolerance is None else int((spectrum.residuals > tolerance).sum())
    if missed:
        warnings.warn(
            f"{missed} of {spectrum.rank} eigenpairs miss the tolerance {tolerance:g} "
            f"(largest residual {spectrum.residuals.max():.2g}): {advice}.",
            ToleranceWarning,
            stacklevel=3,
        )
    if rank is not None and spectrum.rank < rank:
        warnings.warn(
            f"rank={rank} was asked for and {spectrum.rank} eigenvectors exist: {why}.",
            RankWarning,
            stacklevel=3,
        )
    return spectrum


def as_numbers(values: Any, name: str) -> np.ndarray:
    """An array in double precision."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError(f"dtype {array.dtype}")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{name} must be numbers. Got {error} instead.") from None


def as_sparse(values: Any, name: str, *, least: int = 1) -> sp.csr_array:
    """A finite, non-negative sparse matrix of ``least`` rows or more, in double precision, that stores no
    zeros: a copy."""
    entries: Any = values if sp.issparse(values) else as_numbers(values, name)
    if entries.ndim != 2 or entries.shape[0] < least or entries.shape[1] == 0:
        raise GraphError(f"{name} must have rows and columns. Got shape {entries.shape} instead.")
    if entries.dtype.kind == "c":
        raise GraphError(f"{name} must be numbers. Got dtype {entries.dtype} instead.")
    matrix: sp.csr_array = sp.csr_array(entries, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        bad = matrix.data[~np.isfinite(matrix.data)][0]
        raise GraphError(f"{name} must be finite. Got {bad} among its entries; remove or replace it.")
    if (matrix.data < 0).any():
        raise GraphError(f"{name} must be zero or more. Got {matrix.data.min():g} instead.")
    return matrix


class SymmetricMap(LinearOperator):
    """A symmetric linear map (n, n) from its action on blocks of columns."""

    def __init__(self, n: int, product: Callable[[np.ndarray], np.ndarray]) -> None:
        self.product = product
        super().__init__(np.float64, (n, n))

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        return self.product(np.asarray(X, dtype=np.float64))

    def _adjoint(self) -> SymmetricMap:
        return self
