"""The methods that PinvGCN is compared with.

In the order in which they build on each other:

- ``encoding``: a table as numbers
- ``supervised``: what learns from the labelled rows alone
- ``boosted_categories``: CatBoost, on tables
- ``self_training``: what takes its own answers as labels
- ``joined``: the sparse graph and the features that the methods below see of a task
- ``spreading``, ``poisson``: labels that travel along edges, or along a graph of nearest neighbours
- ``networks``: the networks of the paper's tables
- ``registry``: all of them by name
"""

from pinvgcn.experiments.methods.registry import (
    BASELINES,
    OF_TABLES,
    RIVALS,
    SIMPLE,
    network_baselines,
    paper_baseline,
    plain_baselines,
)

__all__ = [
    "BASELINES",
    "OF_TABLES",
    "RIVALS",
    "SIMPLE",
    "network_baselines",
    "paper_baseline",
    "plain_baselines",
]
