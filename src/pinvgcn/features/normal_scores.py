"""Normal scores: a feature by the rank of its value instead of the value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import DataError

CHUNK = 4_096  # rows at a time: they stay in the cache
KNOTS = 512  # values that are kept of a column
STEPS = (256, 128, 64, 32, 16, 8, 4, 2, 1)  # of a search among so many


@dataclass(frozen=True)
class NormalScores:
    """x ↦ Φ⁻¹(F(x)), F(x) the share of training rows below x and half of those at x.

    Heights, densities and intensities have long tails: a few huge values would press all others together.
    Their order is what stays. Between the knots of a column the map is linear, beyond them constant.
    """

    knots: np.ndarray  # (q, f), rising; a column with fewer values repeats its last
    scores: np.ndarray  # (q, f)

    @classmethod
    def of(cls, columns: np.ndarray, group: Group = ALONE) -> NormalScores:
        """From the training rows (n, f) of all ranks; of more than 262,144, from a pool of them."""
        start, total = group.offset(len(columns))
        pool = group.rows(columns[in_subsample(start, len(columns), total)])
        found = [_knots(column) for column in pool.T]
        longest = max(len(values) for values, _ in found)
        knots, scores = (
            np.stack([np.pad(pair[i], (0, longest - len(pair[i])), mode="edge") for pair in found], axis=1)
            for i in (0, 1)
        )
        return cls(group.first(knots), group.first(scores))

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """The scores of any rows: (m, f)."""
        result = np.empty(columns.shape)
        for_all(lambda rows: self.write(columns[rows], 0.0, 1.0, result[rows]), ranges(len(columns), CHUNK))
        return result

    def of_values(self, column: int, values: np.ndarray) -> np.ndarray:
        """The scores of values of one column: (m,)."""
        found: np.ndarray = np.interp(values, self.knots[:, column], self.scores[:, column])
        return found

    def values_of(self, column: int, scores: np.ndarray) -> np.ndarray:
        """The values with these scores: (m,)."""
        found: np.ndarray = np.interp(scores, self.scores[:, column], self.knots[:, column])
        return found

    def write(
        self, columns: np.ndarray, shift: np.ndarray | float, scale: np.ndarray | float, out: np.ndarray
    ) -> None:
        """(scores − shift) / scale of these rows, in one pass: into ``out`` (m, f)."""
        f = self.knots.shape[1]
        if columns.shape[1] != f or out.shape != columns.shape:  # the loop does not look
            raise DataError(f"{f} columns are ranked. Got {columns.shape} and {out.shape}.")
        shift, scale = np.broadcast_to(shift, f).copy(), np.broadcast_to(scale, f).copy()
        _write(columns, *self._lines, shift, scale, out)

    @cached_property
    def _lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each line begins: knots, scores and slopes, each (f, 512). The last knot is repeated."""
        knots, scores = (
            np.pad(table.T, ((0, 0), (0, KNOTS - len(table))), mode="edge")
            for table in (self.knots, self.scores)
        )
        slopes = np.zeros_like(knots)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            slopes[:, :-1] = np.diff(scores, axis=1) / np.diff(knots, axis=1)
        slopes[~np.isfinite(slopes)] = 0.0  # a repeated knot; or two so close that only a step is left
        return knots, scores, slopes


@compiled
def _write(
    columns: np.ndarray,
    knots: np.ndarray,
    scores: np.ndarray,
    slopes: np.ndarray,
    shift: np.ndarray,
    scale: np.ndarray,
    out: np.ndarray,
) -> None:
    """Column by column, as its knots stay in the fastest cache."""
    for c in range(knots.shape[0]):
        known, first, last = knots[c], knots[c, 0], knots[c, KNOTS - 1]
        for row in range(columns.shape[0]):
            x = columns[row, c]
            x = first if x < first else x
            x = last if x > last else x
            line = 0
            for step in STEPS:  # no branch depends on a value
                line += step * (known[line + step] <= x)
            score = slopes[c, line] * (x - known[line]) + scores[c, line]
            out[row, c] = (score - shift[c]) / scale[c]


def _knots(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and their scores, thinned evenly by rank where there are many; the ends stay."""
    values, counts = np.unique(column, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / len(column)
    if len(values) > KNOTS:
        kept = np.searchsorted(share, np.linspace(share[0], share[-1], KNOTS))
        kept = np.unique(np.minimum(kept, len(values) - 1))
        values, share = values[kept], share[kept]
    return values, ndtri(share)
