"""What the network sees of a row: its own features and the extra ones, centred and scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import check_rows
from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.distributed.rows import as_shared_matrix
from pinvgcn.errors import DataError
from pinvgcn.features.normal_scores import CHUNK, NormalScores

SCALINGS = ("ranks", "isotropic", "centre", "none", "standard")
SPREAD = 10.0  # of isotropic inputs: what steps of 0.01 move quickly, whatever the unit of length was


@dataclass(frozen=True)
class InputScaling:
    """x ↦ (x − shift) / scale on a row's own features and ``n_extra`` more. Sparse features stay sparse.

    With ``normal_scores``, the last columns are replaced by their normal scores before.
    """

    shift: np.ndarray  # (N₀,)
    scale: np.ndarray  # (N₀,)
    n_extra: int
    normal_scores: NormalScores | None = None
    spread: float = 1.0  # of inputs that were scaled by their own

    @classmethod
    def of(
        cls,
        own: Any,
        extra: np.ndarray | None,
        *,
        scaling: str,
        coordinates: int,
        gaps: bool = False,
        group: Group = ALONE,
    ) -> InputScaling:
        """From the training rows of all ranks. Incidences and a given graph's own features keep their
        meaning: only points, whose first columns are ``coordinates`` of one unit, and extra features are
        moved. With ``gaps`` ranks keep them."""
        n_own, n_extra = own.shape[1], 0 if extra is None else extra.shape[1]
        shift, scale = np.zeros(n_own + n_extra), np.ones(n_own + n_extra)
        moved = ([own] if coordinates else []) + ([] if extra is None else [extra])
        if not moved or scaling == "none":
            return cls(shift, scale, n_extra)
        columns = np.hstack(moved)
        begin = len(shift) - columns.shape[1]
        n = group.sum(len(columns))
        largest = group.largest(np.abs(columns).max(axis=0, initial=0))
        ranks = None
        if scaling == "ranks" and columns.shape[1] > coordinates:
            ranks = NormalScores.of(columns[:, coordinates:], group, gaps=gaps)
            columns[:, coordinates:] = ranks(columns[:, coordinates:])
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            mean = group.sum(columns.sum(axis=0)) / n
            shift[begin:] = mean
            if scaling != "centre":
                spread = np.sqrt(group.sum(((columns - mean) ** 2).sum(axis=0)) / n)
                if scaling != "standard":
                    if coordinates:
                        common = np.sqrt(np.mean(spread[:coordinates] ** 2))
                        spread[:coordinates] = common  # one factor: shapes stay
                    spread /= SPREAD
                # the spread of a constant column is rounding, which must not become its unit
                rounding = n * np.finfo(np.float64).eps * largest
                scale[begin:] = np.where(spread <= rounding, 1.0, spread)
        if not (np.isfinite(shift).all() and np.isfinite(scale).all()):
            raise DataError(
                f"X and features must be small enough to have a mean and a spread. Got {largest.max():g}; "
                "use larger units."
            )
        return cls(shift, scale, n_extra, ranks, SPREAD if scaling in ("ranks", "isotropic") else 1.0)

    def __call__(self, own: Any, extra: np.ndarray | None) -> Any:
        """The inputs of these rows: (m, N₀), sparse if their own features are."""
        n_own = len(self.shift) - self.n_extra
        if not sp.issparse(own):
            return self._scaled(own if extra is None else np.hstack([own, extra]), 0)
        if extra is None:
            return own
        return _beside(sp.csr_array(own), self._scaled(extra, n_own))

    def _scaled(self, columns: np.ndarray, begin: int) -> np.ndarray:
        """The inputs from number ``begin`` on, from their ``columns``: (m, N₀ − begin)."""
        shift, scale = self.shift[begin:], self.scale[begin:]
        plain = len(shift) - (0 if self.normal_scores is None else self.normal_scores.knots.shape[1])
        columns = np.ascontiguousarray(columns, dtype=np.float64)
        if columns.shape[1] != len(shift):
            raise DataError(
                f"Rows must have {len(shift)} features as in fit. Got {columns.shape[1]} instead."
            )
        result = np.empty(columns.shape)

        def work(rows: slice) -> None:
            some, out = columns[rows], result[rows]
            out[:, :plain] = (some[:, :plain] - shift[:plain]) / scale[:plain]
            if self.normal_scores is not None:
                self.normal_scores.write(some[:, plain:], shift[plain:], scale[plain:], out[:, plain:])

        for_all(work, ranges(len(columns), CHUNK))
        return result

    def raw(self, extra: int, inputs: np.ndarray) -> np.ndarray:
        """The values of extra feature number ``extra`` from its inputs of spread 1: (m,)."""
        place = len(self.shift) - self.n_extra + extra
        found: np.ndarray = inputs * self.spread * self.scale[place] + self.shift[place]
        return found if self.normal_scores is None else self.normal_scores.values_of(extra, found)

    def of_raw(self, extra: int, values: np.ndarray) -> np.ndarray:
        """The other way."""
        place = len(self.shift) - self.n_extra + extra
        if self.normal_scores is not None:
            values = self.normal_scores.of_values(extra, values)
        return (values - self.shift[place]) / self.scale[place] / self.spread

    def unranked(self, inputs: Any, own: Any, extra: np.ndarray | None) -> Any:
        """These ``inputs`` with the values of features that were ranked: for whom only thresholds count."""
        if self.normal_scores is None:
            return inputs
        ranked = self.normal_scores.knots.shape[1]
        if sp.issparse(own):
            return sp.csr_array(sp.hstack([inputs[:, :-ranked], extra]))
        values = own if extra is None else np.hstack([own, extra])
        return np.hstack([inputs[:, :-ranked], values[:, -ranked:]])

    def extra_like_in_fit(
        self, features: Any, n: int, *, numbers: np.ndarray | None = None
    ) -> np.ndarray | None:
        """The extra features of rows to predict, after the ``numbers`` of a table."""
        wanted = self.n_extra - (0 if numbers is None else numbers.shape[1])
        if features is None and wanted:
            raise DataError(f"features must be given as in fit, with {wanted} columns. Got None instead.")
        extra = as_extra(features, n)
        if extra is not None and extra.shape[1] != wanted:
            raise DataError(f"features must have {wanted} columns as in fit. Got {extra.shape[1]} instead.")
        return joined(numbers, extra)


def _beside(A: sp.csr_array, B: np.ndarray) -> sp.csr_array:
    """[A B] of a sparse and a dense matrix, without a search for zeros in B: (m, …)."""
    m, q = B.shape
    before = q * np.arange(m)  # entries of B in the rows above
    data, indices = np.empty(A.nnz + m * q), np.empty(A.nnz + m * q, dtype=A.indices.dtype)
    old = np.arange(A.nnz) + np.repeat(before, np.diff(A.indptr))
    new = (A.indptr[1:] + before)[:, None] + np.arange(q)
    data[old], indices[old] = A.data, A.indices
    data[new], indices[new] = B, A.shape[1] + np.arange(q, dtype=indices.dtype)
    starts = (A.indptr + q * np.arange(m + 1)).astype(A.indptr.dtype)
    return sp.csr_array((data, indices, starts), shape=(m, A.shape[1] + q))


def joined(numbers: np.ndarray | None, extra: np.ndarray | None) -> np.ndarray | None:
    """The numbers of a table and what was given beside it, side by side."""
    given = [part for part in (numbers, extra) if part is not None]
    return np.hstack(given) if len(given) > 1 else given[0] if given else None


def as_extra(features: Any, n: int, *, group: Group = ALONE) -> np.ndarray | None:
    """Extra features as numbers, one row for each row of X; all ranks have them or none."""
    given = group.values(features is not None)
    if any(given) and not all(given):
        raise DataError("features must be given on all ranks or on none. Got them on some only.")
    if features is None:
        return None
    extra = as_shared_matrix(features, "features", group)
    with together(group):
        check_rows(extra, n, "features", "rows of X")
    return extra
