"""The graph convolution, of one graph or of a batch of them with their spectra side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pinvgcn.errors import GraphError, ParameterError
from pinvgcn.nn.filters import FilterBasis, parse_filters
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


class PinvConv(nn.Module):
    """Y = Σ_k 𝒦^(k) X W^(k) + b with 𝒦^(k) = U φ^(k)(Λ) Uᵀ, from "Pseudoinverse Graph Convolutional
    Networks" (Alfke and Stoll, 2021), equation 2.2 of docs/maths.md, computed in the factored form

        Y = V Σ_k diag(g_k) (VᵀX) W^(k) + X Σ_k c_k W^(k) + b,    V = [U₀ U_r],

    where c_k is the value of φ^(k) beyond λ_r and g_k + c_k its values on V. No n × n matrix is formed.

    Parameters
    ----------
    in_features, out_features : int
        N₀ and N₁.
    filters : FilterBasis, str or (α, β, γ)
        The functions φ^(k): on the spectrum of one graph, or a choice of ``FilterBasis`` for any graphs,
        which then come as a ``SpectrumBatch``.
    generator : torch.Generator, optional
        Source of the initial weights; the process-wide one by default.

    Shapes
    ------
    X : (n, N₀);  V : (n, k + r);  Y : (n, N₁);  ``weights`` : (K, N₀, N₁)

    Examples
    --------
    >>> import torch
    >>> from pinvgcn import GaussianGraph
    >>> from pinvgcn.nn import PinvConv, SpectrumBatch
    >>> clouds = [torch.rand(n, 3).numpy() for n in (40, 60)]
    >>> spectra = SpectrumBatch.from_spectra([GaussianGraph(cloud, 1.0).spectrum(5) for cloud in clouds])
    >>> PinvConv(3, 8)(torch.rand(100, 3), spectra).shape
    torch.Size([100, 8])
    """

    parts: Tensor
    gains: Tensor | None
    high: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        filters: Any = "three-part",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        known = filters if isinstance(filters, FilterBasis) else None
        parts = parse_filters(filters)[1] if known is None else known.parts
        self.weights = nn.Parameter(torch.empty(len(parts), in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        # in double precision whatever the weights are: ``conv.double()`` is then exact
        self.register_buffer("parts", torch.tensor(parts))
        self.register_buffer("gains", None if known is None else torch.tensor(known.gains))
        self.register_buffer("high", None if known is None else torch.tensor(known.high))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Glorot's uniform weights for each W^(k), zero bias."""
        for weight in self.weights:
            nn.init.xavier_uniform_(weight, generator=generator)
        nn.init.zeros_(self.bias)

    def forward(self, X: Tensor, V: Tensor | SpectrumBatch, C: Tensor | None = None) -> Tensor:
        """The convolution at the nodes whose rows of X and V are given, or at all nodes of a batch of graphs.

        ``C`` = VᵀX summed over *all* nodes of the graph, (k + r, N₀); computed here when the rows are all
        nodes, passed in when they are some of them or new ones.
        """
        if isinstance(V, SpectrumBatch):
            return self._of_batch(X, V)
        if C is None:
            C = V.T @ X
        return V @ self.spectral(C) + X @ self.direct() + self.bias

    def _of_batch(self, X: Tensor, spectra: SpectrumBatch) -> Tensor:
        """Each graph by its own spectrum: φ(λ_i) = β λ₁/λ_i on U_r, α on U₀ and γ λ₁ beyond."""
        alpha, beta, gamma = self.parts.to(X).T  # (K,) each
        values = spectra.values.to(X)
        gap = values[:, :1]  # λ₁: (B, 1)
        high = gap * gamma  # (B, K)
        gains = beta[:, None] * (gap / values)[:, None] - high[..., None]  # (B, K, r)
        weights = self.weights.flatten(0, 1)  # (K N₀, N₁)
        C = (gains.mT[..., None] * spectra.adjoint(X)[:, :, None]).flatten(2) @ weights  # (B, r, N₁)
        at_nodes, constant = high[spectra.batch], (alpha - high)[spectra.batch]  # (N, K)
        beside = at_nodes[..., None] * X[:, None] + constant[..., None] * spectra.null_part(X)[:, None]
        return spectra.times(C) + beside.flatten(1) @ weights + self.bias

    def spectral(self, C: Tensor) -> Tensor:
        """Σ_k diag(g_k) C W^(k): (k + r, N₁), what V multiplies."""
        return scaled(self._known(self.gains), C) @ self.weights.flatten(0, 1)

    def direct(self) -> Tensor:
        """Σ_k c_k W^(k): (N₀, N₁), what X multiplies."""
        return torch.tensordot(self._known(self.high).to(self.weights), self.weights, dims=1)

    def products(self, X: Tensor, V: Tensor) -> Tensor:
        """[𝒦^(1)X … 𝒦^(K)X]: (n, K N₀). Constant in training if X is, so the first layer computes it once."""
        C = V.T @ X
        gains, constants = self._known(self.gains).to(V), self._known(self.high).to(V)
        parts = [V @ (gain[:, None] * C) + high * X for gain, high in zip(gains, constants, strict=True)]
        return torch.cat(parts, dim=1)

    def from_products(self, P: Tensor) -> Tensor:
        """Y from the output of ``products``, for any of its rows."""
        return P @ self.weights.flatten(0, 1) + self.bias

    @staticmethod
    def _known(buffer: Tensor | None) -> Tensor:
        """What the layer keeps of the spectrum of one graph."""
        if buffer is None:
            raise ParameterError(
                "A PinvConv that was made without a FilterBasis needs a SpectrumBatch. Got a tensor V."
            )
        return buffer


def scaled(gains: Tensor, C: Tensor) -> Tensor:
    """[diag(g_1) C … diag(g_K) C]: (k + r, K N₀), of gains g (K, k + r)."""
    return (gains.T.to(C)[:, :, None] * C[:, None, :]).flatten(1)
