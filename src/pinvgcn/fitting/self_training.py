"""Self-training: where labels lie in few places, trees learn from the rest of the scan, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinvgcn.distributed.rows import hashed
from pinvgcn.experts import Forest, RowLabels
from pinvgcn.fitting.pool import WIDE_TREES
from pinvgcn.fitting.scan import Scan, forest_kinds

DRAWN = 400  # points of each class
LEAF = 5  # labels in a leaf: some of these are wrong


class PseudoLabels(NamedTuple):
    """Points that have no label, with the class that they most probably have."""

    values: np.ndarray  # (p, v) what trees see of them
    codes: np.ndarray  # (p,)

    @classmethod
    def of(cls, P: np.ndarray, values: np.ndarray, scan: Scan, seed: int) -> PseudoLabels:
        """``DRAWN`` of the points at which a class is the most probable one, or all, for each class.

        P (n, classes) are the probabilities at this rank's points, ``values`` (n, v) what trees see of them.
        A point counts in the draw by its squared probability. What is drawn depends on the numbers of points
        alone, and on no process that has them: the points with the smallest −log(u)/P² are taken, u the
        hash of their number (Efraimidis and Spirakis, 2006).
        """
        start, found, group = scan.nodes.start, P.argmax(axis=1), scan.nodes.group
        found[scan.nodes.own(scan.labels).rows] = -1
        u = (hashed(start + np.arange(len(P)), seed=seed) + 0.5) / 2.0**64
        order = -np.log(u) / np.maximum(P.max(axis=1, initial=0.0) ** 2, np.finfo(float).tiny)
        drawn, codes = [], []
        for code in range(P.shape[1]):
            mine = np.flatnonzero(found == code)
            mine = mine[np.argsort(order[mine], kind="stable")[:DRAWN]]
            first = np.argsort(group.rows(order[mine]), kind="stable")[:DRAWN]
            drawn.append(group.rows(values[mine])[first])
            codes.append(np.full(len(first), code))
        return cls(np.concatenate(drawn), np.concatenate(codes))

    def forest(self, values: np.ndarray, labels: RowLabels, scan: Scan, *, trees: int, seed: int) -> Forest:
        """The wide trees of a member, from its ``labels``, of which they see ``values`` (m, v), and these."""
        own = np.ones(len(labels.codes)) if labels.weights is None else labels.weights
        X = np.vstack([values, self.values])
        codes, weights = np.append(labels.codes, self.codes), np.append(own, self.weights(labels))
        learned = RowLabels(labels.classes, np.arange(len(X)), codes, weights)
        kind = forest_kinds(scan.nodes, X.shape[1])[WIDE_TREES] | {"leaf_size": LEAF}
        return Forest.grown(X, learned, np.arange(len(X)), count=trees, seed=seed, **kind)

    def weights(self, labels: RowLabels) -> np.ndarray:
        """Of sum ``DRAWN`` for each class in the mean: each class has the share that its labels have."""
        counts = np.bincount(self.codes, minlength=len(labels.classes))
        total: np.ndarray = DRAWN * len(counts) * labels.shares / np.maximum(counts, 1)
        return total[self.codes]
