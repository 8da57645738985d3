"""Extremely randomised trees: a second opinion, which looks at features one by one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn.parallel import for_all, ranges
from pinvgcn.row_labels import RowLabels

CHUNK = 8_192  # rows that a thread takes at a time: what it touches then stays in the cache


@dataclass(frozen=True)
class Trees:
    """log p with p(x) = (s(x) + ε)/(1 + cε), s the mean over trees of the class shares in the leaf of x.

    ε = 1/(2 t c) for t trees and c classes: that no tree votes for a class is no proof that there is none.
    A node sends x to ``child`` if x_feature ≤ threshold and to the node after ``child`` otherwise; a leaf is
    its own child, with threshold ∞. So a walk needs no question but this one, and may go on for too long.
    """

    roots: np.ndarray  # (t,) places in the arrays of nodes, all trees one after the other
    depths: np.ndarray  # (t,) steps to the deepest leaf
    feature: np.ndarray  # (nodes,)
    threshold: np.ndarray  # (nodes,), single precision, as x is compared
    child: np.ndarray  # (nodes,)
    shares: np.ndarray  # (nodes, c)

    @classmethod
    def grown(cls, X: Any, labels: RowLabels, nodes: np.ndarray, *, count: int, seed: int) -> Trees:
        """By scikit-learn, on the rows ``nodes`` of X (n, N₀), dense or sparse, which have these labels."""
        forest = ExtraTreesClassifier(count, random_state=seed)
        forest.fit(X[nodes], labels.codes, sample_weight=labels.weights)
        each = [tree.tree_ for tree in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in each)])
        parts = [_flat(tree, root) for tree, root in zip(each, roots, strict=False)]
        depths = np.array([tree.max_depth for tree in each])
        return cls(roots[:-1], depths, *(np.concatenate(column) for column in zip(*parts, strict=True)))

    def log_proba(self, X: Any) -> np.ndarray:
        """log p of any rows (m, N₀): (m, classes)."""
        count, classes = len(self.roots), self.shares.shape[1]
        total = np.zeros((X.shape[0], classes))

        def walk(rows: slice) -> None:
            some = X[rows].toarray() if sp.issparse(X) else X[rows]
            values = np.ascontiguousarray(some.T, dtype=np.float32).ravel()  # one feature after the other
            here, out = np.arange(some.shape[0]), total[rows]
            offset = self.feature * len(here)
            for root, depth in zip(self.roots, self.depths, strict=True):
                node = np.full(len(here), root)
                for _ in range(depth):
                    beyond = values.take(offset.take(node) + here) > self.threshold.take(node)
                    node = self.child.take(node)
                    node += beyond
                out += self.shares.take(node, axis=0)

        for_all(walk, ranges(X.shape[0], CHUNK))
        epsilon = 0.5 / (count * classes)
        logs: np.ndarray = np.log((total / count + epsilon) / (1 + epsilon * classes))
        return logs

    def state(self) -> dict[str, np.ndarray]:
        """What a file keeps: places in 32 bits, of which a walk makes 64."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: a.astype(np.int32) if a.dtype == np.int64 else a for name, a in arrays.items()}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], n_features: int) -> Trees:
        """From what ``state`` gave; every walk stays within the arrays."""
        trees = cls(**{name: a.astype(np.int64) if a.dtype == np.int32 else a for name, a in arrays.items()})
        nodes = len(trees.child)
        inside = (
            (trees.feature >= 0).all() and (trees.feature < n_features).all()
            and (trees.child >= 0).all() and (trees.child + (trees.threshold < np.inf) < nodes).all()
            and (trees.roots >= 0).all() and (trees.roots < nodes).all()
        )  # fmt: skip
        if not inside or len(trees.feature) != nodes or len(trees.shares) != nodes:
            raise ValueError("its trees lead nowhere")
        return trees


def _flat(tree: Any, root: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Feature, threshold, child and shares of the nodes of a scikit-learn tree, the children of a node side
    by side and the first node at ``root``."""
    inner = np.flatnonzero(tree.children_left >= 0)
    place = np.zeros(tree.node_count, dtype=np.int64)
    place[tree.children_left[inner]] = 1 + 2 * np.arange(len(inner))
    place[tree.children_right[inner]] = 2 + 2 * np.arange(len(inner))
    feature = np.zeros(tree.node_count, dtype=np.int64)
    threshold = np.full(tree.node_count, np.inf, dtype=np.float32)
    child = root + np.arange(tree.node_count)
    shares = np.empty((tree.node_count, tree.value.shape[2]))
    feature[place[inner]] = tree.feature[inner]
    threshold[place[inner]] = _rounded_down(tree.threshold[inner])
    child[place[inner]] = root + place[tree.children_left[inner]]
    shares[place] = tree.value[:, 0] / tree.value[:, 0].sum(axis=1, keepdims=True)
    return feature, threshold, child, shares


def _rounded_down(values: np.ndarray) -> np.ndarray:
    """The largest single precision numbers below: x ≤ t is the same for every x of that precision."""
    narrow = values.astype(np.float32)
    lower: np.ndarray = np.where(narrow > values, np.nextafter(narrow, np.float32(-np.inf)), narrow)
    return lower
