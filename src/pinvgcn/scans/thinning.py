"""Which points of a large scan its model is fitted to: its labels, and a random part of the others.

A random part has the density of the whole, up to a factor: degrees, eigenvectors and shares of classes stay
what they are. Local shapes are not thinned, they are taken within the whole scan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.distributed.subsample import hashed
from pinvgcn.scans.labels import UNKNOWN

FEWEST = 500  # labels of a class that are kept before others are thinned


def _quotas(counts: np.ndarray, size: int) -> np.ndarray:
    """How many of each class: up to FEWEST, and of the rest equal shares."""
    base = np.minimum(counts, FEWEST)
    spare = max(0, size - int(base.sum()))
    quotas: np.ndarray = base + (spare * (counts - base) / max(1, int((counts - base).sum()))).astype(int)
    return quotas


@dataclass(frozen=True)
class Drawn:
    """All labels, but at most half of what is wanted, and others: a point is drawn if the hash of its number
    lies below the share that is wanted of its kind, whoever has it. There are about as many as were asked
    for; noise is never drawn."""

    shares: np.ndarray  # (classes + 1,), the last that of unlabelled points
    random_state: int

    @classmethod
    def of(cls, counts: np.ndarray, unlabelled: int, size: int, *, random_state: int = 0) -> Drawn:
        """From how many labels of each class and how many unlabelled points there are."""
        total = int(counts.sum())
        quotas = counts if total <= size // 2 else _quotas(counts, size // 2)
        if total + unlabelled <= size:
            return cls(np.ones(len(counts) + 1), random_state)
        wanted = min(max(0, size - int(quotas.sum())), unlabelled)
        shares = np.append(quotas / np.maximum(counts, 1), wanted / max(unlabelled, 1))
        return cls(shares, random_state)

    def __call__(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Which of these points are drawn: a mask; noise never is."""
        share = self.shares[np.where(codes >= 0, codes, -1)]
        drawn = hashed(numbers, seed=self.random_state + 1) / 2.0**64 < share
        mask: np.ndarray = (drawn | (share >= 1)) & (codes >= UNKNOWN)
        return mask
