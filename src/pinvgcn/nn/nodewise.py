"""A trained network as a function of one node at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pinvgcn.nn.conv import PinvConv
from pinvgcn.nn.model import PinvGCN

CHUNK = 65_536  # nodes at a time


class NodeLayer(NamedTuple):
    """x ↦ v M + x N + b for a node with features x and basis values v.

    M = Σ_k diag(g_k) (VᵀX) W^(k) holds all that the node needs to know of the others.
    """

    spectral: np.ndarray  # M: (k + r, N₁)
    direct: np.ndarray  # N: (N₀, N₁)
    bias: np.ndarray  # b: (N₁,)


def fold(network: PinvGCN, X: np.ndarray, V: np.ndarray) -> tuple[NodeLayer, ...]:
    """Sum each layer over the training nodes, features X (n, N₀) and basis V (n, k + r).

    In double precision: nodes of training and nodes never seen then go through the same arithmetic.
    """
    basis = network.filter_basis
    layers: list[NodeLayer] = []
    for conv in network.convs:
        assert isinstance(conv, PinvConv)
        W = conv.weights.detach().cpu().double().numpy()
        C = np.zeros((V.shape[1], W.shape[1]))
        for rows in _chunks(len(X)):
            hidden = np.maximum(apply_layers(layers, X[rows], V[rows]), 0) if layers else X[rows]
            C += V[rows].T @ hidden
        spectral = np.einsum("kp,pi,kij->pj", basis.gains, C, W, optimize=True)
        direct = np.einsum("k,kij->ij", basis.high, W)
        layers.append(NodeLayer(spectral, direct, conv.bias.detach().cpu().double().numpy()))
    return tuple(layers)


def apply_layers(layers: Sequence[NodeLayer], X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The output of the last layer at nodes with features X (m, N₀) and basis values V (m, k + r)."""
    result = np.empty((len(X), len(layers[-1].bias)))
    for rows in _chunks(len(X)):
        H = X[rows]
        for depth, layer in enumerate(layers):
            if depth:
                H = np.maximum(H, 0)
            H = V[rows] @ layer.spectral + H @ layer.direct + layer.bias
        result[rows] = H
    return result


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, n, CHUNK))
