"""Folds of labels: what a member learns from, and what is held out of its training.

Of points in space, folds should look like the task: held-out labels should lie as far from the remaining ones
as unlabelled points lie from labels (nearest-neighbour distance matching, Linnenbrink et al., 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans

from pinvgcn.checks import check_fraction
from pinvgcn.errors import ParameterError
from pinvgcn.experts.labels import RowLabels

FINER = 1.6  # times fewer groups in each candidate than in the one before
MOST_GROUPS = 256
CLUSTERED = 4_096  # labels that groups are found from
ROUNDS = 20  # of K-means
LINKED = 1_024  # labels of a class that tell in how many places they lie
CLEARLY = 0.9  # of the difference of random folds: by chance groups are a little nearer now and then
QUANTILES = np.linspace(0.005, 0.995, 100)
BLOCKS = 10  # in plan, that stand for other scans


@dataclass(frozen=True)
class Folds:
    """The number of the fold in which each label is held out, −1 where it never is."""

    labels: RowLabels
    number: np.ndarray  # (m,)
    count: int
    groups: np.ndarray | None = None  # (m,) the place of each label, if whole places are held out

    @property
    def grouped(self) -> bool:
        """Whether whole places are held out, or single labels."""
        return self.groups is not None

    @property
    def places(self) -> np.ndarray:
        """In how many places each class has labels, or how many labels: (classes,)."""
        codes, classes = self.labels.codes, len(self.labels.classes)
        if self.groups is None:
            return np.bincount(codes, minlength=classes)
        return np.array([len(np.unique(self.groups[codes == code])) for code in range(classes)])

    @property
    def parts(self) -> list[tuple[RowLabels, RowLabels | None]]:
        """For each fold the labels to learn from, and those held out or None."""
        return [
            (self.labels.take(self.number != f), self.labels.take(held) if held.any() else None)
            for f in range(self.count)
            for held in [self.number == f]
        ]

    def distances(self, points: np.ndarray) -> np.ndarray:
        """From each label that is held out to the nearest one that is not: of labels at ``points`` (m, d)."""
        found = [
            cKDTree(points[self.number != f]).query(points[self.number == f])[0]
            for f in range(self.count)
            if 0 < (self.number == f).sum() < len(points)
        ]
        return np.concatenate(found) if found else np.zeros(0)


def hold_out(labels: RowLabels, share: float, seed: int) -> tuple[RowLabels, RowLabels]:
    """Labels to learn from, and a share of each class to watch; a class keeps one label at least."""
    check_fraction("held_out", share)
    rng = np.random.default_rng(seed)
    held = np.zeros(len(labels.rows), dtype=bool)
    for code in np.unique(labels.codes):
        mine = rng.permutation(np.flatnonzero(labels.codes == code))
        held[mine[: min(round(share * len(mine)), len(mine) - 1)]] = True
    if not held.any():
        raise ParameterError(
            "patience needs labels to hold out: two in one class at least. "
            f"Got {len(labels.rows)} labels and held_out={share:g}; label more rows, or set patience=None."
        )
    return labels.take(~held), labels.take(held)


def random_folds(labels: RowLabels, count: int, seed: int) -> Folds:
    """Single labels, the same share of each class in each fold.

    The only label of a class is never held out, as all members need it; with one fold no label is.
    """
    number = np.full(len(labels.rows), -1)
    if count > 1:
        rng = np.random.default_rng(seed)
        for code in np.unique(labels.codes):
            mine = rng.permutation(np.flatnonzero(labels.codes == code))
            if len(mine) > 1:
                number[mine] = np.arange(len(mine)) % count
    return Folds(labels, number, count)


def matched_folds(
    labels: RowLabels, count: int, seed: int, *, points: np.ndarray, target: np.ndarray
) -> Folds:
    """Of labels at ``points`` (m, d): random folds, or those of whole groups of labels whose distances are
    nearest to ``target`` (t,), the distances from unlabelled points to labels.

    Nearest is the least mean difference of 100 quantiles; groups must make it a tenth smaller.
    """
    best = random_folds(labels, count, seed)
    groups = min(len(points) // 2, MOST_GROUPS)
    if count == 1 or groups < count or not len(target):
        return best
    least = CLEARLY * _difference(best.distances(points), target)
    while groups >= count:
        candidate = group_folds(labels, _clusters(points, groups, seed), count, seed)
        difference = _difference(candidate.distances(points), target)
        if difference < least:
            best, least = candidate, difference
        groups = int(groups / FINER)
    return best


def block_folds(labels: RowLabels, points: np.ndarray, count: int, seed: int) -> Folds:
    """Blocks of labels in plan are held out: what is near to a label says nothing of another scan."""
    if len(points) < max(BLOCKS, count):
        return random_folds(labels, count, seed)
    return group_folds(labels, _clusters(points[:, :2], BLOCKS, seed), count, seed)


def group_folds(labels: RowLabels, groups: np.ndarray, count: int, seed: int) -> Folds:
    """Whole ``groups`` (m,) are held out, the largest dealt first, so that each class is in each fold alike.

    A class that would be in one fold alone is spread at random: every member needs some of its labels.
    """
    rng = np.random.default_rng(seed)
    codes, classes = labels.codes, len(labels.classes)
    totals = np.maximum(np.bincount(codes, minlength=classes), 1)
    names, place = np.unique(groups, return_inverse=True)
    parts = np.zeros((len(names), classes))
    np.add.at(parts, (place, codes), 1 / totals[codes])
    load, fold_of = np.zeros((count, classes)), np.zeros(len(names), dtype=int)
    for group in np.argsort(-parts.sum(axis=1), kind="stable"):
        grown = ((load + parts[group]) ** 2).sum(axis=1) - (load**2).sum(axis=1)
        fold_of[group] = grown.argmin()
        load[fold_of[group]] += parts[group]
    number = fold_of[place]
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        if len(np.unique(number[mine])) < 2:
            number[mine] = rng.permutation(np.arange(len(mine)) % count) if len(mine) > 1 else -1
    return Folds(labels, number, count, groups=groups)


def single_place(points: np.ndarray, codes: np.ndarray, target: np.ndarray) -> Sequence[int]:
    """Classes whose labels all lie closer together than half of the points lie to any label: one place.

    What such a class looks like elsewhere, no held-out label tells.
    """
    near = float(np.median(target)) if len(target) else 0.0
    found = []
    for code in np.unique(codes):
        mine = points[codes == code]
        spread = np.linalg.norm(mine - np.median(mine, axis=0), axis=1)
        if 2 * float(np.quantile(spread, 0.9)) < near:
            found.append(int(code))
    return found


def separate_places(points: np.ndarray, codes: np.ndarray, target: np.ndarray) -> np.ndarray:
    """In how many places each class has labels, of which steps shorter than half of the points lie from any
    label lead from one to the next: (classes,)."""
    near = float(np.median(target)) if len(target) else 0.0
    found = []
    for code in range(codes.max() + 1):
        mine = points[codes == code]
        mine = mine[:: max(1, len(mine) // LINKED)]
        pairs = cKDTree(mine).query_pairs(near, output_type="ndarray")
        joined = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(mine), len(mine)))
        found.append(connected_components(joined, directed=False)[0])
    return np.array(found)


def _clusters(points: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Of K-means: (m,)."""
    count = min(count, len(np.unique(points, axis=0)))
    means = KMeans(count, n_init=1, max_iter=ROUNDS, random_state=seed)
    step = -(-len(points) // CLUSTERED)
    return means.fit(points[::step]).predict(points)


def _difference(held: np.ndarray, target: np.ndarray) -> float:
    if not len(held):
        return np.inf
    return float(np.abs(np.quantile(held, QUANTILES) - np.quantile(target, QUANTILES)).mean())
