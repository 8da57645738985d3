"""From scores to probabilities: averaged over what is around, true to how frequent classes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from pinvgcn.checks import check_count, check_positive
from pinvgcn.errors import ParameterError
from pinvgcn.features.averages import Averages
from pinvgcn.features.cell_size import cell_size
from pinvgcn.features.exchange import averages_of_all
from pinvgcn.fitting.class_shares import corrected, estimated_shares
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import CloudNodes, GraphNodes, Nodes
from pinvgcn.group import together

NEIGHBOURS = 10  # points that an average counts for, beside the point itself


@dataclass(frozen=True)
class Outcome:
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
        neighbours: Any,
        priors: Any,
    ) -> tuple[Outcome, np.ndarray]:
        """From the scores (n, classes) of this rank's training rows; the outcome, and their probabilities."""
        k = as_neighbours(neighbours, nodes)
        P = softmax(scores, axis=1)
        plain = cls(k, averaging_cell(neighbours, k, nodes), None, None)
        Q, around = plain.among_all(P, nodes)
        plain = replace(plain, around=around)
        trained = labels.shares
        if priors is None or (isinstance(priors, str) and priors == "auto" and not is_scan(nodes)):
            return plain, Q
        if isinstance(priors, str):
            assert nodes.graph is not None
            here = labels.within(nodes.graph.start, len(Q))
            shares = estimated_shares(Q, trained, here.rows, here.codes, group=nodes.graph.group)
        else:
            shares = known_shares(priors, labels.classes)
        outcome = replace(plain, factors=shares / trained)
        return outcome, outcome.weighed(Q)

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
    if isinstance(nodes, CloudNodes) and nodes.coordinates > 3:
        raise ParameterError(
            f"neighbours must be 'auto' or None for points of more than three coordinates. Got {k} instead."
        )
    return k if isinstance(nodes, CloudNodes) else None  # of a table: see ``walks``


def averaging_cell(neighbours: Any, k: int | None, nodes: Nodes) -> float | None:
    """The side of the finest cells that are averaged over: half of that at which the median point has 0.8 k
    points around it, which of scans is known."""
    if k is None:
        return None
    assert isinstance(nodes, CloudNodes)
    if isinstance(neighbours, str) and nodes.lattice is not None:
        return nodes.lattice.cell
    assert nodes.graph is not None
    group, points = nodes.graph.group, nodes.points
    return cell_size(lambda: [points], group.sum(len(points)), enough=0.8 * k, group=group) / 2


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
