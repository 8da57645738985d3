"""What the methods beside PinvGCN see of a task's rows, and what becomes of their probabilities.

Of points that have surroundings they see what the network of ``PinvGCNClassifier()`` sees, and their
probabilities are averaged over the neighbours that it averages over: what is compared are the methods.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinvgcn.experiments.task import Task


@dataclass(frozen=True)
class Sight:
    """The rows of a task as a method sees them."""

    rows: Any  # a DataFrame, or (n, f) numbers
    values: Any  # the same as trees see it: features as they are, where ``rows`` has their ranks
    comparable: bool = False  # whether the columns have spreads that may be compared
    points: np.ndarray | None = None  # (n, 3)
    smoothing: Any = None  # how probabilities at the points are averaged; None for not at all
    seconds: dict[str, float] = field(default_factory=dict)

    def most_probable(self, P: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """The class of each row (n,), from probabilities (n, m) of ``classes`` (m,)."""
        if self.smoothing is not None:
            assert self.points is not None
            P = self.smoothing.averaged(P, self.points, None)
        found: np.ndarray = np.asarray(classes)[P.argmax(axis=1)]
        return found


def look(task: Task) -> Sight:
    """What there is to see.

    Coordinates alone stay as they are. Beside other features they are brought to a common spread of 1, and
    the others to their normal scores, as for the network; trees see the values of the others, as the trees
    beside the network do.
    """
    if task.kind != "points" or not (task.surroundings or task.extra is not None):
        return Sight(task.X, task.X)
    from pinvgcn.fitting.inputs import SPREAD, InputScaling
    from pinvgcn.fitting.nodes import CloudNodes
    from pinvgcn.fitting.settings import averaged_neighbours, averaging_cell
    from pinvgcn.fitting.smoothing import Smoothing

    start = time.perf_counter()
    nodes = CloudNodes(task.X, sigma="auto", loops=1.0, geometry="auto" if task.surroundings else False)
    own = nodes.for_networks(nodes.features)
    scaled = InputScaling.of(own, task.extra, scaling="ranks", coordinates=nodes.coordinates)
    inputs = scaled(own, task.extra)
    values = scaled.unranked(inputs, own, task.extra)
    if nodes.geometry:  # trees see all shapes, as those beside the network do, and the place too
        values = np.hstack([inputs[:, : nodes.coordinates], nodes.without_place(nodes.features, task.extra)])
    k = averaged_neighbours("auto", nodes)
    return Sight(
        inputs / SPREAD,
        values,
        comparable=True,
        points=nodes.points,
        smoothing=None if k is None else Smoothing(k, averaging_cell("auto", k, nodes), None, None),
        seconds={"features": time.perf_counter() - start},
    )


def votes(model: Any, rows: Any) -> np.ndarray:
    """The probabilities of a fitted classifier (n, m); 0 and 1 from one that has none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    return (np.asarray(model.predict(rows))[:, None] == model.classes_).astype(float)
