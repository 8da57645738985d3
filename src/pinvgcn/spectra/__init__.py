"""Eigenvalues and eigenvectors of graph Laplacians.

``spectrum.py`` is the value that travels; ``krylov.py`` and ``dense.py`` find the pairs;
``extension.py`` evaluates eigenvectors at nodes never seen, and ``kernel_pairs.py`` makes the
eigenvectors of a Gaussian graph such that this evaluation returns them exactly.
"""

from pinvgcn.spectra.dense import dense_eigenpairs
from pinvgcn.spectra.extension import IncidenceExtension, KernelExtension
from pinvgcn.spectra.krylov import heat_eigenpairs, krylov_eigenpairs
from pinvgcn.spectra.spectrum import Spectrum

__all__ = [
    "IncidenceExtension",
    "KernelExtension",
    "Spectrum",
    "dense_eigenpairs",
    "heat_eigenpairs",
    "krylov_eigenpairs",
]
