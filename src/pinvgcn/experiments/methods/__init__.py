"""The methods that PinvGCN is compared with, by name.

- ``pinvgcn``: the method itself, with its own defaults or in the paper's settings
- ``inputs``: what the methods below see of a task: features, encoded columns, sparse graphs
- ``supervised``: classifiers that learn from the labelled rows, self-training, CatBoost
- ``label_propagation``: label spreading and Poisson learning
- ``networks``: the networks of the paper's tables
"""

from __future__ import annotations

from pinvgcn.checks import check_choice
from pinvgcn.experiments.methods.label_propagation import (
    POISSON_ALONG_EDGES,
    SPREADING_ALONG_EDGES,
    LabelSpreading,
    PoissonLearning,
)
from pinvgcn.experiments.methods.networks import KINDS, network
from pinvgcn.experiments.methods.supervised import SELF_TRAINING, SUPERVISED, CatBoost
from pinvgcn.experiments.task import Kind, Method

# what needs no settings, by name
BASELINES: dict[str, Method] = {
    method.name: method
    for method in (*SUPERVISED, LabelSpreading(), PoissonLearning(), SELF_TRAINING, CatBoost())
}
# what `pinvgcn compare` has, and what the reproduction has beside the methods of the paper
RIVALS = (
    "nearest_neighbour", "logistic_regression", "random_forest", "extra_trees", "support_vectors",
    "gradient_boosting", "label_spreading", "self_training",
)  # fmt: skip
OF_TABLES = ("catboost",)  # what `pinvgcn compare` has besides, on tables
PLAIN = (
    "logistic_regression", "nearest_neighbour", "extra_trees", "random_forest", "support_vectors",
    "label_spreading", "poisson",
)  # fmt: skip
SIMPLE = ("majority", "logistic_regression", "nearest_neighbour", "extra_trees")  # quick, and known to many

PAPER = {
    title: kind for kind, (title, *_) in KINDS.items()
}  # the networks, by the names in the paper's tables


def paper_baseline(name: str, *, knn: int | None = None, sigma: float | None = None) -> Method:
    """A method of the paper's tables, by the name and the columns that it has there."""
    return network(PAPER[check_choice("name", name, PAPER)], knn, sigma)


def plain_baselines(kind: Kind) -> list[Method]:
    """What the paper lacked, on such data: labels travel along the edges of a network, and elsewhere between
    nearest neighbours."""
    along: tuple[Method, ...] = (SPREADING_ALONG_EDGES, POISSON_ALONG_EDGES) if kind == "network" else ()
    known = BASELINES | {method.name: method for method in along}
    return [known[name] for name in PLAIN]


def network_baselines() -> list[Method]:
    """The networks on the edges that citation networks have."""
    return [network(kind) for kind in ("gcn", "graphsage", "gdc", "arma")]
