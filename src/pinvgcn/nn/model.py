"""A stack of convolutions, as the formula says; ``hidden.py`` is its fast neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pinvgcn.checks import check_count, check_fraction
from pinvgcn.nn.conv import PinvConv
from pinvgcn.nn.dropout import DropoutKey, dropout
from pinvgcn.nn.filters import FilterBasis
from pinvgcn.spectra import Spectrum


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
        widths = [in_features, *hidden_widths(hidden), n_classes]
        self.convs = nn.ModuleList(
            PinvConv(before, after, self.filter_basis, generator) for before, after in pairwise(widths)
        )
        self._spectrum = spectrum
        self._basis: Tensor | None = None

    @property
    def layers(self) -> list[PinvConv]:
        """The convolutions, first to last."""
        return [conv for conv in self.convs if isinstance(conv, PinvConv)]

    @property
    def V(self) -> Tensor:
        """[U₀ U_r] of all nodes, (n, k + r), like the weights; formed when it is first asked for."""
        like = self.layers[0].bias
        if self._basis is None or (self._basis.dtype, self._basis.device) != (like.dtype, like.device):
            self._basis = torch.from_numpy(self._spectrum.basis).to(like)
        return self._basis

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        for conv in self.layers:
            conv.reset_parameters(generator)

    def forward(self, X: Tensor, rows: Tensor | None = None, key: tuple[int, int] | None = None) -> Tensor:
        """Class scores of all nodes, or of those in ``rows``: (n or len(rows), classes).

        Only the last layer is restricted to rows: every hidden layer sums over all nodes. ``key`` = (seed,
        epoch) fixes the dropout masks of training; without it PyTorch's generator draws them.
        """
        H = X
        for layer, conv in enumerate(self.layers):
            some = slice(None) if rows is None or layer < len(self.convs) - 1 else rows
            if layer == 0:
                # in double precision: the high-pass part subtracts numbers that may be large and nearly equal
                products = conv.products(X.double(), self.V.double()).to(self.V)
                H = conv.from_products(products[some])
            else:
                whose = None if key is None else DropoutKey(*key, layer)
                H = dropout(torch.relu(H), self.dropout if self.training else 0.0, whose)
                H = conv(H[some], self.V[some], self.V.T @ H)
        return H


def hidden_widths(hidden: int | Sequence[int]) -> list[int]:
    """The channels between layers, one number or several."""
    return [check_count("hidden", h) for h in (hidden if isinstance(hidden, Sequence) else [hidden])]


def copy_weights(
    source: PinvGCN, source_classes: np.ndarray, target: PinvGCN, target_classes: np.ndarray
) -> None:
    """Begin where another network is, layer by layer and class by class.

    Classes that the other one does not know keep their own weights, as does a network with other widths.
    """
    if [conv.weights.shape[1] for conv in source.layers] != [conv.weights.shape[1] for conv in target.layers]:
        return
    _, there, here = np.intersect1d(source_classes, target_classes, return_indices=True)
    with torch.no_grad():
        for old, new in zip(source.layers[:-1], target.layers[:-1], strict=True):
            new.load_state_dict(old.state_dict())
        old, new = source.layers[-1], target.layers[-1]
        new.weights[..., here] = old.weights[..., there]
        new.bias[here] = old.bias[there]
