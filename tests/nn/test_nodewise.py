"""A trained network as a function of one node: the same numbers, in any chunks, at any nodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import log_softmax

from pinvgcn.nn import Basis, PinvGCN, nodewise
from pinvgcn.nn.nodewise import NodeLayer, apply_layers, apply_networks, fold


def network(case, hidden, filters, inputs=3) -> PinvGCN:
    generator = torch.Generator().manual_seed(0)
    net = PinvGCN(case.spectrum, inputs, 4, hidden=hidden, filters=filters, generator=generator)
    with torch.no_grad():
        for conv in net.convs:
            conv.bias.normal_(generator=generator)
    return net.eval()


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("chunk", [5, 65_536])
@pytest.mark.parametrize("hidden", [(), (6, 5)], ids=str)
def test_folded_layers_equal_the_network(case, choice, hidden, chunk, monkeypatch):
    monkeypatch.setattr(nodewise, "CHUNK", chunk)
    monkeypatch.setattr(nodewise, "ROWS", chunk)
    net = network(case, hidden, choice[0])
    X = np.random.default_rng(3).normal(size=(case.n, 3)) + 10
    V = Basis(case.spectrum.basis)
    layers = fold(net, X, V)
    expected = net(torch.from_numpy(X)).detach().numpy()
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(apply_layers(layers, X, V), expected, rtol=0, atol=1e-10 * scale)
    known = fold(net, X, V, sums=V.total(X))
    for layer, same in zip(layers, known, strict=True):
        np.testing.assert_allclose(same.spectral, layer.spectral, rtol=1e-12, atol=1e-10 * scale)


@pytest.mark.usefixtures("double")
def test_nodes_never_seen_follow_the_same_formula(gaussian):
    """A new node reads the sums over the old ones and does not change them."""
    net = network(gaussian, (6,), "three-part")
    rng = np.random.default_rng(4)
    X, V = rng.normal(size=(gaussian.n, 3)), gaussian.spectrum.basis
    new_X, new_V = rng.normal(size=(9, 3)), rng.normal(size=(9, V.shape[1]))
    basis = net.filter_basis

    def convolve(conv, C, x, v):
        W = conv.weights.detach().numpy()
        parts = [(v * basis.gains[k]) @ C @ W[k] + basis.high[k] * x @ W[k] for k in range(3)]
        return sum(parts) + conv.bias.detach().numpy()

    first, second = net.convs
    hidden = np.maximum(convolve(first, V.T @ X, X, V), 0)
    new_hidden = np.maximum(convolve(first, V.T @ X, new_X, new_V), 0)
    expected = convolve(second, V.T @ hidden, new_hidden, new_V)
    got = apply_layers(fold(net, X, Basis(V)), new_X, Basis(new_V))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_a_network_in_single_precision_is_folded_in_double(gaussian):
    net = network(gaussian, (6,), "three-part")
    X = np.random.default_rng(3).normal(size=(gaussian.n, 3))
    V = Basis(gaussian.spectrum.basis)
    layers = fold(net, X, V)
    assert {array.dtype for layer in layers for array in layer} == {np.dtype(np.float64)}
    scores = apply_layers(layers, X, V)
    np.testing.assert_allclose(scores, net(torch.from_numpy(X)).detach().numpy(), atol=1e-4)


def formula(layers, X, V) -> np.ndarray:
    """v M + x N + b, layer by layer, of all nodes at once."""
    H = X
    for depth, layer in enumerate(layers):
        H = V @ layer.spectral + (np.maximum(H, 0) if depth else H) @ layer.direct + layer.bias
    return H


@pytest.mark.parametrize("widths", [(4, 3), (4, 6, 3), (4, 150, 7, 3)], ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse", "factored"])
def test_several_networks_in_one_pass(widths, kind):
    """Each as the formula says, whatever X and V are made of; and log softmax of them."""
    rng = np.random.default_rng(0)
    networks = [
        [NodeLayer(*map(rng.normal, [0] * 3, [1] * 3, [(5, b), (a, b), b])) for a, b in pairwise(widths)]
        for _ in range(3)
    ]
    X, F, Z = rng.normal(size=(2_500, 4)), rng.normal(size=(2_500, 6)), rng.normal(size=(6, 5))
    V, basis = F @ Z, Basis(sp.csr_array(F), Z) if kind == "factored" else Basis(F @ Z)
    expected = np.stack([formula(layers, X, V) for layers in networks])
    given = X if kind == "dense" else sp.csr_array(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(apply_networks(networks, given, basis), expected, rtol=0, atol=1e-12 * scale)
    logs = apply_networks(networks, given, basis, log_proba=True)
    np.testing.assert_allclose(logs, log_softmax(expected, axis=2), rtol=0, atol=1e-12 * scale)


@pytest.mark.filterwarnings("error")
def test_what_is_no_number_is_not_hidden():
    """By no ReLU; and who has asked for no warning gets none, though other threads do the work."""
    layers = [NodeLayer(np.ones((1, 2)), np.full((1, 2), 1e308), np.zeros(2)) for _ in range(1)]
    layers.append(NodeLayer(np.ones((1, 2)), np.array([[1.0, -1.0], [-1.0, 1.0]]), np.zeros(2)))
    with np.errstate(over="ignore", invalid="ignore"):
        scores = apply_layers(layers, np.full((3_000, 1), 1e10), Basis(np.ones((3_000, 1))))
    assert np.isnan(scores).all()
