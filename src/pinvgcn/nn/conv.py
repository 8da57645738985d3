"""The graph convolution."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pinvgcn.errors import ParameterError
from pinvgcn.nn.batch import SpectrumBatch
from pinvgcn.nn.filters import FilterBasis, parse_filters


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
