"""Spectra as features of other people's models: scikit-learn transformers.

``gaussian.py`` embeds points, ``hypergraph.py`` the rows of a table; ``base.py`` is what both share and
``bandwidth.py`` finds the width of a kernel without labels.
"""

from pinvgcn.embedding.bandwidth import sigma_for_rank
from pinvgcn.embedding.base import Eigenmap
from pinvgcn.embedding.gaussian import GaussianEigenmap
from pinvgcn.embedding.hypergraph import HypergraphEigenmap

__all__ = ["Eigenmap", "GaussianEigenmap", "HypergraphEigenmap", "sigma_for_rank"]
