"""Spectra as features of other people's models: scikit-learn transformers.

``gaussian.py`` embeds points and finds the width of their kernel without labels, ``hypergraph.py`` embeds the
rows of a table; ``base.py`` is what both share.
"""

from pinvgcn.embedding.base import Eigenmap
from pinvgcn.embedding.gaussian import GaussianEigenmap, sigma_for_rank
from pinvgcn.embedding.hypergraph import HypergraphEigenmap

__all__ = ["Eigenmap", "GaussianEigenmap", "HypergraphEigenmap", "sigma_for_rank"]
