"""From scores to probabilities: averaged over neighbours, then corrected for the shares of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from pinvgcn.features.averages import Averages
from pinvgcn.features.exchange import averages_of_all
from pinvgcn.fitting.class_shares import corrected, estimated_shares, known_shares
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import CloudNodes, Nodes
from pinvgcn.group import together


@dataclass(frozen=True)
class Smoothing:
    """p ↦ f ∘ q, normalised, with q = (p + k p̄)/(k + 1), p̄ the mean of p over the cells around a point.

    p̄ is as smooth as a mean over about k nearest points. A point counts once for itself and once among those
    around it if it is in the cloud, so that a point of training seen again has the probabilities that it had
    (docs/maths.md, 9).
    """

    neighbours: int | None  # k; None where nothing is averaged
    cell: float | None  # the side of the finest cells
    around: Averages | None  # of p at this rank's points of training
    factors: np.ndarray | None  # f: (classes,); None where nothing is corrected

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        nodes: Nodes,
        labels: RowLabels,
        *,
        neighbours: int | None,
        cell: float | None,
        priors: Any,
    ) -> tuple[Smoothing, np.ndarray]:
        """From the scores (n, classes) of this rank's training rows; and their probabilities.

        ``neighbours``, ``cell`` and ``priors`` are those of ``ResolvedSettings``.
        """
        P = softmax(scores, axis=1)
        plain = cls(neighbours, cell, None, None)
        Q, around = plain.among_all(P, nodes)
        plain = replace(plain, around=around)
        trained = labels.shares
        if priors is None:
            return plain, Q
        if isinstance(priors, str):
            assert nodes.graph is not None
            here = labels.within(nodes.graph.start, len(Q))
            shares = estimated_shares(Q, trained, here.rows, here.codes, group=nodes.graph.group)
        else:
            shares = known_shares(priors, labels.classes)
        smoothing = replace(plain, factors=shares / trained)
        return smoothing, smoothing.weighed(Q)

    def __call__(self, scores: np.ndarray, points: np.ndarray | None, among: str) -> np.ndarray:
        """Probabilities at ``points`` with these scores; around them are those of "training", or their
        "own"."""
        P = softmax(scores, axis=1)
        return self.weighed(P if points is None else self.averaged(P, points, self.around, among))

    def averaged(
        self,
        P: np.ndarray,
        points: np.ndarray,
        around: Averages | None,
        among: str = "own",
        *,
        heard: Callable[[int], None] = lambda count: None,
    ) -> np.ndarray:
        """q, with the means of ``around``, or of the points' "own" P: (m, …), whatever the columns are.

        ``heard`` is told how many points are done.
        """
        k = self.neighbours
        if k is None:
            return P
        assert self.cell is not None
        if among == "own":
            around = Averages.of(points, P, self.cell)
        assert around is not None
        q: np.ndarray = (P + k * around.at(points, P, heard=heard)) / (k + 1)
        return q

    def among_all(self, P: np.ndarray, nodes: Nodes) -> tuple[np.ndarray, Averages | None]:
        """q at the points of training, of which this rank has some, and the sums of these."""
        if self.neighbours is None or not isinstance(nodes, CloudNodes):
            return P, None
        assert nodes.graph is not None
        assert self.cell is not None
        group = nodes.graph.group
        with together(group):
            own = Averages.of(nodes.points, P, self.cell)
        return self.averaged(P, nodes.points, averages_of_all(own, nodes.points, group), "training"), own

    def weighed(self, q: np.ndarray) -> np.ndarray:
        """f ∘ q, normalised"""
        return q if self.factors is None else corrected(q, self.factors)
