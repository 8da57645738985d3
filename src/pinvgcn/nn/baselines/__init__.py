"""The networks that the paper compares itself with.

``networks.py`` has the networks, some with layers of PyTorch Geometric; ``gdc.py`` another graph for GCN;
``inputs.py`` what stays as it is while they are trained, with only the nodes that a loss can see;
``training.py`` is the loop that trains them all.
"""

from pinvgcn.nn.baselines.gdc import diffusion
from pinvgcn.nn.baselines.inputs import GraphInputs, HypergraphInputs, Inputs
from pinvgcn.nn.baselines.networks import (
    ARMA,
    GCN,
    HGNN,
    GraphSAGE,
    HyperGCN,
    Network,
    averaging,
    geometric,
    normalised,
    renormalised,
)
from pinvgcn.nn.baselines.training import classify, train_baseline

__all__ = [  # noqa: RUF022, in the order of their letters: names in capitals are networks, no constants
    "ARMA",
    "GCN",
    "GraphInputs",
    "GraphSAGE",
    "HGNN",
    "HyperGCN",
    "HypergraphInputs",
    "Inputs",
    "Network",
    "averaging",
    "classify",
    "diffusion",
    "geometric",
    "normalised",
    "renormalised",
    "train_baseline",
]
