"""A stack of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from pinvgcn.checks import check_count, check_fraction
from pinvgcn.nn.conv import PinvConv
from pinvgcn.nn.dropout import DropoutKey, dropout
from pinvgcn.nn.filters import FilterBasis
from pinvgcn.spectra import Spectrum


@dataclass(frozen=True)
class Input:
    """What does not change in training: the first layer's products with the features.

    The cheaper of two forms: all products 𝒦^(k)X, (n, K N₀), or X with C = VᵀX.
    """

    products: Tensor | None
    X: Tensor | None
    C: Tensor | None


class PinvGCN(nn.Module):
    """X^(l) = ReLU(Σ_k 𝒦^(k) X^(l−1) W^(l,k) + b^(l)), the last layer without ReLU: class scores.

    Parameters
    ----------
    spectrum : Spectrum
        Of the graph whose nodes are classified.
    in_features, n_classes : int
        Channels before the first and after the last layer.
    hidden : int or sequence of int
        Channels between layers; one number gives the paper's two layers, () a single layer.
    dropout : float
        The share of hidden entries set to zero in training.
    filters : str or (α, β, γ)
        The filter space, see ``FilterBasis``.
    generator : torch.Generator, optional
        Source of the initial weights; the process-wide one by default.
    """

    V: Tensor

    def __init__(
        self,
        spectrum: Spectrum,
        in_features: int,
        n_classes: int,
        *,
        hidden: int | Sequence[int] = 32,
        dropout: float = 0.5,
        filters: Any = "three-part",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.filter_basis = FilterBasis.of(spectrum, filters)
        self.dropout = check_fraction("dropout", dropout)
        between = [check_count("hidden", h) for h in (hidden if isinstance(hidden, Sequence) else [hidden])]
        widths = [in_features, *between, n_classes]
        self.convs = nn.ModuleList(
            PinvConv(before, after, self.filter_basis, generator) for before, after in pairwise(widths)
        )
        self.register_buffer(
            "V", torch.tensor(spectrum.basis, dtype=torch.get_default_dtype()), persistent=False
        )

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """New weights in every layer."""
        for conv in self.convs:
            conv.reset_parameters(generator)  # type: ignore[operator]

    def prepare(self, X: Tensor) -> Input:
        """Compute once what the first layer needs of the features X (n, N₀)."""
        conv = self.convs[0]
        assert isinstance(conv, PinvConv)
        # in double precision: the high-pass part subtracts numbers that may be large and nearly equal
        V = self.V.double()
        if len(self.filter_basis) * X.shape[1] <= V.shape[1] + X.shape[1]:
            return Input(conv.products(X.double(), V).to(self.V), None, None)
        return Input(None, X.to(self.V), (V.T @ X.double()).to(self.V))

    def forward(
        self, X: Tensor | Input, rows: Tensor | None = None, key: tuple[int, int] | None = None
    ) -> Tensor:
        """Class scores of all nodes, or of those in ``rows``: (n or len(rows), classes).

        Only the last layer is restricted to rows: every hidden layer sums over all nodes. ``key`` = (seed,
        epoch) fixes the dropout masks of training; without it PyTorch's generator draws them.
        """
        first = X if isinstance(X, Input) else self.prepare(X)
        H: Tensor | None = None
        for layer, conv in enumerate(self.convs):
            some = slice(None) if rows is None or layer < len(self.convs) - 1 else rows
            if layer == 0:
                if first.products is not None:
                    H = conv.from_products(first.products[some])  # type: ignore[operator]
                else:
                    assert first.X is not None
                    H = conv(first.X[some], self.V[some], first.C)
            else:
                assert H is not None
                whose = None if key is None else DropoutKey(*key, layer)
                H = dropout(torch.relu(H), self.dropout if self.training else 0.0, whose)
                H = conv(H[some], self.V[some], self.V.T @ H)
        assert H is not None
        return H
