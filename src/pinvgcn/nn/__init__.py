"""The network: filters, the layer, the model and its training.

``filters.py`` is the paper's filter space, ``conv.py`` the graph convolution that it makes, ``model.py``
stacks convolutions into a classifier, ``training.py`` fits its weights.
"""

from pinvgcn.nn.conv import PinvConv
from pinvgcn.nn.filters import FilterBasis
from pinvgcn.nn.model import PinvGCN
from pinvgcn.nn.training import TrainingSettings, train

__all__ = ["FilterBasis", "PinvConv", "PinvGCN", "TrainingSettings", "train"]
