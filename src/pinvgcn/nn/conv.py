"""The graph convolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pinvgcn.nn.filters import FilterBasis


class PinvConv(nn.Module):
    """Y = Σ_k 𝒦^(k) X W^(k) + b with 𝒦^(k) = U φ^(k)(Λ) Uᵀ, from "Pseudoinverse Graph Convolutional
    Networks" (Alfke and Stoll, 2021), equation 2.2 of docs/maths.md, computed in the factored form

        Y = V Σ_k diag(g_k) (VᵀX) W^(k) + X Σ_k c_k W^(k) + b,    V = [U₀ U_r],

    where c_k is the value of φ^(k) beyond λ_r and g_k + c_k its values on V. No n × n matrix is formed.

    Parameters
    ----------
    in_features, out_features : int
        N₀ and N₁.
    filter_basis : FilterBasis
        The functions φ^(k).
    generator : torch.Generator, optional
        Source of the initial weights; the process-wide one by default.

    Shapes
    ------
    X : (n, N₀);  V : (n, k + r);  Y : (n, N₁);  ``weights`` : (K, N₀, N₁)
    """

    gains: Tensor
    high: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        filter_basis: FilterBasis,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.empty(len(filter_basis), in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        # in double precision whatever the weights are: ``conv.double()`` is then exact
        self.register_buffer("gains", torch.tensor(filter_basis.gains))
        self.register_buffer("high", torch.tensor(filter_basis.high))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Glorot's uniform weights for each W^(k), zero bias."""
        for weight in self.weights:
            nn.init.xavier_uniform_(weight, generator=generator)
        nn.init.zeros_(self.bias)

    def forward(self, X: Tensor, V: Tensor, C: Tensor | None = None) -> Tensor:
        """The convolution at the nodes whose rows of X and V are given.

        ``C`` = VᵀX summed over *all* nodes of the graph, (k + r, N₀); computed here when the rows are all
        nodes, passed in when they are some of them or new ones.
        """
        if C is None:
            C = V.T @ X
        return V @ self.spectral(C) + X @ self.direct() + self.bias

    def spectral(self, C: Tensor) -> Tensor:
        """Σ_k diag(g_k) C W^(k): (k + r, N₁), what V multiplies."""
        return scaled(self.gains, C) @ self.weights.flatten(0, 1)

    def direct(self) -> Tensor:
        """Σ_k c_k W^(k): (N₀, N₁), what X multiplies."""
        return torch.tensordot(self.high.to(self.weights), self.weights, dims=1)

    def products(self, X: Tensor, V: Tensor) -> Tensor:
        """[𝒦^(1)X … 𝒦^(K)X]: (n, K N₀). Constant in training if X is, so the first layer computes it once."""
        C = V.T @ X
        gains, constants = self.gains.to(V), self.high.to(V)
        parts = [V @ (gain[:, None] * C) + high * X for gain, high in zip(gains, constants, strict=True)]
        return torch.cat(parts, dim=1)

    def from_products(self, P: Tensor) -> Tensor:
        """Y from the output of ``products``, for any of its rows."""
        return P @ self.weights.flatten(0, 1) + self.bias


def scaled(gains: Tensor, C: Tensor) -> Tensor:
    """[diag(g_1) C … diag(g_K) C]: (k + r, K N₀), of gains g (K, k + r)."""
    return (gains.T.to(C)[:, :, None] * C[:, None, :]).flatten(1)
