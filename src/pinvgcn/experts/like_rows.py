"""The rows most like a row of a table: those that share most values with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from pinvgcn.group import Group
from pinvgcn.parallel import ranges, share_out
from pinvgcn.pool import rows_of_all

ENTRIES = 2**22  # of a block of counts: 16 MB, and 100 MB of weights where all anchors tie


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
