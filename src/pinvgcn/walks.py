"""Walks from a row of a table to rows like it, and the labels that they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import gmres

from pinvgcn.checks import check_count
from pinvgcn.graphs import Hypergraph
from pinvgcn.graphs.distinct import pooled, row_hashes
from pinvgcn.group import ALONE, Group
from pinvgcn.nodes import Nodes, TableNodes
from pinvgcn.parallel import ranges, share_out
from pinvgcn.pool import rows_of_all
from pinvgcn.row_labels import RowLabels

LIKE_ROWS = 5  # a step goes to one of so many
ON = 0.995  # the probability that a walk goes on: two hundred steps in the mean
ANCHORS = 8_192  # rows that walks visit; all pairs of them are compared
DOUBT = 1e-3  # of the mean number of labels met, added to each: far from all labels, none says much
ENTRIES = 2**22  # of a block of counts: 16 MB, and 100 MB of weights where all anchors tie
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
    nearest: Near  # from distinct rows of training to anchors, an anchor to itself: (m, a)
    inverse: np.ndarray  # (n,) which distinct row each row of training is
    group: Group = ALONE  # whose ranks share out the rows; anchors are on all
    start: int = 0  # the number of this rank's first row among all

    @classmethod
    def of(cls, graph: Hypergraph, neighbours: int) -> Steps:
        """On the rows of a table."""
        first, inverse, counts = graph.distinct
        rows = graph.incidence[first]
        anchors = pooled(rows, counts, row_hashes(rows), graph.group, most=ANCHORS).rows
        k = min(neighbours, anchors.shape[0] - 1)
        between = most_shared(anchors, anchors, k, itself=False)
        return cls(anchors, k, between, Near(rows, anchors, k), inverse, graph.group, graph.start)

    def walk(self, labels: Sequence[RowLabels]) -> Walk:
        """Of each member, among the labels that it learns from: those of all ranks, with rows numbered so."""
        a, classes = self.anchors.shape[0], len(labels[0].classes)
        hits = np.empty((len(labels), a, classes))
        system = sp.csr_array(sp.eye_array(a) - ON * self.between)
        for number, own in enumerate(labels):
            # the label of a row that is no anchor is shared among its nearest
            place = own.rows - self.start
            here = (place >= 0) & (place < len(self.inverse))
            at = self.nearest[self.inverse[place[here]]].weights()
            Y = np.zeros((int(here.sum()), classes))
            Y[np.arange(len(Y)), own.codes[here]] = 1.0 if own.weights is None else own.weights[here]
            B = self.group.sum(at.T @ Y)
            for c in range(classes):
                hits[number, :, c] = gmres(system, B[:, c], rtol=ACCURACY, restart=100, maxiter=50)[0]
        hits = self.group.first(np.maximum(hits, 0))
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

    def near(self, rows: sp.csr_array) -> Near:
        """Where walks from rows of incidences (m, |E| or more) begin: (m, a)."""
        return Near(rows[:, : self.width], self.anchors, self.neighbours)

    def at(self, rows: sp.csr_array) -> np.ndarray:
        """log F of each member at rows of incidences: (members, m, classes)."""
        return self.logs(self.near(rows))

    def logs(self, near: Near) -> np.ndarray:
        """The same, where walks begin there: (members, m, classes)."""
        result: np.ndarray = np.log(near.means(self.hits) + self.doubt[:, None, None])
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


@dataclass(frozen=True)
class Near:
    """Weights (m, a) of sum 1 from rows to the anchors most like them, an anchor to itself.

    They are computed a block of rows at a time, when they are used, and not kept: where rows share next to
    nothing thousands of anchors tie, and all weights of many rows would not fit into memory.
    """

    rows: sp.csr_array  # (m, |E|)
    anchors: sp.csr_array  # (a, |E|)
    neighbours: int

    def __getitem__(self, some: np.ndarray) -> Near:
        return replace(self, rows=self.rows[some])

    def of_all(self, group: Group) -> Near:
        """Of the rows of all ranks, of which each has a few."""
        return replace(self, rows=rows_of_all(self.rows, group))

    def weights(self) -> sp.csr_array:
        """All of them: for a few rows."""
        return most_shared(self.rows, self.anchors, self.neighbours, itself=True)

    def means(self, values: np.ndarray) -> np.ndarray:
        """Of values (members, a, classes) at the anchors: (members, m, classes)."""
        members, _, classes = values.shape
        means = np.empty((members, self.rows.shape[0], classes))
        block = _Shared(self.anchors, self.neighbours, itself=True)

        def fill(part: slice) -> None:
            W = block(self.rows[part])
            for number, own in enumerate(values):
                means[number, part] = W @ own

        for _ in share_out(fill, block.parts(self.rows)):
            pass
        return means


def most_shared(rows: sp.csr_array, anchors: sp.csr_array, k: int, *, itself: bool) -> sp.csr_array:
    """Weights (m, a) of sum 1 from rows to the k anchors that share most values with them.

    Anchors that share as many as the k-th have equal parts of what the others leave. Of a row that is an
    anchor, ``itself`` alone has a weight, or all but itself may.
    """
    block = _Shared(anchors, k, itself=itself)
    found = list(share_out(lambda part: block(rows[part]), block.parts(rows)))
    return sp.csr_array(sp.vstack([*found, sp.csr_array((0, anchors.shape[0]))]))


class _Shared:
    """``most_shared`` of a block of rows."""

    def __init__(self, anchors: sp.csr_array, k: int, *, itself: bool) -> None:
        self.anchors, self.k, self.itself = anchors.toarray().astype(np.float32), k, itself
        self.wide = self.anchors.sum(axis=1)

    def parts(self, rows: sp.csr_array) -> list[slice]:
        """Blocks whose counts fit into memory."""
        return list(ranges(rows.shape[0], max(1, ENTRIES // len(self.anchors))))

    def __call__(self, rows: sp.csr_array) -> sp.csr_array:
        k = self.k
        H = rows.toarray().astype(np.float32)
        shared = H @ self.anchors.T  # whole numbers: exact
        same = (shared == H.sum(axis=1)[:, None]) & (shared == self.wide)
        shared[same] = np.inf if self.itself else -1
        least = np.partition(shared, shared.shape[1] - k, axis=1)[:, shared.shape[1] - k]
        if self.itself:
            least[same.any(axis=1)] = np.inf
        i, j = np.nonzero(shared >= least[:, None])
        tie = shared[i, j] == least[i]
        nearer, ties = (np.bincount(i[some], minlength=len(shared)) for some in (~tie, tie))
        total = np.where(np.isinf(least), 1, k)
        w = np.where(tie, ((total - nearer) / ties)[i], 1.0) / total[i]
        return sp.csr_array((w, (i, j)), shape=shared.shape)


def as_like_rows(neighbours: Any, nodes: Nodes) -> int | None:
    """k of ``Steps``; None where there is no walk: not a table, or one whose rows are all equal."""
    if neighbours is None or not isinstance(nodes, TableNodes):
        return None
    assert isinstance(nodes.graph, Hypergraph)
    if nodes.graph.group.sum(len(nodes.graph.distinct.first)) < 2:
        return None
    return LIKE_ROWS if isinstance(neighbours, str) else check_count("neighbours", neighbours)
