"""Diffusion of labels over a table, on an undirected graph that joins each row to the nearest others.

Use: where classes are clusters, of whatever shape. It alone among the experts of tables, beside the network,
learns from unlabelled rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.seen import Seen
from pinvgcn.graphs.distinct import distinct_subsample

ON = 0.99  # α: a hundred steps in the mean
ANCHORS = 8_192  # rows that are joined; all pairs of them are compared
DOUBT = 1e-3  # of the mean of a class, added to each: far from all labels, none says much
ACCURACY = 1e-8  # of the solution, relative to the right-hand side
ROUNDS = 2_000  # of its solver, which needs some dozens
THIN = 1e-6  # the least weight, so that a row far from all others is joined to some
NEAR = 1e-12  # the least reach: rows that differ may be equal in single precision
CHUNK = 1_024  # rows of one product: with 8,192 anchors it has 32 MB
MORE = 4  # candidates beyond those wanted: products round, the distances of candidates are exact


@dataclass(frozen=True)
class NeighbourGraph:
    """w_ij = exp(−d_ij²/(ρ_i ρ_j)) between anchors i and j, if one is among the k nearest of the other; ρ_i
    is the distance from i to the k-th.

    Anchors are distinct rows, all of them up to 8,192 and those with the smallest hashes beyond: which they
    are does not depend on the order of rows. A label of another row counts at the anchors nearest to it.
    """

    anchors: np.ndarray  # (a, v) float32
    neighbours: int  # k
    weights: sp.csr_array  # W (a, a)
    group: Group = ALONE

    @classmethod
    def of(
        cls, rows: Any, counts: np.ndarray, hashes: np.ndarray, neighbours: int, *, group: Group = ALONE
    ) -> NeighbourGraph | None:
        """On this process's distinct rows (m, v), dense or sparse, that come so often and have these hashes;
        None where there is one row only."""
        chosen = distinct_subsample(rows, counts, hashes, group, most=ANCHORS).rows
        anchors = (chosen.toarray() if sp.issparse(chosen) else chosen).astype(np.float32)
        if len(anchors) < 2:
            return None
        k = min(neighbours, len(anchors) - 1)
        found, squares = nearest(anchors, anchors, k, itself=False)
        reach = np.maximum(np.sqrt(squares[:, -1]), NEAR)
        W = np.maximum(np.exp(-squares / (reach[:, None] * reach[found])), THIN)
        ends = np.arange(0, W.size + 1, k)
        directed = sp.csr_array((W.ravel(), found.ravel(), ends), shape=(len(anchors), len(anchors)))
        return cls(anchors, k, sp.csr_array(directed.maximum(directed.T)), group)

    def diffusion(self, X: Any, rows: np.ndarray, labels: Sequence[RowLabels]) -> Diffusion:
        """Of each member, from the labels that it learns from; X (m, v) are the rows of all labels, whose
        numbers are ``rows`` (m,), rising."""
        degrees = self.weights.sum(axis=1)
        system = sp.csr_array(sp.diags_array(degrees) - ON * self.weights)
        preconditioner = sp.diags_array(1 / degrees)
        at = _means(X, self.anchors, self.neighbours)
        spread = np.empty((len(labels), len(self.anchors), len(labels[0].classes)))
        for number, own in enumerate(labels):
            Y = np.zeros((len(own.rows), spread.shape[2]))
            Y[np.arange(len(Y)), own.codes] = 1.0 if own.weights is None else own.weights / own.weights.mean()
            B = at[np.searchsorted(rows, own.rows)].T @ Y
            for c in range(spread.shape[2]):
                F, _ = cg(system, B[:, c], rtol=ACCURACY, maxiter=ROUNDS, M=preconditioner)
                spread[number, :, c] = np.maximum(F, 0)
        mean = spread.mean(axis=1, keepdims=True)
        logs = np.log(spread / np.where(mean > 0, mean, 1) + DOUBT)
        return Diffusion(self.anchors, self.neighbours, self.group.first(logs))


@dataclass(frozen=True)
class Diffusion:
    """log(F_c(x)/F̄_c + 0.001), F = (D − αW)⁻¹ Y, α = 0.99: what reaches x of the labels of class c, relative
    to the mean over anchors (docs/maths.md, 9.6). Of a row that is no anchor it is the mean over the nearest.
    """

    anchors: np.ndarray  # (a, v) float32
    neighbours: int
    logs: np.ndarray  # at the anchors, of each member: (members, a, classes)

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """Of each member: (m, classes)."""
        W = _means(seen.values, self.anchors, self.neighbours)
        for own in self.logs:
            yield W @ own

    def state(self) -> dict[str, np.ndarray]:
        """As arrays for a file."""
        anchors = sp.csr_array(self.anchors)
        return {
            "diffusion.logs": self.logs,
            "diffusion.sizes": np.array([self.neighbours, anchors.shape[1]]),
            "diffusion.starts": anchors.indptr,
            "diffusion.columns": anchors.indices,
            "diffusion.values": anchors.data,
        }

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray]) -> Diffusion | None:
        """What ``state`` gave; None where a file has none."""
        if "diffusion.logs" not in arrays:
            return None
        names = ("values", "columns", "starts", "sizes", "logs")
        values, columns, starts, sizes, logs = (arrays[f"diffusion.{name}"] for name in names)
        neighbours, width = sizes.tolist()
        # what lies outside would be read from anywhere in memory
        rising = starts[0] == 0 and (starts[1:] >= starts[:-1]).all()
        whole = starts[-1] == len(columns) == len(values)
        if not (rising and whole and ((columns >= 0) & (columns < width)).all()):
            raise ValueError("its diffusion has values of anchors that are not there")
        anchors = sp.csr_array((values.astype(np.float32), columns, starts), shape=(len(starts) - 1, width))
        if not 0 < neighbours < anchors.shape[0] == logs.shape[1]:
            raise ValueError("its diffusion has other anchors than it says")
        return cls(anchors.toarray(), neighbours, logs)


def _means(X: Any, anchors: np.ndarray, k: int) -> sp.csr_array:
    """Weights (m, a) of sum 1 from rows to the k nearest anchors, of an anchor to itself alone."""
    found, squares = nearest(X, anchors, k, itself=True)
    W = np.full(found.shape, 1 / k)
    same = squares[:, 0] == 0
    W[same] = 0.0
    W[same, 0] = 1.0
    ends = np.arange(0, W.size + 1, k)
    return sp.csr_array((W.ravel(), found.ravel(), ends), shape=(len(W), len(anchors)))


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
