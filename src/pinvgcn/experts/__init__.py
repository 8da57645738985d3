"""Experts: each learns from labelled rows and gives scores or log p of any row, one expert a file.

::

    Networks    networks of the pseudoinverse filter (``spectral.py``, ``training_nodes.py``)
    Forests     extremely randomised trees (``forest.py``)
    Walk        diffusion of labels between similar rows of a table (``diffusion.py``, ``like_rows.py``)

An expert has one opinion a member of an ensemble; the members differ in the labels that they learn from::

    expert.opinions(seen)    for each member (m, classes), from what is ``Seen`` of m rows
    expert.state()           its arrays in a saved model
"""

from pinvgcn.experts.diffusion import Steps, Walk
from pinvgcn.experts.forest import Forest, Forests
from pinvgcn.experts.labelled import LabelledRows
from pinvgcn.experts.seen import Seen
from pinvgcn.experts.spectral import Networks, NetworkSettings, TrainedNetwork
from pinvgcn.experts.training_nodes import TrainingNodes

__all__ = [
    "Forest",
    "Forests",
    "LabelledRows",
    "NetworkSettings",
    "Networks",
    "Seen",
    "Steps",
    "TrainedNetwork",
    "TrainingNodes",
    "Walk",
]
