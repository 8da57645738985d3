"""The nearest of some thousand anchors, for any number of rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import for_all, ranges

CHUNK = 1_024  # rows of one product: with 8,192 anchors it has 32 MB
MORE = 4  # candidates beyond those wanted: products round, the distances of candidates are exact


def nearest(X: Any, anchors: np.ndarray, k: int, *, itself: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each row of X (m, v), dense or sparse, its k nearest ``anchors`` (a, v) float32, nearest first, of
    equally near ones the first: their numbers (m, k) and squared distances (m, k).

    Without ``itself`` row i is anchor i, and not its own neighbour.
    """
    found = np.empty((X.shape[0], k), dtype=np.int64)
    squares = np.empty((X.shape[0], k))
    candidates = min(k + MORE + (not itself), len(anchors))
    half = (anchors.astype(np.float64) ** 2).sum(axis=1).astype(np.float32) / 2

    def work(rows: slice) -> None:
        some = X[rows].toarray() if sp.issparse(X) else X[rows]
        some = np.ascontiguousarray(some, dtype=np.float32)
        closeness = some @ anchors.T
        closeness -= half  # (|x|² − |x − a|²)/2, of which the largest are the nearest
        own = -1 if itself else rows.start
        _pick(closeness, some, anchors, own, candidates, found[rows], squares[rows])

    for_all(work, ranges(X.shape[0], CHUNK))
    return found, squares


@compiled
def _pick(
    closeness: np.ndarray,  # (m, a)
    X: np.ndarray,  # (m, v)
    anchors: np.ndarray,  # (a, v)
    own: int,  # the number of the first row among the anchors, −1 if rows are no anchors
    candidates: int,
    found: np.ndarray,  # (m, k)
    squares: np.ndarray,  # (m, k)
) -> None:
    k = found.shape[1]
    best = np.empty(candidates, dtype=np.float32)
    place = np.empty(candidates, dtype=np.int64)
    exact = np.empty(candidates, dtype=np.float64)
    for row in range(closeness.shape[0]):
        count = 0
        for anchor in range(closeness.shape[1]):
            close = closeness[row, anchor]
            if count == candidates and not close > best[count - 1]:
                continue
            if own >= 0 and anchor == own + row:
                continue
            at = count if count < candidates else candidates - 1
            while at > 0 and best[at - 1] < close:
                best[at], place[at] = best[at - 1], place[at - 1]
                at -= 1
            best[at], place[at] = close, anchor
            if count < candidates:
                count += 1
        for number in range(count):
            total = 0.0
            for column in range(X.shape[1]):
                difference = np.float64(X[row, column]) - np.float64(anchors[place[number], column])
                total += difference * difference
            exact[number] = total
        for number in range(k):  # by exact distance, then by number
            least = number
            for other in range(number + 1, count):
                nearer = exact[other] < exact[least]
                if nearer or (exact[other] == exact[least] and place[other] < place[least]):
                    least = other
            exact[number], exact[least] = exact[least], exact[number]
            place[number], place[least] = place[least], place[number]
            found[row, number], squares[row, number] = place[number], exact[number]
