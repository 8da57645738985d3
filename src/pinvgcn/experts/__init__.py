"""Experts: each learns from labelled rows and gives scores or log p of any row, one expert a file.

::

    Networks    networks of the pseudoinverse filter (``spectral.py``)
    Forests     random forests and extremely randomised trees (``forest.py``)
    ByValues    models of the values of a table: ``Linear`` regression (``linear.py``) and ``KernelMachine``
                (``kernel.py``)
    Diffusion   labels spread over a graph of the nearest rows of a table (``diffusion.py``)

An expert has one opinion a member of an ensemble; the members differ in the ``RowLabels`` that they learn
from::

    expert.opinions(seen)    for each member (m, classes), from what is ``Seen`` of m rows
    expert.state()           its arrays in a saved model

Another expert is a file here; ``fitting/pool.py`` has its name, ``fitting/members.py`` trains it,
``model_file.py`` there reads its arrays and ``model_shapes.py`` says their shapes.
"""

from pinvgcn.experts.diffusion import Diffusion, NeighbourGraph
from pinvgcn.experts.forest import Forest, Forests
from pinvgcn.experts.kernel import KernelMachine
from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.linear import Linear
from pinvgcn.experts.seen import ByValues, Seen, TableColumns
from pinvgcn.experts.spectral import Networks, NetworkSettings, TrainedNetwork, TrainingNodes

__all__ = [
    "ByValues",
    "Diffusion",
    "Forest",
    "Forests",
    "KernelMachine",
    "Linear",
    "NeighbourGraph",
    "NetworkSettings",
    "Networks",
    "RowLabels",
    "Seen",
    "TableColumns",
    "TrainedNetwork",
    "TrainingNodes",
]
