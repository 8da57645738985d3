"""Normal scores: a feature by the rank of its value instead of the value, or by both."""

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
NORMAL_QUARTILES = 1.349  # how far apart they are, of a normal distribution of spread 1
BEND = 3.0  # robust scores r become r/√(1 + (r/3)²), between −3 and 3
FAR = 1e6  # and are cut off here before, as squares may overflow
STEPS = (256, 128, 64, 32, 16, 8, 4, 2, 1)  # of a search among so many


@dataclass(frozen=True)
class NormalScores:
    """x ↦ Φ⁻¹(F(x)), F(x) the share of training rows below x and half of those at x.

    Heights, densities and intensities have long tails: a few huge values would press all others together.
    Their order is what stays. Between the knots of a column the map is linear, beyond them constant.

    With ``gaps`` it is half that and half b(r(x)), each of spread 1, r = (x − median)/spread by quartiles and
    b(r) = r/√(1 + (r/3)²): ranks alone lose the gaps between clusters, and press a small cluster that lies
    between large ones into a sliver.
    """

    knots: np.ndarray  # (q, f), rising; a column with fewer values repeats its last
    scores: np.ndarray  # (q, f)

    @classmethod
    def of(cls, columns: np.ndarray, group: Group = ALONE, *, gaps: bool = False) -> NormalScores:
        """From the training rows (n, f) of all ranks; of more than 262,144, from a pool of them."""
        start, total = group.offset(len(columns))
        pool = group.rows(columns[in_subsample(start, len(columns), total)])
        found = [_knots(column, gaps) for column in pool.T]
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
        return np.interp(values, self.knots[:, column], self.scores[:, column])

    def values_of(self, column: int, scores: np.ndarray) -> np.ndarray:
        """The values with these scores: (m,)."""
        return np.interp(scores, self.scores[:, column], self.knots[:, column])

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


def _knots(column: np.ndarray, gaps: bool) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and their scores, thinned evenly by rank where there are many; the ends stay."""
    values, counts = np.unique(column, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / len(column)
    scores = ndtri(share)
    if gaps:
        bent = _bent(values, np.quantile(column / 2, (0.25, 0.5, 0.75)))
        scores = (_of_spread_1(scores, counts) + _of_spread_1(bent, counts)) / 2
    if len(values) > KNOTS:
        kept = np.searchsorted(share, np.linspace(share[0], share[-1], KNOTS))
        kept = np.unique(np.minimum(kept, len(values) - 1))
        values, scores = values[kept], scores[kept]
    return values, scores


def _bent(values: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """b(r) of rising values, from half their quartiles: a whole range may overflow."""
    low, middle, high = halves
    spread = (high - low) / NORMAL_QUARTILES if high > low else values[-1] / 4 - values[0] / 4
    with np.errstate(over="ignore"):
        r = np.clip((values / 2 - middle) / (spread if spread > 0 else 1.0), -FAR, FAR)
    return r / np.sqrt(1 + (r / BEND) ** 2)


def _of_spread_1(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Scores that come so often, with mean 0; all 0 where they do not differ."""
    centred = scores - np.average(scores, weights=counts)
    spread = np.average(centred**2, weights=counts) ** 0.5
    return centred / spread if spread > 0 else np.zeros(len(scores))
