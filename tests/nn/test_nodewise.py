"""A trained network as a function of one node: the same numbers, in any chunks, at any nodes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinvgcn.nn import Basis, PinvGCN, nodewise
from pinvgcn.nn.nodewise import apply_layers, fold


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
    net = network(case, hidden, choice[0])
    X = np.random.default_rng(3).normal(size=(case.n, 3)) + 10
    V = Basis(case.spectrum.basis)
    layers = fold(net, X, V)
    expected = net(torch.from_numpy(X)).detach().numpy()
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(apply_layers(layers, X, V), expected, rtol=0, atol=1e-10 * scale)


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
