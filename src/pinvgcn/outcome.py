"""From a network's scores to probabilities: averaged over neighbours, true to how frequent classes are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from pinvgcn.checks import check_count, check_positive
from pinvgcn.errors import ParameterError
from pinvgcn.features import local_average
from pinvgcn.features.spread import average_over_ranks
from pinvgcn.nodes import CloudNodes, GraphNodes, Nodes
from pinvgcn.priors import corrected, estimated_shares
from pinvgcn.row_labels import RowLabels

NEIGHBOURS = 10  # the smallest neighbourhood of local_geometry


@dataclass(frozen=True)
class Outcome:
    """p ↦ f ∘ q, normalised, with q = (p + k p̄)/(k + 1), p̄ the mean of p over the k nearest points.

    A point counts once for itself and once as its own neighbour if it is in the cloud, so that a point of
    training seen again has the probabilities that it had (docs/maths.md, 9).
    """

    neighbours: int | None  # k; None where nothing is averaged
    node_proba: np.ndarray | None  # (n, classes), p at the points of training
    factors: np.ndarray | None  # f: (classes,); None where nothing is corrected

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        nodes: Nodes,
        labels: RowLabels,
        *,
        neighbours: Any,
        priors: Any,
    ) -> tuple[Outcome, np.ndarray]:
        """From the scores (n, classes) of this rank's training rows; the outcome, and their probabilities."""
        k = as_neighbours(neighbours, nodes)
        P = softmax(scores, axis=1)
        plain = cls(k, None if k is None else P, None)
        Q = plain.among_all(P, nodes)
        trained = labels.shares
        if priors is None or (isinstance(priors, str) and priors == "auto" and not is_scan(nodes)):
            return plain, Q
        if isinstance(priors, str):
            assert nodes.graph is not None
            here = labels.within(nodes.graph.start, len(Q))
            shares = estimated_shares(Q, trained, here.rows, here.codes, group=nodes.graph.group)
        else:
            shares = known_shares(priors, labels.classes)
        outcome = cls(k, plain.node_proba, shares / trained)
        return outcome, outcome.weighed(Q)

    def __call__(self, scores: np.ndarray, points: np.ndarray | None, cloud: np.ndarray | None) -> np.ndarray:
        """Probabilities at ``points`` with these scores; their neighbours are in the cloud of training, or
        among themselves without one."""
        P = softmax(scores, axis=1)
        return self.weighed(P if points is None else self.averaged(P, points, cloud))

    def averaged(self, P: np.ndarray, points: np.ndarray, cloud: np.ndarray | None) -> np.ndarray:
        """q"""
        k = self.neighbours
        if k is None:
            return P
        there = P if cloud is None else self.node_proba
        around = local_average(points, there, cloud=cloud, neighbours=k)
        q: np.ndarray = (P + k * around) / (k + 1)
        return q

    def among_all(self, P: np.ndarray, nodes: Nodes) -> np.ndarray:
        """q at the points of training, of which this rank has some: (n, …), whatever the columns are."""
        k = self.neighbours
        if k is None or not isinstance(nodes, CloudNodes):
            return P
        assert nodes.graph is not None
        if nodes.graph.group.alone:
            around = local_average(nodes.points, P, cloud=nodes.points, neighbours=k)
        else:
            around = average_over_ranks(nodes.points, P, neighbours=k, group=nodes.graph.group)
        q: np.ndarray = (P + k * around) / (k + 1)
        return q

    def weighed(self, q: np.ndarray) -> np.ndarray:
        """f ∘ q, normalised"""
        return q if self.factors is None else corrected(q, self.factors)


def is_scan(nodes: Nodes) -> bool:
    """Whether these are points with local shapes, what "auto" is made for."""
    return isinstance(nodes, CloudNodes) and nodes.geometry


def as_neighbours(neighbours: Any, nodes: Nodes) -> int | None:
    """k, resolved for these nodes."""
    if isinstance(neighbours, str):
        if neighbours != "auto":
            raise ParameterError(
                f"neighbours must be a whole number, 'auto' or None. Got {neighbours!r} instead."
            )
        return NEIGHBOURS if is_scan(nodes) else None
    if neighbours is None:
        return None
    k = check_count("neighbours", neighbours)
    if isinstance(nodes, GraphNodes):
        raise ParameterError(
            "neighbours must be 'auto' or None for given graphs, which have neither points nor a table. "
            f"Got {neighbours!r} instead."
        )
    return k if isinstance(nodes, CloudNodes) else None  # of a table: see ``walks``


def check_priors(priors: Any) -> None:
    """What can be checked before classes are known."""
    if isinstance(priors, str) and priors in ("auto", "estimated"):
        return
    if priors is not None and not isinstance(priors, dict):
        raise ParameterError(
            f"priors must be 'auto', 'estimated', None or a dict of class: share. Got {priors!r} instead."
        )


def known_shares(priors: dict[Any, float], classes: np.ndarray) -> np.ndarray:
    """The shares of a dict, in the order of the classes, of sum 1."""
    names = classes.tolist()
    wrong = [name for name in priors if name not in names] + [name for name in names if name not in priors]
    if wrong:
        raise ParameterError(
            f"priors must have a share for each labelled class and no other. Got {list(priors)} instead; "
            f"the labelled classes are {names}."
        )
    shares = np.array([check_positive(f"priors[{name!r}]", priors[name]) for name in names])
    total: np.ndarray = shares / shares.sum()
    return total
