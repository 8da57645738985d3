"""From scores to probabilities: corrected for the shares of classes, then averaged over neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from pinvgcn.distributed.group import together
from pinvgcn.experts.labels import RowLabels
from pinvgcn.features.averages import Averages
from pinvgcn.features.exchange import averages_of_all
from pinvgcn.fitting.class_shares import (
    corrected,
    estimated_shares,
    known_shares,
    picked_by_class,
    stepped_factors,
)
from pinvgcn.fitting.nodes import CloudNodes, Nodes

GROUPED_ROUNDS = 3  # of averages, where labels do not lie as the points do
SECOND_LOOK = 5  # times fewer neighbours count where scores know what surrounds a point
THIN = 1.5  # cells, from which on points are too far apart for that
SAFE = 0.5  # the power of class shares where labels do not lie as the points do, and in other thin scans
LABELS = 1_000  # of each class, from which on their shares in another scan are left alone
SCAN = 2_000  # points, from which on they tell the shares of classes
CAUTION = 10.0  # labels of each class, up to which those of a table count more than its rows


@dataclass(frozen=True)
class Smoothing:
    """p ↦ q = (p' + k p̄)/(k + 1), p' = f ∘ p normalised, p̄ the mean of p' over the cells around a point.

    Class shares come first: an average has less of a rare class at every point of it, and would lose it.
    p̄ is as smooth as a mean over about k nearest points. A point counts once for itself and once among those
    around it if it is in the cloud, so that a point of training seen again has the probabilities that it had
    (docs/maths.md, 9). In several ``rounds`` q takes the place of p'.
    """

    neighbours: int | None  # k; None where nothing is averaged
    cell: float | None  # the side of the finest cells
    around: Averages | None  # of p', and of q of each round but the last, at this rank's points of training
    factors: np.ndarray | None  # f: (classes,); None where nothing is corrected
    rounds: int = 1
    away_rounds: int = 1  # in another scan
    trained: np.ndarray | None = None  # (classes,) shares of the labels, if those of a scan are estimated
    away_power: float = 0.0  # of the class shares of another scan, from none to fully

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        nodes: Nodes,
        labels: RowLabels,
        neighbours: int | None,
        cell: float | None,
        priors: Any,
        *,
        grouped: bool = False,
        away: bool = False,
        context: bool = False,
    ) -> tuple[Smoothing, np.ndarray]:
        """From the scores (n, classes) of this rank's training rows; and their probabilities.

        ``neighbours``, ``cell`` and ``priors`` are those of ``ResolvedSettings``. Labels are ``grouped`` in
        places, or lie as the points do; ``away``, whether other scans can be classified; ``context``, whether
        scores know what surrounds a point, so that there is less to average.
        """
        P = softmax(scores, axis=1)
        rounds, dense = 1, cell is not None and cell < THIN
        away_rounds = (1 if context else GROUPED_ROUNDS) if dense else 0
        thin = cell is not None and not dense
        if context and neighbours is not None:
            neighbours = max(1, neighbours // SECOND_LOOK)
        if grouped and cell is not None and dense:
            rounds, cell = GROUPED_ROUNDS, 2 * cell
        smoothing = cls(neighbours, cell, None, None, rounds, away_rounds if away else 1)
        trained = labels.shares
        if priors == "safely" and not picked_by_class(labels.codes):
            priors = None
        if isinstance(priors, str):
            here, group = nodes.own(labels), nodes.group
            if grouped:
                known = np.bincount(here.codes, minlength=P.shape[1]) - P[here.rows].sum(axis=0)
                factors = stepped_factors(group.sum(P.sum(axis=0) + known), trained, SAFE)
            else:
                caution = CAUTION * len(trained) / len(labels.rows)
                shares = estimated_shares(P, trained, here.rows, here.codes, caution=caution, group=group)
                factors = shares / trained
            few = np.bincount(labels.codes).min() < LABELS
            power = (SAFE if thin else 1.0) if away and few else 0.0
            smoothing = replace(smoothing, factors=factors, trained=trained, away_power=power)
        elif priors is not None:
            smoothing = replace(smoothing, factors=known_shares(priors, labels.classes) / trained)
        Q, around = smoothing.among_all(smoothing.weighed(P), nodes)
        return replace(smoothing, around=around), Q

    def __call__(
        self, scores: np.ndarray, points: np.ndarray | None, among: str, *, elsewhere: bool = False
    ) -> np.ndarray:
        """Probabilities at ``points`` with these scores; around them are those of "training", or their
        "own"; ``elsewhere`` in another scan."""
        P = softmax(scores, axis=1)
        W = self.at(elsewhere, P.sum(axis=0), len(P)).weighed(P)
        if points is None:
            return W
        return self.averaged(W, points, self.around, among, rounds=self.rounds_at(elsewhere))

    def rounds_at(self, elsewhere: bool) -> int:
        """How often probabilities are averaged."""
        return 0 if self.neighbours is None else self.away_rounds if elsewhere else self.rounds

    def at(self, elsewhere: bool, total: np.ndarray, count: int) -> Smoothing:
        """With the class shares of another scan, if points are ``elsewhere``: of ``count`` points whose
        probabilities have the sum ``total`` (classes,)."""
        if not elsewhere or self.trained is None:
            return self
        if not self.away_power or count < SCAN:
            return replace(self, factors=None)
        return replace(self, factors=stepped_factors(total, self.trained, self.away_power))

    def averaged(
        self,
        P: np.ndarray,
        points: np.ndarray,
        around: Averages | None,
        among: str = "own",
        *,
        rounds: int = 1,
        heard: Callable[[int], None] = lambda count: None,
    ) -> np.ndarray:
        """q after all ``rounds`` from p', with the means of ``around``, or of the points' "own": (m, …),
        whatever the columns are.

        ``heard`` is told how many points are done.
        """
        k = self.neighbours
        if k is None or rounds == 0:
            return P
        assert self.cell is not None
        q = P
        if among == "own":
            for _ in range(rounds):
                q = (q + k * Averages.of(points, q, self.cell).at(points, q, heard=heard)) / (k + 1)
            return q
        assert around is not None
        means = around.at(points, np.hstack([P] * rounds), heard=heard)
        for mean in np.split(means, rounds, axis=1):
            q = (q + k * mean) / (k + 1)
        return q

    def among_all(self, P: np.ndarray, nodes: Nodes) -> tuple[np.ndarray, Averages | None]:
        """q at the points of training, of which this rank has some, and the sums of these."""
        if self.neighbours is None or not isinstance(nodes, CloudNodes):
            return P, None
        assert self.cell is not None
        group, q, sums = nodes.group, P, []
        for _ in range(self.rounds):
            with together(group):
                own = Averages.of(nodes.points, q, self.cell)
            sums.append(own.sums)
            q = self.averaged(q, nodes.points, averages_of_all(own, nodes.points, group), "training")
        return q, replace(own, sums=np.hstack(sums))

    def of_members(self, scores: Sequence[np.ndarray], nodes: Nodes) -> tuple[np.ndarray, Averages | None]:
        """The same from the scores (n, classes) of each member: (members, n, classes)."""
        each = np.empty((len(scores), *scores[0].shape))
        for number, own in enumerate(scores):
            each[number] = self.weighed(softmax(own, axis=1))
        if self.neighbours is None or not isinstance(nodes, CloudNodes):
            return each, None
        flat, around = self.among_all(np.hstack(list(each)), nodes)
        return np.stack(np.split(flat, len(scores), axis=1)), around

    def weighed(self, P: np.ndarray) -> np.ndarray:
        """f ∘ p, normalised, for each of the blocks of classes that stand side by side: (m, …)"""
        if self.factors is None:
            return P
        blocks = np.split(P, P.shape[1] // len(self.factors), axis=1)
        return np.hstack([corrected(block, self.factors) for block in blocks])
