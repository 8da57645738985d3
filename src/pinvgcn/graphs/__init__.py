"""Graphs: their degrees, normalised adjacency and spectrum.

``gaussian.py`` joins points of a cloud by distance, ``hypergraph.py`` rows of a table by the values that
they share (``table.py`` reads the table), ``sparse.py`` takes edges as given, ``pyg.py`` exchanges
graphs with PyTorch Geometric. ``substitutes.py`` makes the sparse graphs that other methods need.
"""

from pinvgcn.graphs.base import Graph
from pinvgcn.graphs.gaussian import GaussianGraph, automatic_sigma
from pinvgcn.graphs.hypergraph import Hypergraph
from pinvgcn.graphs.pyg import from_pyg, to_pyg
from pinvgcn.graphs.sparse import SparseGraph
from pinvgcn.graphs.substitutes import Mediators, nearest_points, sharing_most, undirected
from pinvgcn.graphs.table import TableEncoder

__all__ = [
    "GaussianGraph",
    "Graph",
    "Hypergraph",
    "Mediators",
    "SparseGraph",
    "TableEncoder",
    "automatic_sigma",
    "from_pyg",
    "nearest_points",
    "sharing_most",
    "to_pyg",
    "undirected",
]
