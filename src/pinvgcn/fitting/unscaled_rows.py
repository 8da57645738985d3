"""Rows of a table before they are scaled: what experts see of them is made for some rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from pinvgcn.experts import Seen
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.nodes import TableNodes
from pinvgcn.nn import Basis
from pinvgcn.spectra import IncidenceExtension, Spectrum


@dataclass(frozen=True)
class UnscaledRows:
    """m rows of a table. All that experts see of them would be several times larger."""

    nodes: TableNodes
    scaling: InputScaling
    spectrum: Spectrum
    incidence: sp.csr_array  # H (m, |E|)
    extra: np.ndarray | None  # (m, …) numbers, and what was handed in beside the table

    def __len__(self) -> int:
        return int(self.incidence.shape[0])

    def take(self, rows: np.ndarray) -> UnscaledRows:
        """Some of the rows."""
        extra = None if self.extra is None else self.extra[rows]
        return replace(self, incidence=self.incidence[rows], extra=extra)

    def at(self, rows: np.ndarray) -> Seen:
        """What experts see of some of the rows."""
        some = self.take(rows)
        inputs = self.scaling(some.incidence, some.extra)
        return Seen(inputs, some.basis, self.nodes.values(inputs, self.scaling))

    @property
    def basis(self) -> Basis:
        """By the extension of the spectrum: (m, k + r)."""
        extension = self.spectrum.extension
        assert isinstance(extension, IncidenceExtension)
        return Basis(extension.factor(self.incidence), extension.coefficients, self.spectrum.group)
