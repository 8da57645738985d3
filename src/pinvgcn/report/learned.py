"""What a trained network's filters look like, as numbers.

A layer with ``N_in`` inputs and ``N_out`` outputs has learned ``N_in · N_out`` filter functions
φ_ij(λ) = Σ_k W_ij⁽ᵏ⁾ φ⁽ᵏ⁾(λ) over a basis of a few parts. Two views of them: how much each part is used,
and what the functions do to the eigenvalues of this graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.nn import PinvConv

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class LayerFilters:
    """The learned filters of one layer, at λ = 0, at each eigenvalue, and past the last one."""

    parts: tuple[str, ...]  # the basis functions
    mean_weight: np.ndarray  # (K,) the average of |W⁽ᵏ⁾|, as in the paper's table
    lam: np.ndarray  # (r + 2,)
    quantiles: np.ndarray  # (len(QUANTILES), r + 2) over all filters of the layer
    strongest: np.ndarray  # (s, r + 2) the filters with the largest response to one eigenvalue
    count: int  # how many filters there are


def learned_filters(model: PinvGCNClassifier, *, strongest: int = 6) -> list[LayerFilters]:
    """The filters of each layer of a fitted ``PinvGCNClassifier``."""
    values = np.asarray(model.spectrum_.values, dtype=float)  # (r,)
    last = values[-1] if len(values) else 0.0
    # the high-pass part is constant past λ_r: any eigenvalue in there stands for all of them
    lam = np.concatenate([[0.0], values, [max(1.0, last) + 0.1]])
    basis = np.asarray(model.network_.filter_basis.evaluate(lam), dtype=float)  # (K, r + 2)
    layers = []
    for layer in model.network_.layers:
        flat = _weights(layer)  # (K, N_in · N_out)
        responses = flat.T @ basis  # (N_in · N_out, r + 2)
        order = np.argsort(-np.abs(responses).max(axis=1), kind="stable")
        layers.append(
            LayerFilters(
                parts=tuple(model.network_.filter_basis.names),
                mean_weight=np.abs(flat).mean(axis=1),
                lam=lam,
                quantiles=np.quantile(responses, QUANTILES, axis=0),
                strongest=responses[order[:strongest]],
                count=len(responses),
            )
        )
    return layers


def mean_weights(model: PinvGCNClassifier) -> dict[str, float]:
    """μ_k = 1/L Σ_l mean |W⁽ˡ'ᵏ⁾|: how much a fitted ``PinvGCNClassifier`` uses each part of its filters."""
    sizes = np.mean([np.abs(_weights(layer)).mean(axis=1) for layer in model.network_.layers], axis=0)
    return dict(zip(model.network_.filter_basis.names, sizes.tolist(), strict=True))


def _weights(layer: PinvConv) -> np.ndarray:
    weights = layer.weights.detach().cpu().double().numpy()  # (K, N_in, N_out)
    flat: np.ndarray = weights.reshape(len(weights), -1)
    return flat
