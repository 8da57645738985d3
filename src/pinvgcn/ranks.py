"""Normal scores: a feature by the rank of its value instead of the value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pinvgcn.group import ALONE, Group
from pinvgcn.pool import in_pool

KNOTS = 512  # values that are kept of a column


@dataclass(frozen=True)
class Ranks:
    """x ↦ Φ⁻¹(F(x)), F(x) the share of training rows below x and half of those at x.

    Heights, densities and intensities have long tails: a few huge values would press all others together.
    Their order is what stays. Between the knots of a column the map is linear, beyond them constant.
    """

    knots: np.ndarray  # (q, f), rising; a column with fewer values repeats its last
    scores: np.ndarray  # (q, f)

    @classmethod
    def of(cls, columns: np.ndarray, group: Group = ALONE) -> Ranks:
        """From the training rows (n, f) of all ranks; of more than 262,144, from a pool of them."""
        start, total = group.offset(len(columns))
        pool = group.rows(columns[in_pool(start, len(columns), total)])
        found = [_knots(column) for column in pool.T]
        longest = max(len(values) for values, _ in found)
        knots, scores = (
            np.stack([np.pad(pair[i], (0, longest - len(pair[i])), mode="edge") for pair in found], axis=1)
            for i in (0, 1)
        )
        return cls(group.first(knots), group.first(scores))

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """The scores of any rows: (m, f)."""
        parts = zip(columns.T, self.knots.T, self.scores.T, strict=True)
        return np.stack([np.interp(x, knots, scores) for x, knots, scores in parts], axis=1)


def _knots(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and their scores, thinned evenly by rank where there are many; the ends stay."""
    values, counts = np.unique(column, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / len(column)
    if len(values) > KNOTS:
        kept = np.searchsorted(share, np.linspace(share[0], share[-1], KNOTS))
        kept = np.unique(np.minimum(kept, len(values) - 1))
        values, share = values[kept], share[kept]
    return values, ndtri(share)
