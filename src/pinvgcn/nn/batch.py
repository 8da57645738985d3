"""The spectra of several graphs, side by side: what a convolution needs to know of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinvgcn.errors import GraphError
from pinvgcn.spectra import Spectrum

NULL = 1e-14  # entries of unit vectors at or below this are rounding
NAMES = ("laplacian_eigenvalue", "laplacian_null_index", "laplacian_null_value")  # on a ``Data`` object
PE = "laplacian_eigenvector_pe"  # and the vectors, by the name that PyTorch Geometric gives them


class SpectrumBatch:
    """[U₀ U_r] and λ of B graphs with N nodes in all, node by node and graph by graph.

    Where a graph has fewer than r eigenvectors the last columns are zeros, with λ = 1. Null vectors are kept
    by their entries, because graphs may have any number of them.

    Parameters
    ----------
    vectors : (N, r) tensor
    values : (B, r) tensor
    null_index, null_value : (2, entries) and (entries,) tensors
        Entry e of U₀ is ``null_value[e]``, at node ``null_index[0, e]`` in the null vector with the number
        ``null_index[1, e]``, from 0 to N − 1.
    batch : (N,) tensor
        The graph that each node belongs to, ascending.
    """

    def __init__(
        self, vectors: Tensor, values: Tensor, null_index: Tensor, null_value: Tensor, batch: Tensor
    ) -> None:
        if (batch.diff() < 0).any():
            raise GraphError("The nodes of a batch must be sorted by graph. Got a batch vector that falls.")
        self.vectors, self.values, self.batch = vectors, values, batch
        self.null_index, self.null_value = null_index, null_value
        sizes = torch.bincount(batch, minlength=len(values))
        self._widest = int(sizes.max())
        first = self._widest * batch - (sizes.cumsum(0) - sizes)[batch]
        self._slots = first + torch.arange(len(batch), device=batch.device)  # in a padded array: (N,)
        self._padded = self._pad(vectors)

    def __repr__(self) -> str:
        graphs, rank = self.values.shape
        return f"SpectrumBatch({graphs} graphs, {len(self.batch)} nodes, rank={rank})"

    @classmethod
    def of(cls, data: Any, attr_name: str = PE) -> SpectrumBatch:
        """Of a ``Data`` or ``Batch`` object, as the transforms of ``pinvgcn.pyg`` leave it."""
        missing = [name for name in (attr_name, *NAMES) if getattr(data, name, None) is None]
        if missing:
            raise GraphError(
                f"data must have {missing[0]}, as AddGaussianEigenvectors, AddHypergraphEigenvectors or "
                f"AddSparseEigenvectors give it. Got {data!r} instead."
            )
        vectors, values, null_index, null_value = (data[name] for name in (attr_name, *NAMES))
        batch = getattr(data, "batch", None)
        if batch is None:
            batch = torch.zeros(len(vectors), dtype=torch.long, device=vectors.device)
        return cls(vectors, values, null_index, null_value, batch)

    @classmethod
    def from_spectra(cls, spectra: Sequence[Spectrum], *, rank: int | None = None) -> SpectrumBatch:
        """Of graphs one after the other, each with ``rank`` columns, by default as many as the most have."""
        width = max(1, *(spectrum.rank for spectrum in spectra)) if rank is None else rank
        sizes = np.array([spectrum.n_nodes for spectrum in spectra])
        starts = np.cumsum(sizes) - sizes
        vectors, values = np.zeros((sizes.sum(), width)), np.ones((len(spectra), width))
        indices, entries = [], []
        for graph, (spectrum, start) in enumerate(zip(spectra, starts, strict=True)):
            own = min(spectrum.rank, width)
            vectors[start : start + spectrum.n_nodes, :own] = spectrum.vectors[:, :own]
            values[graph, :own] = spectrum.values[:own]
            there = np.nonzero(np.abs(spectrum.null_vectors) > NULL)
            indices.append(np.stack(there) + start)
            entries.append(spectrum.null_vectors[there])
        like = torch.get_default_dtype()
        return cls(
            torch.from_numpy(vectors).to(like),
            torch.from_numpy(values).to(like),
            torch.from_numpy(np.concatenate(indices, axis=1)),
            torch.from_numpy(np.concatenate(entries)).to(like),
            torch.from_numpy(np.repeat(np.arange(len(spectra)), sizes)),
        )

    def _pad(self, X: Tensor) -> Tensor:
        """X (N, q) graph by graph, with zeros after the nodes of the smaller ones: (B, widest, q)."""
        graphs = len(self.values)
        rows = X.new_zeros(graphs * self._widest, X.shape[1]).index_copy(0, self._slots, X)
        return rows.view(graphs, self._widest, X.shape[1])

    def adjoint(self, X: Tensor) -> Tensor:
        """U_rᵀX of each graph: (B, r, q)."""
        return self._padded.to(X).mT @ self._pad(X)

    def times(self, C: Tensor) -> Tensor:
        """U_r C of each graph, C (B, r, q): (N, q)."""
        return (self._padded.to(C) @ C).flatten(0, 1)[self._slots]

    def null_part(self, X: Tensor) -> Tensor:
        """U₀U₀ᵀX: (N, q)."""
        node, vector = self.null_index
        entries = self.null_value.to(X)[:, None]
        sums = torch.zeros_like(X).index_add(0, vector, entries * X[node])
        return torch.zeros_like(X).index_add(0, node, entries * sums[vector])
