"""Spectra as features of other people's models: scikit-learn transformers."""

from pinvgcn.embedding.eigenmaps import Eigenmap, GaussianEigenmap, HypergraphEigenmap, sigma_for_rank

__all__ = ["Eigenmap", "GaussianEigenmap", "HypergraphEigenmap", "sigma_for_rank"]
