"""The networks that the paper compares itself with.

``gcn.py``, ``sage.py``, ``arma.py`` (with layers of PyTorch Geometric; ``gdc.py`` another graph for the
first), ``hgnn.py`` and ``hypergcn.py`` are the networks, ``network.py`` what they have in common.
``field.py`` keeps the nodes that a loss can see, ``product.py`` multiplies by sparse matrices,
``training.py`` is the loop that trains them all.
"""

from pinvgcn.nn.baselines.arma import ARMA
from pinvgcn.nn.baselines.field import GraphInputs
from pinvgcn.nn.baselines.gcn import GCN, normalised, renormalised
from pinvgcn.nn.baselines.gdc import diffusion
from pinvgcn.nn.baselines.hgnn import HGNN, HypergraphInputs
from pinvgcn.nn.baselines.hypergcn import HyperGCN
from pinvgcn.nn.baselines.network import Inputs, Network, geometric
from pinvgcn.nn.baselines.sage import GraphSAGE, averaging
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
