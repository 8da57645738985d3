"""The basis V of a spectrum, in the form that is cheapest to multiply with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import rows_of_all
from pinvgcn.spectra import IncidenceExtension, Spectrum

SPARSE_COST = 3  # what an entry of a sparse product costs, in entries of a dense one


@dataclass(frozen=True)
class Basis:
    """V = F Z: (n, k + r), F with a row a node, Z small, or V = F without Z.

    The basis of a table is D^(−1/2) H times a small matrix (docs/maths.md, 5.1), and H has an entry for each
    attribute of a row where V has k + r: V itself is then never formed.
    """

    F: Any  # (n, q) array or scipy sparse array
    Z: np.ndarray | None = None  # (q, k + r)
    group: Group = ALONE  # the processes that share the nodes

    @classmethod
    def of(cls, spectrum: Spectrum, incidence: Any = None, *, nodes: np.ndarray | None = None) -> Basis:
        """V of this process's nodes, or of some of them, factored where there is an incidence matrix and
        that pays for all processes."""
        group = spectrum.group
        if incidence is not None:
            H = incidence if nodes is None else incidence[nodes]
            entries, rows = group.sum(np.array([H.nnz, H.shape[0]])).tolist()
            width = spectrum.components + spectrum.rank
            # with more hyperedges than rows, Z is no longer small; and every rank multiplies with it
            if SPARSE_COST * entries + group.size * H.shape[1] * width <= rows * width:
                extension = spectrum.extension
                assert isinstance(extension, IncidenceExtension)
                return cls(extension.factor(H), extension.coefficients, group)
        return cls(spectrum.basis if nodes is None else spectrum.basis[nodes], group=group)

    @property
    def width(self) -> int:
        """k + r"""
        return int((self.F if self.Z is None else self.Z).shape[1])

    def __len__(self) -> int:
        return int(self.F.shape[0])

    def __getitem__(self, rows: Any) -> Basis:
        return Basis(self.F[rows], self.Z, self.group)

    def of_all(self) -> Basis:
        """The rows of all processes, of which each has a few."""
        return Basis(rows_of_all(self.F, self.group), self.Z)

    def __matmul__(self, M: np.ndarray) -> np.ndarray:
        """V M"""
        product: np.ndarray = self.F @ (M if self.Z is None else self.Z @ M)
        return product

    def adjoint(self, X: Any) -> np.ndarray:
        """VᵀX, X dense or sparse."""
        gathered = self.F.T @ X
        if sp.issparse(gathered):
            gathered = gathered.toarray()
        product: np.ndarray = gathered if self.Z is None else self.Z.T @ gathered
        return product
