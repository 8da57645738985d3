"""A trained network as a function of one node at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pinvgcn.group import ALONE, Group
from pinvgcn.nn.basis import Basis
from pinvgcn.nn.model import PinvGCN

CHUNK = 65_536  # nodes at a time


class NodeLayer(NamedTuple):
    """x ↦ v M + x N + b for a node with features x and basis values v.

    M = Σ_k diag(g_k) (VᵀX) W^(k) holds all that the node needs to know of the others.
    """

    spectral: np.ndarray  # M: (k + r, N₁)
    direct: np.ndarray  # N: (N₀, N₁)
    bias: np.ndarray  # b: (N₁,)


def fold(
    network: PinvGCN, X: Any, V: Basis, weights: np.ndarray | None = None, *, group: Group = ALONE
) -> tuple[NodeLayer, ...]:
    """Sum each layer over the training nodes of all ranks, features X (n, N₀) and basis V (n, k + r) here.

    X may be sparse. A node with weight ω counts ω times. In double precision: nodes of training and nodes
    never seen then go through the same arithmetic.
    """
    basis = network.filter_basis
    layers: list[NodeLayer] = []
    for conv in network.layers:
        W = conv.weights.detach().cpu().double().numpy()
        C = np.zeros((V.width, W.shape[1]))
        for rows in _chunks(len(V)):
            hidden = np.maximum(apply_layers(layers, X[rows], V[rows]), 0) if layers else X[rows]
            C += V[rows].adjoint(hidden if weights is None else sp.diags_array(weights[rows]) @ hidden)
        C = group.sum(C)
        spectral = np.einsum("kp,pi,kij->pj", basis.gains, C, W, optimize=True)
        direct = np.einsum("k,kij->ij", basis.high, W)
        layers.append(NodeLayer(spectral, direct, conv.bias.detach().cpu().double().numpy()))
    return tuple(layers)


def apply_layers(layers: Sequence[NodeLayer], X: Any, V: Basis) -> np.ndarray:
    """The last layer's output at nodes with features X (m, N₀), dense or sparse, and basis V (m, k + r)."""
    result = np.empty((len(V), len(layers[-1].bias)))
    for rows in _chunks(len(V)):
        H, here = X[rows], V[rows]
        for depth, layer in enumerate(layers):
            if depth:
                H = np.maximum(H, 0)
            H = here @ layer.spectral + H @ layer.direct + layer.bias
        result[rows] = H
    return result


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, n, CHUNK))
