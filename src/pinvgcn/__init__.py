"""Classify the nodes of dense graphs from a few labels.

The map, in the order in which data flows::

    io, datasets          files and data sets
    kernels               the Gaussian kernel as a linear map
    spectra               Spectrum: eigenvalues and eigenvectors of a graph Laplacian, as a value
    graphs                GaussianGraph (points), Hypergraph (tables), SparseGraph (edges)
    nn                    PinvConv, PinvGCN: the filter space, the layer, the network, its training
    estimator             PinvGCNClassifier: all of it behind fit and predict
    experiments, cli      comparisons and reports; the command ``pinvgcn``

Most people need the classifier alone::

    from pinvgcn import PinvGCNClassifier
    model = PinvGCNClassifier().fit(points, labels)     # labels: -1 where unknown
    model.transduction_                                 # a class for every point
"""

from pinvgcn.errors import PinvGCNError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.graphs import GaussianGraph, Hypergraph, SparseGraph
from pinvgcn.spectra import Spectrum

__version__ = "0.1.0"

__all__ = [
    "GaussianGraph",
    "Hypergraph",
    "PinvGCNClassifier",
    "PinvGCNError",
    "SparseGraph",
    "Spectrum",
    "__version__",
]
