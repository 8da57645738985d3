"""Classify the nodes of dense graphs from a few labels.

The map, in the order in which data flows::

    compute, distributed  threads and compiled loops; several processes that share the rows
    io, datasets          files and data sets
    features              local_geometry: the shape of what surrounds a point
    kernels               the Gaussian kernel as a linear map
    spectra               Spectrum: eigenvalues and eigenvectors of a graph Laplacian, as a value
    graphs                GaussianGraph (points), Hypergraph (tables), SparseGraph (edges)
    embedding             GaussianEigenmap, HypergraphEigenmap: spectra as scikit-learn transformers
    nn                    PinvConv, PinvGCN: the filter space, the layer, the network, its training
    pyg                   transforms and layers for PyTorch Geometric
    experts               networks, trees, diffusion: each gives scores or log p of any row
    fitting               settings, folds, the pool of experts, FittedModel: the result of a fit, as a value
    estimator             PinvGCNClassifier: all of it behind fit and predict
    repeated_fits         many labels and seeds on the same rows
    scans, tables         the two products: from files to classes in files
    report                evaluation, figures and pages about results
    experiments, cli      comparisons of methods, the paper's tables; the command ``pinvgcn``

Most people need the classifier alone::

    from pinvgcn import PinvGCNClassifier
    model = PinvGCNClassifier().fit(points, labels)     # labels: -1 where unknown
    model.transduction_                                 # a class for every point
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pinvgcn.errors import PinvGCNError

if TYPE_CHECKING:
    from pinvgcn.embedding import GaussianEigenmap, HypergraphEigenmap
    from pinvgcn.estimator import PinvGCNClassifier
    from pinvgcn.graphs import GaussianGraph, Hypergraph, SparseGraph
    from pinvgcn.spectra import Spectrum

# Threads that wait for work give up their core instead of spinning: beside another busy program, spinning
# made a thousand small products twenty times slower. Takes effect if torch is not loaded yet; a value that
# is already set stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__version__ = "0.1.0"

__all__ = [
    "GaussianEigenmap",
    "GaussianGraph",
    "Hypergraph",
    "HypergraphEigenmap",
    "PinvGCNClassifier",
    "PinvGCNError",
    "SparseGraph",
    "Spectrum",
    "__version__",
]

# Loaded when first asked for: the command line answers --help without waiting for torch.
_HOME = {
    "GaussianEigenmap": "pinvgcn.embedding",
    "GaussianGraph": "pinvgcn.graphs",
    "Hypergraph": "pinvgcn.graphs",
    "HypergraphEigenmap": "pinvgcn.embedding",
    "PinvGCNClassifier": "pinvgcn.estimator",
    "SparseGraph": "pinvgcn.graphs",
    "Spectrum": "pinvgcn.spectra",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
