"""Eigenvalues and eigenvectors of graph Laplacians.

``spectrum.py`` is the value that travels; ``eigenpairs.py`` finds the pairs of any matrix, and
``kernel_solvers.py`` those of a Gaussian graph. ``extension.py`` evaluates eigenvectors at nodes never
seen, and ``functions.py`` makes them such that this evaluation returns them exactly; ``operator.py``
measures how exact pairs are. Another solver of Gaussian graphs is a function in ``kernel_solvers.py``, with
its cost in ``graphs/choice.py``.
"""

from pinvgcn.spectra.eigenpairs import dense_eigenpairs, heat_eigenpairs, krylov_eigenpairs
from pinvgcn.spectra.extension import IncidenceExtension, KernelExtension
from pinvgcn.spectra.spectrum import Spectrum

__all__ = [
    "IncidenceExtension", "KernelExtension", "Spectrum", "dense_eigenpairs", "heat_eigenpairs",
    "krylov_eigenpairs",
]  # fmt: skip
