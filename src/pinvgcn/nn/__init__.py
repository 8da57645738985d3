"""The network: filters, the layer, the model and its training.

``filters.py`` is the paper's filter space, ``conv.py`` the graph convolution that it makes, for one graph or
several, and ``model.py`` stacks convolutions into a classifier: the formulas. Training runs on
their fast neighbours: ``problem.py`` is what stays as it is while the weights change (``rows.py`` its
matrices), ``hidden.py`` the hidden layers in chunks of nodes, ``sampling.py`` and ``dropout.py`` what is
drawn, ``training.py`` the loop. ``nodewise.py`` is the trained network as a function of one node.
"""

from pinvgcn.nn.conv import PinvConv, SpectrumBatch
from pinvgcn.nn.filters import FilterBasis
from pinvgcn.nn.model import PinvGCN
from pinvgcn.nn.problem import Basis, Problem
from pinvgcn.nn.training import Labels, TrainingSettings, train

__all__ = [
    "Basis", "FilterBasis", "Labels", "PinvConv", "PinvGCN", "Problem", "SpectrumBatch", "TrainingSettings",
    "train",
]  # fmt: skip
