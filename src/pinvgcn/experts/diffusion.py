"""Diffusion of labels over a table: walks from row to similar rows, and the labels that they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import gmres

from pinvgcn.experts.labelled import LabelledRows
from pinvgcn.experts.like_rows import Near, most_shared
from pinvgcn.experts.seen import Seen
from pinvgcn.graphs import Hypergraph
from pinvgcn.graphs.distinct import pooled, row_hashes
from pinvgcn.group import ALONE, Group

ON = 0.995  # the probability that a walk goes on: two hundred steps in the mean
ANCHORS = 8_192  # rows that walks visit; all pairs of them are compared
DOUBT = 1e-3  # of the mean number of labels met, added to each: far from all labels, none says much
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

    def walk(self, labels: Sequence[LabelledRows]) -> Walk:
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

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """log F of each member: (m, classes)."""
        assert seen.near is not None
        yield from self.logs(seen.near)

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
