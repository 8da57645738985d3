"""Extremely randomised trees and random forests: grown by scikit-learn, evaluated by a compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pinvgcn.compute.compiled import compiled, inlined
from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.seen import ByValues, Seen

CHUNK = 4_096  # rows of one call: their columns stay in the cache, and their numbers fit into 16 bits
LEAF = -1


@dataclass(frozen=True)
class Forest:
    """log p with p(x) = (s(x) + ε)/(1 + cε), s the mean over trees of the class shares in the leaf of x.

    ε = 1/(2 t c) for t trees and c classes, so that a class without votes keeps some probability.
    The nodes of all trees stand one after the other, each before its children. A node sends x to the next
    node if x_feature ≤ threshold, and to the node ``other`` otherwise. At a leaf, ``other`` is a row of
    ``shares``; leaves with equal shares have the same row.
    """

    roots: np.ndarray  # (t,) int32, the first node of each tree
    feature: np.ndarray  # (nodes,) int32, −1 at a leaf
    threshold: np.ndarray  # (nodes,) float32, 0 at a leaf
    other: np.ndarray  # (nodes,) int32
    shares: np.ndarray  # (rows, c) float64

    @classmethod
    def grown(
        cls,
        X: Any,
        labels: RowLabels,
        nodes: np.ndarray,
        *,
        count: int,
        seed: int,
        columns: np.ndarray | None = None,
        leaf_size: int = 1,
        drawn: bool = False,
    ) -> Forest:
        """By scikit-learn, on the rows ``nodes`` of X (n, N₀), dense or sparse, which have these labels.

        Of X only the ``columns`` are looked at, all by default. A leaf has ``leaf_size`` labels or more.
        Thresholds are random; or, in a random forest, the best ones for labels that are ``drawn`` anew, with
        replacement, for each tree.
        """
        kind = RandomForestClassifier if drawn else ExtraTreesClassifier
        forest = kind(count, min_samples_leaf=leaf_size, random_state=seed)
        some = X[nodes] if columns is None else X[nodes][:, columns]
        forest.fit(some, labels.codes, sample_weight=labels.weights)
        trees = [tree.tree_ for tree in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        right = np.concatenate([tree.children_right for tree in trees])  # the left child is the next node
        leaf = right < 0
        feature = np.where(leaf, LEAF, np.concatenate([tree.feature for tree in trees]))
        if columns is not None:
            feature[~leaf] = columns[feature[~leaf]]
        threshold = np.where(leaf, 0.0, np.concatenate([tree.threshold for tree in trees]))
        votes = np.concatenate([tree.value[:, 0] for tree in trees])[leaf]
        shares, rows = _distinct(votes / votes.sum(axis=1, keepdims=True))
        other = right + np.repeat(roots, sizes)
        other[leaf] = rows
        return cls(
            roots.astype(np.int32), feature.astype(np.int32), _rounded_down(threshold),
            other.astype(np.int32), shares,
        )  # fmt: skip

    def moved(self, move: Callable[[int, np.ndarray], np.ndarray]) -> Forest:
        """For rows whose columns c have become move(c, x), a rising function of what they were."""
        threshold = self.threshold.astype(np.float64)
        for column in np.unique(self.feature[self.feature != LEAF]):
            here = self.feature == column
            threshold[here] = move(int(column), threshold[here])
        return replace(self, threshold=_rounded_down(threshold))

    def log_proba(self, X: Any) -> np.ndarray:
        """log p of any rows (m, N₀): (m, classes)."""
        return log_probas([self], X)[0]

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_state(cls, n_features: int, **arrays: np.ndarray) -> Forest:
        """From what ``state`` gave; ValueError if the arrays are no forest on ``n_features`` columns."""
        if set(arrays) != {field.name for field in fields(cls)}:
            raise ValueError("its trees lack arrays")
        forest = cls(**{name: np.array(array, order="C") for name, array in arrays.items()})
        if not (forest._has_its_types() and forest._is_sound(n_features)):
            raise ValueError("its trees lead nowhere")
        return forest

    def _has_its_types(self) -> bool:
        """Whether arrays have the dtypes and shapes that the compiled loop reads."""
        nodes = self.feature.shape
        return (
            all(a.dtype == np.int32 for a in (self.roots, self.feature, self.other))
            and (self.threshold.dtype, self.shares.dtype) == (np.float32, np.float64)
            and nodes == self.threshold.shape == self.other.shape
            and (self.roots.ndim, self.feature.ndim, self.shares.ndim) == (1, 1, 2)
            and min(self.roots.size, self.feature.size, self.shares.size) > 0
        )

    def _is_sound(self, n_features: int) -> bool:
        """Whether nodes form trees with children after their parent, so that every path ends at a leaf, and
        all features, rows of shares and values are valid."""
        nodes, leaf = len(self.feature), self.feature == LEAF
        inner = np.flatnonzero(~leaf)
        children = np.concatenate([inner + 1, self.other[inner]])
        ascending = self.roots[0] == 0 and (self.roots[1:] > self.roots[:-1]).all() and self.roots[-1] < nodes
        if not ascending or (self.feature < LEAF).any() or (self.feature >= n_features).any():
            return False
        if (self.other[inner] <= inner + 1).any() or (children >= nodes).any():
            return False
        parents = np.bincount(children, minlength=nodes)
        parents[self.roots] += 1  # a root has none
        tree = np.searchsorted(self.roots, np.arange(nodes), side="right")
        if (parents != 1).any() or (tree[children] != np.tile(tree[inner], 2)).any():
            return False
        rows, valid = self.other[leaf], (self.shares >= 0) & (self.shares <= 1)  # NaN is not
        return bool(
            np.array_equal(np.unique(rows), np.arange(len(self.shares)))
            and np.isfinite(self.threshold).all()
            and valid.all()
            and np.allclose(self.shares.sum(axis=1), 1)
        )


class Forests(ByValues):
    """The trees of all members, under the name of the expert."""

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """log p of each member, in one pass over the rows: (m, classes)."""
        yield from log_probas(self.members, seen.values)


def log_probas(forests: Sequence[Forest], X: Any) -> list[np.ndarray]:
    """log p of each forest at any rows (m, N₀): (m, classes)."""
    width = max(forest.feature.max() for forest in forests) + 1
    if X.shape[1] < width:  # the compiled loop checks no bounds
        raise ValueError(f"X must have {width} columns or more. Got {X.shape[1]} instead.")
    largest = max(np.diff(forest.roots, append=len(forest.feature)).max() for forest in forests)
    logs = [np.empty((X.shape[0], forest.shares.shape[1])) for forest in forests]

    def evaluate(rows: slice) -> None:
        some = X[rows].toarray() if sp.issparse(X) else X[rows]
        columns = np.array(some.T, dtype=np.float32, order="C")
        waiting = np.empty((largest, 4), dtype=np.int64)
        for forest, out in zip(forests, logs, strict=True):
            count, classes = len(forest.roots), out.shape[1]
            total = np.zeros((classes, columns.shape[1]))
            _add_shares(
                columns, forest.roots, forest.feature, forest.threshold, forest.other, forest.shares, waiting,
                total,
            )  # fmt: skip
            epsilon = 0.5 / (count * classes)
            out[rows] = np.log((total.T / count + epsilon) / (1 + epsilon * classes))

    for_all(evaluate, ranges(X.shape[0], CHUNK))
    return logs


def _distinct(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of ``shares`` (leaves, c), and the place of each leaf's row among them: (leaves,)."""
    order = np.lexsort(shares.T)  # several times faster than np.unique by rows
    ordered = shares[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    places = np.empty(len(shares), dtype=np.int64)
    places[order] = np.cumsum(new) - 1
    return ordered[new], places


def _rounded_down(values: np.ndarray) -> np.ndarray:
    """The largest float32 numbers that are not above: x ≤ t then holds for the same float32 x."""
    narrow = values.astype(np.float32)
    return np.where(narrow > values, np.nextafter(narrow, np.float32(-np.inf)), narrow)


@compiled
def _add_shares(
    columns: np.ndarray,  # (N₀, m) float32
    roots: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    other: np.ndarray,
    shares: np.ndarray,
    waiting: np.ndarray,  # (nodes of the largest tree, 4) int64, to work in
    total: np.ndarray,  # (c, m) float64
) -> None:
    """Add the shares of every leaf to ``total``, at the rows that reach it.

    The rows of a chunk go down a tree together: each node divides its list of rows in two. So a node is read
    once a chunk, values of one column are read in a run, and no branch depends on them.
    """
    m = columns.shape[1]
    lists = np.empty((2, m), dtype=np.uint16)  # a node reads its part of one and writes to that of the other
    for root in roots:
        for row in range(m):
            lists[0, row] = row
        node, start, stop, side = np.int64(root), 0, m, 0
        top = 0  # how many nodes wait
        while True:
            if feature[node] >= 0:
                values, limit = columns[feature[node]], threshold[node]
                middle = _divide(values, limit, lists[side], lists[1 - side], start, stop)
                side = 1 - side
                if middle == start:
                    node = np.int64(other[node])
                    continue
                if middle < stop:
                    waiting[top, 0], waiting[top, 1] = other[node], middle
                    waiting[top, 2], waiting[top, 3] = stop, side
                    top += 1
                node, stop = node + 1, middle
                continue
            _add(shares[other[node]], lists[side], start, stop, total)
            if top == 0:
                break
            top -= 1
            node, start, stop, side = waiting[top]


@inlined
def _divide(
    values: np.ndarray, limit: float, source: np.ndarray, target: np.ndarray, start: int, stop: int
) -> Any:
    """Write the rows source[start:stop] to the same part of ``target``, those with value ≤ limit first.

    Returns where the others begin. Every row is written to both ends, of which one is then passed: so there
    is no branch. Places are unsigned, as numba asks of a signed one whether it is negative, which doubles the
    time.
    """
    low, last = np.uintp(start), np.uintp(stop - 1)
    for place in range(np.uintp(start), np.uintp(stop)):
        row = source[place]
        target[low] = row
        target[last + low - place] = row
        low += np.uintp(values[row] <= limit)
    return np.int64(low)


@inlined
def _add(share: np.ndarray, rows: np.ndarray, start: int, stop: int, total: np.ndarray) -> None:
    """Add ``share`` (c,) at rows[start:stop]; most leaves hold labels of one class only."""
    for code in range(len(share)):
        if share[code] > 0:
            for place in range(np.uintp(start), np.uintp(stop)):
                total[code, rows[place]] += share[code]
