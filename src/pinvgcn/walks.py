"""Walks from a row of a table to rows like it, and the labels that they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import gmres

from pinvgcn.checks import check_count
from pinvgcn.graphs import Hypergraph
from pinvgcn.graphs.distinct import row_hashes
from pinvgcn.nodes import Nodes, TableNodes
from pinvgcn.parallel import ranges, share_out
from pinvgcn.row_labels import RowLabels

LIKE_ROWS = 5  # a step goes to one of so many
ON = 0.995  # the probability that a walk goes on: two hundred steps in the mean
ANCHORS = 8_192  # rows that walks visit; all pairs of them are compared
DOUBT = 1e-3  # of the mean number of labels met, added to each: far from all labels, none says much
ENTRIES = 2**24  # of a block of counts: 64 MB
ACCURACY = 1e-8  # of the solution, relative to the right-hand side


@dataclass(frozen=True)
class Steps:
    """W_ij = w_ij/k with weights w as in docs/maths.md, 7.1, for the k anchors j most like row i: those that
    share most values with it.

    Anchors are distinct rows, all of them up to 8,192 and those with the smallest hashes beyond: which they
    are does not depend on the order of rows. An anchor is not like itself.
    """

    anchors: sp.csr_array  # (a, |E|)
    neighbours: int  # k
    between: sp.csr_array  # W among the anchors: (a, a)
    nearest: sp.csr_array  # from distinct rows of training to anchors, an anchor to itself: (m, a)
    inverse: np.ndarray  # (n,) which distinct row each row of training is

    @classmethod
    def of(cls, graph: Hypergraph, neighbours: int) -> Steps:
        """On the rows of a table."""
        rows = graph.incidence[graph.distinct.first]
        anchors = rows[np.sort(np.argsort(row_hashes(rows), kind="stable")[:ANCHORS])]
        k = min(neighbours, anchors.shape[0] - 1)
        between = most_shared(anchors, anchors, k, itself=False)
        return cls(anchors, k, between, most_shared(rows, anchors, k, itself=True), graph.distinct.inverse)

    def walk(self, labels: Sequence[RowLabels]) -> Walk:
        """Of each member, among the labels that it learns from."""
        a, classes = self.anchors.shape[0], len(labels[0].classes)
        hits = np.empty((len(labels), a, classes))
        system = sp.csr_array(sp.eye_array(a) - ON * self.between)
        for number, own in enumerate(labels):
            # the label of a row that is no anchor is shared among its nearest
            at = self.nearest[self.inverse[own.rows]]
            Y = np.zeros((len(own.rows), classes))
            Y[np.arange(len(own.rows)), own.codes] = 1.0 if own.weights is None else own.weights
            B = at.T @ Y
            for c in range(classes):
                hits[number, :, c] = gmres(system, B[:, c], rtol=ACCURACY, restart=100, maxiter=50)[0]
        hits = np.maximum(hits, 0)
        return Walk(self.anchors, self.neighbours, hits, DOUBT * hits.mean(axis=(1, 2)))


@dataclass(frozen=True)
class Walk:
    """log F_c(x), F = Σ_t α^t W^t Y: how many labels of class c a walk from x meets, which goes on with
    probability α = 0.995 after each step (docs/maths.md, 9.6). F of a row that is no anchor is the mean over
    the anchors most like it.
    """

    anchors: sp.csr_array  # (a, |E|)
    neighbours: int
    hits: np.ndarray  # F at the anchors, of each member: (members, a, classes)
    doubt: np.ndarray  # (members,) what is added to F, so that no logarithm is without a floor

    @property
    def width(self) -> int:
        """|E|"""
        return int(self.anchors.shape[1])

    def near(self, rows: sp.csr_array) -> sp.csr_array:
        """Where walks from rows of incidences (m, |E| or more) begin: (m, a)."""
        return most_shared(rows[:, : self.width], self.anchors, self.neighbours, itself=True)

    def at(self, rows: sp.csr_array) -> np.ndarray:
        """log F of each member at rows of incidences: (members, m, classes)."""
        return self.logs(self.near(rows))

    def logs(self, near: sp.csr_array) -> np.ndarray:
        """The same, at rows whose anchors are known: (members, m, classes)."""
        F = np.stack([near @ hits for hits in self.hits])
        result: np.ndarray = np.log(F + self.doubt[:, None, None])
        return result

    def state(self) -> dict[str, np.ndarray]:
        """As arrays for a file."""
        return {
            "walk.hits": self.hits,
            "walk.doubt": self.doubt,
            "walk.sizes": np.array([self.neighbours, self.width]),
            "walk.starts": self.anchors.indptr,
            "walk.values": self.anchors.indices,
        }

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray]) -> Walk | None:
        """What ``state`` gave; None where a file has no walk."""
        if "walk.hits" not in arrays:
            return None
        values, starts, sizes = (arrays[f"walk.{name}"] for name in ("values", "starts", "sizes"))
        neighbours, width = sizes.tolist()
        anchors = sp.csr_array((np.ones(len(values)), values, starts), shape=(len(starts) - 1, width))
        anchors.check_format(full_check=True)  # what lies outside would be read from anywhere in memory
        hits, doubt = arrays["walk.hits"], arrays["walk.doubt"]
        if hits.ndim != 3 or hits.shape[:2] != (len(doubt), len(starts) - 1):
            raise ValueError("its walk has other anchors than it says")
        return cls(anchors, neighbours, arrays["walk.hits"], arrays["walk.doubt"])


def most_shared(rows: sp.csr_array, anchors: sp.csr_array, k: int, *, itself: bool) -> sp.csr_array:
    """Weights (m, a) of sum 1 from rows to the k anchors that share most values with them.

    Anchors that share as many as the k-th have equal parts of what the others leave. Of a row that is an
    anchor, ``itself`` alone has a weight, or all but itself may.
    """
    A = anchors.toarray().astype(np.float32)
    wide = A.sum(axis=1)

    def block(part: slice) -> sp.csr_array:
        H = rows[part].toarray().astype(np.float32)
        shared = H @ A.T  # whole numbers: exact
        same = (shared == H.sum(axis=1)[:, None]) & (shared == wide)
        shared[same] = np.inf if itself else -1
        least = np.partition(shared, shared.shape[1] - k, axis=1)[:, shared.shape[1] - k]
        if itself:
            least[same.any(axis=1)] = np.inf
        i, j = np.nonzero(shared >= least[:, None])
        tie = shared[i, j] == least[i]
        nearer, ties = (np.bincount(i[some], minlength=len(shared)) for some in (~tie, tie))
        total = np.where(np.isinf(least), 1, k)
        w = np.where(tie, ((total - nearer) / ties)[i], 1.0) / total[i]
        return sp.csr_array((w, (i, j)), shape=shared.shape)

    parts = ranges(rows.shape[0], max(1, ENTRIES // anchors.shape[0]))
    return sp.csr_array(sp.vstack(list(share_out(block, parts))))


def as_like_rows(neighbours: Any, nodes: Nodes) -> int | None:
    """k of ``Steps``; None where there is no walk: not a table, or one whose rows are all equal."""
    if neighbours is None or not isinstance(nodes, TableNodes):
        return None
    assert isinstance(nodes.graph, Hypergraph)
    if len(nodes.graph.distinct.first) < 2:
        return None
    return LIKE_ROWS if isinstance(neighbours, str) else check_count("neighbours", neighbours)
