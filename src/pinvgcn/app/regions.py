"""The connected piece of like points around one: what a click of the region tool takes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

SMALLEST, STEP = 0.0005, 1.5  # the likeness that size 0 asks for, and the factor from one size to the next
SIZE, SIZES = 7, 16  # to begin with; there are so many


class Regions:
    """Pieces of n points that neighbours join; ``forms`` (n, f), from 0 to 1, say how like two
    points are."""

    def __init__(self, forms: np.ndarray, around: sp.csr_array) -> None:
        self._forms = around @ forms  # of a place, not of a single odd point
        both = sp.csr_array(around + around.T)
        self._start, self._near = both.indptr, both.indices

    def around(self, seed: int, size: int, answer: np.ndarray | None = None) -> np.ndarray:
        """The points that a path of like points joins to ``seed``: rows, rising.

        x is like the seed t if |s − s_t|²/f ≤ 0.0005 · 1.5^size, with the mean form s over its neighbours,
        and if it has the same class in the ``answer`` (n,). A larger size has all points of the smaller ones.
        """
        own, most = self._forms[seed], SMALLEST * STEP**size
        met = np.zeros(len(self._forms), dtype=bool)
        met[seed] = True
        front, found = np.array([seed]), [np.array([seed])]
        while len(front):  # only what lies around the piece is looked at, however large the scan
            start, stop = self._start[front], self._start[front + 1]
            lengths = stop - start
            within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            near = self._near[np.repeat(start, lengths) + within]
            near = np.unique(near[~met[near]])
            met[near] = True
            like = ((self._forms[near] - own) ** 2).mean(axis=1) <= most
            if answer is not None:
                like &= answer[near] == answer[seed]
            front = near[like]
            found.append(front)
        return np.sort(np.concatenate(found))
