"""The methods that PinvGCN is compared with.

In the order in which they build on each other:

- ``supervised``: what learns from the labelled rows alone
- ``joined``: the sparse graph and the features that the methods below see of a task
- ``spreading``, ``poisson``: labels that travel along a graph of nearest neighbours
- ``networks``: the networks of the paper's tables
- ``registry``: all of them by name
"""

from pinvgcn.experiments.methods.registry import (
    BASELINES,
    SIMPLE,
    network_baselines,
    paper_baseline,
    plain_baselines,
)

__all__ = ["BASELINES", "SIMPLE", "network_baselines", "paper_baseline", "plain_baselines"]
