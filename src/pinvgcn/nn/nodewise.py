"""Trained networks as functions of one node at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.nn.model import PinvGCN
from pinvgcn.nn.problem import Basis

CHUNK = 65_536  # nodes that are summed at a time
ROWS = 1_024  # nodes that a thread evaluates at a time: their hidden features stay in the cache
LANES = 128  # nodes whose sums stay in the fastest cache


class NodeLayer(NamedTuple):
    """x ↦ v M + x N + b for a node with features x and basis values v.

    M = Σ_k diag(g_k) (VᵀX) W^(k) holds all that the node needs to know of the others.
    """

    spectral: np.ndarray  # M: (k + r, N₁)
    direct: np.ndarray  # N: (N₀, N₁)
    bias: np.ndarray  # b: (N₁,)


def fold(
    network: PinvGCN, X: Any, V: Basis, weights: np.ndarray | None = None, *, sums: np.ndarray | None = None
) -> tuple[NodeLayer, ...]:
    """Sum each layer over the training nodes of all processes; features X (n, N₀), basis V (n, k + r) here.

    X may be sparse. A node with weight ω counts ω times. ``sums`` is Vᵀ diag(ω) X of all processes, if it is
    known: it is that of any network. In double precision: nodes of training and nodes
    never seen then go through the same arithmetic.
    """
    basis = network.filter_basis
    layers: list[NodeLayer] = []
    for conv in network.layers:
        W = conv.weights.detach().cpu().double().numpy()
        C = sums
        if C is None or layers:
            C = np.zeros((V.width, W.shape[1]))
            for rows in ranges(len(V), CHUNK):
                hidden = np.maximum(apply_layers(layers, X[rows], V[rows]), 0) if layers else X[rows]
                C += V[rows].adjoint(hidden if weights is None else sp.diags_array(weights[rows]) @ hidden)
            C = V.group.sum(C)
        spectral = np.einsum("kp,pi,kij->pj", basis.gains, C, W, optimize=True)
        direct = np.einsum("k,kij->ij", basis.high, W)
        layers.append(NodeLayer(spectral, direct, conv.bias.detach().cpu().double().numpy()))
    return tuple(layers)


def apply_layers(layers: Sequence[NodeLayer], X: Any, V: Basis) -> np.ndarray:
    """The last layer's output at nodes with features X (m, N₀), dense or sparse, and basis V (m, k + r)."""
    return apply_networks([layers], X, V)[0]


def apply_networks(
    networks: Sequence[Sequence[NodeLayer]], X: Any, V: Basis, *, log_proba: bool = False
) -> np.ndarray:
    """``apply_layers`` of networks j of equal shape, or log softmax of it: (j, m, classes).

    Their layers stand side by side: one product gives all that a node's own features and basis values add to
    any layer of any network, and what remains are the small products from layer to layer.

    In double precision. Rows seen again must have the sets of classes that they had, and several processes
    the probabilities of one: single precision would keep neither, as its rounding jumps.
    """
    depths = list(zip(*networks, strict=True))
    ends = np.cumsum([0, *(sum(len(layer.bias) for layer in same) for same in depths)])
    spectral = np.hstack([layer.spectral for same in depths for layer in same])
    factor, spectral = V.F, spectral if V.Z is None else V.Z @ spectral
    first = np.hstack([layer.direct for layer in depths[0]])
    later = [np.stack([layer.direct for layer in same]) for same in depths[1:]]
    bias = np.concatenate([layer.bias for same in depths for layer in same])
    beside = np.zeros((len(first), len(bias) - first.shape[1]))
    joined = np.vstack([np.hstack([first, beside]), spectral, bias]).T.copy()
    dense = not sp.issparse(X) and not sp.issparse(factor)
    result = np.empty((len(networks), len(V), len(networks[0][-1].bias)))
    errors = np.geterr()  # of the caller: other threads do not have it

    def work(rows: slice) -> None:
        """Transposed, (features, rows): all steps then go along rows, and are as long as these."""
        with np.errstate(**errors):
            if dense:
                count = rows.stop - rows.start
                H = joined @ np.concatenate([X[rows], factor[rows], np.ones((count, 1))], axis=1).T
            else:
                by_node = factor[rows] @ spectral + bias
                by_node[:, : ends[1]] += X[rows] @ first
                H = by_node.T.copy()
            for direct, begin, middle, end in zip(later, ends, ends[1:], ends[2:], strict=False):
                _add_layer(H[begin:middle], direct, H[middle:end])
            scores = H[ends[-2] :].reshape(len(networks), -1, H.shape[1])
            if log_proba:
                scores -= scores.max(axis=1, keepdims=True)
                scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
            result[:, rows] = scores.transpose(0, 2, 1)

    for_all(work, ranges(len(V), ROWS))
    return result


@compiled
def _add_layer(hidden: np.ndarray, direct: np.ndarray, out: np.ndarray) -> None:
    """out_j += N_jᵀ max(H_j, 0) of each network: ``hidden`` (j · a, m), N (j, a, b), ``out`` (j · b, m)."""
    networks, a, b = direct.shape
    for begin in range(0, hidden.shape[1], LANES):
        end = min(begin + LANES, hidden.shape[1])
        for j in range(networks):
            for i in range(a):
                source = hidden[j * a + i, begin:end]
                for c in range(b):
                    weight, target = direct[j, i, c], out[j * b + c, begin:end]
                    for k in range(end - begin):
                        value = source[k]  # what is not a number is kept
                        target[k] += weight * (0.0 if value < 0 else value)
