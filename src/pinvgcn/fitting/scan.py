"""What a fit to a scan adds: where a place counts, folds that look like the task, experts for other scans,
the estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import softmax

from pinvgcn.checks import check_rows
from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import cores
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import DataError
from pinvgcn.experts import Forest, RowLabels
from pinvgcn.features.lattice import Lattice, find, grouped, in_curve_order, tabulated
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.estimate import APART, AccuracyEstimate, HeldOutRecalls, told_apart
from pinvgcn.fitting.folds import (
    Folds,
    block_folds,
    group_folds,
    matched_folds,
    separate_places,
    single_place,
)
from pinvgcn.fitting.nodes import CloudNodes, Nodes
from pinvgcn.fitting.pool import AWAY, FINE_TREES, PLACE_FREE, TREES, WIDE_TREES, weights_of

REACHED = 0.9  # the quantile of held-out distances up to which a place is trusted
FAR = 1e30  # where nothing was held out
COVERED = 0.98  # of the points share their cell of the support with another one
TARGETS = 5_000  # points whose distance to the labels tells how labels should be held out
FINE_LEAF = 5  # labels in a leaf of trees that see fine shapes: a leaf is more than one point of a place
NOTHING_HELD_OUT = (  # the reason why there is no estimate, and what to do
    "no label was held out of a member of the ensemble",
    "give each class several labels, and two members or more",
)
NOT_TOLD_APART = (
    "the model does not tell classes apart at held-out labels",
    "give it more labels, or features that differ between the classes",
)
BASIS = "labels held out as far from others as unlabelled points are, and the confidence of the model"


@dataclass(frozen=True)
class LabelledPlaces:
    """φ(x) = min(1, √(D/d)) with d the distance from x to the nearest label; 0 outside the training cloud.

    D is the 90 % quantile of the distances from labels to those that remain when they are held out: up to
    there it is known how well the place tells the class. A point is outside if none of the eight cells
    around it has a training point (docs/maths.md, 9.7). The cells are those of the first level of the lattice
    at which 98 of 100 training points are not alone in their cell.
    """

    points: np.ndarray  # (m, 3) the labels
    reach: float  # D
    lattice: Lattice
    level: int
    cells: np.ndarray  # (c, 3) the keys of cells with training points

    @classmethod
    def of(
        cls,
        points: np.ndarray,
        held_out: np.ndarray,
        cloud: np.ndarray,
        lattice: Lattice,
        *,
        group: Group = ALONE,
    ) -> LabelledPlaces:
        """Of labels at ``points``, from the distances of held-out ones (t,), and of the training ``cloud``,
        of which this process rank has a part."""
        start, total = group.offset(len(cloud))
        own = lattice.positions(cloud)
        some = group.rows(own[in_subsample(start, len(cloud), total)])
        for level in range(lattice.levels):
            cell, _ = grouped(some, in_curve_order(some, lattice.bits), lattice.bits + level)
            if (np.bincount(cell)[cell] > 1).mean() >= COVERED:
                break
        _, keys = grouped(own, in_curve_order(own, lattice.bits), lattice.bits + level)
        keys = np.unique(group.rows(keys), axis=0)  # of all processes
        reach = float(np.quantile(held_out, REACHED)) if len(held_out) else FAR
        return cls(points, max(reach, lattice.cell), lattice, level, keys)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """From any points to the nearest label: (m,)."""
        return nearest(self._tree, points)

    def trust(self, points: np.ndarray) -> np.ndarray:
        """φ at any points: (m,)."""
        positions, bits = self.lattice.positions(points), self.lattice.bits + self.level
        inside = np.flatnonzero(_supported(positions, bits, self._table, self.cells))
        phi = np.zeros(len(points))
        d = self.distances(points[inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            phi[inside] = np.where(d > self.reach, np.sqrt(self.reach / d), 1.0)
        return phi

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.points)

    @cached_property
    def _table(self) -> np.ndarray:
        return tabulated(self.cells)


def nearest(tree: cKDTree, points: np.ndarray) -> np.ndarray:
    """The distance from each point to the nearest one of the tree: (m,)."""
    return np.asarray(tree.query(points, workers=cores())[0]) if len(points) else np.zeros(0)


@compiled
def _supported(positions, bits, table, keys):  # type: ignore[no-untyped-def]
    """Whether one of the eight cells around each position is there."""
    half = 1 << (bits - 1)
    out = np.zeros(len(positions), np.bool_)
    for i in range(len(positions)):
        x, y = (positions[i, 0] + half) >> bits, (positions[i, 1] + half) >> bits
        z = (positions[i, 2] + half) >> bits
        for s in range(8):
            if find(table, keys, x - 1 + (s & 1), y - 1 + ((s >> 1) & 1), z - 1 + (s >> 2)) >= 0:
                out[i] = True
                break
    return out


class Scan(NamedTuple):
    """The points of a scan, its labels among them, and how these are held out."""

    nodes: CloudNodes
    labels: RowLabels
    folds: Folds
    places: LabelledPlaces
    single: Sequence[int]  # classes with labels in one place alone
    separate: np.ndarray  # (classes,) in how many places each class has labels

    @classmethod
    def of(cls, nodes: Nodes, labels: RowLabels, count: int, seed: int) -> Scan | None:
        """With ``count`` folds of the labels of all process ranks; None where nodes are no scan."""
        if not (isinstance(nodes, CloudNodes) and nodes.geometry):
            return None
        assert nodes.lattice is not None
        group, mine = nodes.group, nodes.own(labels).rows
        points = group.rows(nodes.points[mine])
        drawn = in_subsample(nodes.start, nodes.count, group.sum(nodes.count), most=TARGETS)
        some = np.setdiff1d(drawn, mine)
        target = group.rows(nearest(cKDTree(points), nodes.points[some]))
        folds = _of_first_rank(matched_folds(labels, count, seed, points=points, target=target), group)
        held = folds.distances(points)
        places = LabelledPlaces.of(points, held, nodes.points, nodes.lattice, group=group)
        single = single_place(points, labels.codes, target)
        return cls(nodes, labels, folds, places, single, separate_places(points, labels.codes, target))

    @property
    def in_few_places(self) -> bool:
        """Whether labels do not lie as the points do: whole places are held out, or most labels are of
        classes that have one place."""
        return self.folds.grouped or bool(np.isin(self.labels.codes, self.single).mean() > 0.5)

    def away(
        self, values: np.ndarray, scans: np.ndarray | None, *, trees: int, seed: int
    ) -> tuple[dict[str, float], HeldOutRecalls | None]:
        """The weights of place-free experts in another scan, and how they do at labels that were held out.

        Whole scans are held out, by the numbers of the ``scans`` (m,) that labels are from, or blocks of this
        one. Forests of this number of ``trees`` are grown for it on what trees see of the labels, ``values``
        (m, v), and not kept.
        """
        labels, count = self.labels, self.folds.count
        if count == 1:
            return weights_of(PLACE_FREE, usual=AWAY), None
        if scans is not None and len(np.unique(scans)) > 1:
            folds = group_folds(labels, scans, count, seed)
        else:
            folds = _of_first_rank(block_folds(labels, self.places.points, count, seed), self.nodes.group)
        kinds, unseen = forest_kinds(self.nodes, values.shape[1]), []
        for learned, held in folds.parts:
            if held is None or len(np.unique(learned.codes)) < len(labels.classes):
                continue
            at, there = (np.searchsorted(labels.rows, some.rows) for some in (learned, held))
            forests = [
                Forest.grown(values, learned, at, count=trees, seed=seed, **kinds[name])
                for name in PLACE_FREE
            ]
            unseen.append((np.stack([forest.log_proba(values[there]) for forest in forests]), held.codes))
        weights = weights_of(PLACE_FREE, unseen, usual=AWAY)
        if not unseen:
            return weights, None
        w = np.array(list(weights.values()))
        P = np.concatenate([softmax(np.tensordot(w, opinions, axes=1), axis=1) for opinions, _ in unseen])
        codes = np.concatenate([own for _, own in unseen])
        return weights, HeldOutRecalls.of_probabilities(P, codes, folds.places)

    def expected(self, P: np.ndarray, conformal: PredictionSets | None) -> AccuracyEstimate | None:
        """The accuracy at all unlabelled points, P (n, classes) the probabilities at this process rank's
        points; None where all are labelled."""
        free = np.delete(P, self.nodes.own(self.labels).rows, axis=0)
        total = self.nodes.group.sum(np.append(free.sum(axis=0), free.max(axis=1, initial=0.0).sum()))
        rows = float(total[:-1].sum())
        if not rows:
            return None
        if conformal is None or conformal.found is None:
            return AccuracyEstimate.none(*NOTHING_HELD_OUT, basis=BASIS)
        if self.single:
            names = ", ".join(str(self.labels.classes[code]) for code in self.single)
            reason = f"all labels of {names} lie in one place, so that nothing tells what else looks like it"
            advice = f"label {names} in two more places, far from the first"
            return AccuracyEstimate.none(reason, advice, basis=BASIS)
        if told_apart(conformal.found, conformal.codes, P.shape[1]) < APART:
            return AccuracyEstimate.none(*NOT_TOLD_APART, basis=BASIS)
        right = conformal.found == conformal.codes
        known = HeldOutRecalls.of(right, conformal.codes, self.folds.places)
        return known.expected(total[:-1] / rows, float(total[-1]) / rows, basis=BASIS)


def _of_first_rank(folds: Folds, group: Group) -> Folds:
    """The folds that the first process has found: on another host K-means may end otherwise."""
    own = [folds.number.tolist(), None if folds.groups is None else folds.groups.tolist()]
    number, groups = group.values(own)[0]
    return replace(folds, number=np.array(number), groups=None if groups is None else np.array(groups))


def forest_kinds(nodes: Nodes, columns: int) -> dict[str, dict[str, Any]]:
    """The forests of a member by name: what each looks at of this number of ``columns``, and its leaves.

    Of a scan there are two: trees that see what is close to a point, and trees that see all fixed cells.
    """
    lattice = nodes.lattice if isinstance(nodes, CloudNodes) else None
    if lattice is None:
        return {TREES: {}}
    beside = np.arange(len(lattice.names), columns)
    return {
        FINE_TREES: {"columns": np.append(lattice.fine, beside), "leaf_size": FINE_LEAF},
        WIDE_TREES: {"columns": np.append(np.arange(lattice.fixed), beside)},
    }


def scans_of(groups: Any, labels: RowLabels, nodes: Nodes) -> np.ndarray | None:
    """The numbers of the scans that labels are from, (m,), by those of this process rank's rows."""
    group = nodes.group
    given = group.values(groups is not None)
    if not any(given):
        return None
    with together(group):
        if not all(given):
            raise DataError("groups must be given on all ranks or on none. Got them on some only.")
        numbers = np.asarray(groups)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise DataError(
                "groups must be a whole number for each row, the scan that it is from. "
                f"Got an array of shape {numbers.shape} and type {numbers.dtype} instead."
            )
        check_rows(numbers, nodes.count, "groups", "rows of X")
    here: np.ndarray = numbers[nodes.own(labels).rows].astype(np.int64)
    return group.rows(here)
