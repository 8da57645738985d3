"""The network against eq:neuralnetwork with dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinvgcn.errors import ParameterError
from pinvgcn.nn import PinvGCN
from pinvgcn.nn.dropout import DropoutKey, keep_mask

DEPTHS = [(), 6, (6, 5, 4)]


def network(case, *, inputs=3, hidden=6, filters="three-part", dropout=0.5, seed=0) -> PinvGCN:
    """With biases that are not zero."""
    generator = torch.Generator().manual_seed(seed)
    net = PinvGCN(
        case.spectrum, inputs, 4, hidden=hidden, filters=filters, dropout=dropout, generator=generator
    )
    with torch.no_grad():
        for conv in net.convs:
            conv.bias.normal_(generator=generator)
    return net.eval()


def features(case, columns=3) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(3).normal(size=(case.n, columns)) + 10)


def dense(case, net, X, parts, masks=None) -> torch.Tensor:
    """X^(l) = ReLU(Σ_k 𝒦^(k) X^(l−1) W^(l,k) + b^(l)), masks after each ReLU, no ReLU at the end."""
    K = case.convolutions(parts)
    H = X
    for layer, conv in enumerate(net.convs):
        if layer:
            H = torch.relu(H)
            if masks is not None:
                H = H * masks[layer - 1] / (1 - net.dropout)
        H = torch.einsum("kmn,ni,kij->mj", K, H, conv.weights) + conv.bias
    return H


def assert_close(a, b, tolerance=1e-10):
    torch.testing.assert_close(a, b, rtol=0, atol=tolerance * max(1.0, float(b.detach().abs().max())))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
def test_any_depth_equals_the_dense_network(case, choice, hidden):
    net, X = network(case, hidden=hidden, filters=choice[0]), features(case)
    assert_close(net(X), dense(case, net, X, choice[1]))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
def test_gradients_equal_those_of_the_dense_network(components, hidden):
    net, X = network(components, hidden=hidden), features(components)
    parts = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    rows = torch.tensor([0, 4, 20])
    targets = torch.tensor([3, 0, 1])
    losses = [
        torch.nn.functional.cross_entropy(scores, targets)
        for scores in (net(X, rows), dense(components, net, X, parts)[rows])
    ]
    gradients = [torch.autograd.grad(loss, list(net.parameters())) for loss in losses]
    for got, expected in zip(*gradients, strict=True):
        assert_close(got, expected)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("hidden", DEPTHS, ids=str)
@pytest.mark.parametrize("inputs", [2, 40])
def test_rows_are_rows_of_the_whole(gaussian, hidden, inputs):
    net, X = network(gaussian, inputs=inputs, hidden=hidden), features(gaussian, inputs)
    rows = torch.tensor([7, 0, 39, 7])
    assert_close(net(X, rows), net(X)[rows], 1e-13)


def test_single_precision_is_close(gaussian):
    """The first products are formed in double precision: an offset of 10⁴ costs no more than its rounding."""
    net = network(gaussian)
    X = features(gaussian) + 1e4
    expected = dense(gaussian, net.double(), X, [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    assert_close(net.float()(X).double(), expected, 1e-5)
    assert net(X).dtype == torch.float32


def test_a_network_made_double_has_every_digit_of_the_basis(gaussian):
    net = network(gaussian)
    assert net.V.dtype == torch.float32
    np.testing.assert_array_equal(net.double().V, gaussian.spectrum.basis)
    assert net.float().V.dtype == torch.float32


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
def test_dropout_sits_between_the_layers(components, p):
    net, X = network(components, hidden=(6, 5), dropout=p).train(), features(components)
    masks = [
        keep_mask(torch.arange(components.n), width, p, DropoutKey(11, 4, layer)) if p else 1.0
        for layer, width in ((1, 6), (2, 5))
    ]
    expected = dense(components, net, X, [(1, 0, 0), (0, 1, 0), (0, 0, 1)], masks)
    assert_close(net(X, None, (11, 4)), expected)
    rows = torch.tensor([3, 17])
    assert_close(net(X, rows, (11, 4)), expected[rows])


def test_no_dropout_in_evaluation(gaussian):
    net, X = network(gaussian, dropout=0.9), features(gaussian)
    assert torch.equal(net(X, None, (0, 0)), net(X, None, (0, 1)))
    net.train()
    assert not torch.equal(net(X, None, (0, 0)), net(X, None, (0, 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": 0}, "hidden must be a whole number, 1 or more. Got 0 instead."),
        ({"hidden": -3}, "hidden must be a whole number, 1 or more. Got -3 instead."),
        ({"hidden": (8, 0)}, "hidden must be a whole number, 1 or more. Got 0 instead."),
        ({"hidden": 2.5}, "hidden must be a whole number, 1 or more. Got 2.5 instead."),
        ({"hidden": "32"}, "hidden must be a whole number, 1 or more. Got '3' instead."),
        ({"dropout": 1}, "dropout must be a number from 0 to below 1. Got 1 instead."),
        ({"dropout": -0.1}, "dropout must be a number from 0 to below 1. Got -0.1 instead."),
        ({"dropout": float("nan")}, "dropout must be a number from 0 to below 1. Got nan instead."),
        ({"dropout": True}, "dropout must be a number from 0 to below 1. Got True instead."),
    ],
    ids=str,
)
def test_bad_settings(gaussian, options, message):
    with pytest.raises(ParameterError) as caught:
        PinvGCN(gaussian.spectrum, 3, 2, **options)
    assert str(caught.value) == message


def test_layers_have_the_widths_asked_for_and_weights_of_their_own(gaussian):
    net = network(gaussian, hidden=(6, 6, 6))
    shapes = [tuple(conv.weights.shape) for conv in net.convs]
    assert shapes == [(3, 3, 6), (3, 6, 6), (3, 6, 6), (3, 6, 4)]
    assert not torch.equal(net.convs[1].weights, net.convs[2].weights)


def test_reset_parameters_renews_every_layer_from_the_generator(gaussian):
    net = network(gaussian)
    net.reset_parameters(torch.Generator().manual_seed(5))
    again = network(gaussian, seed=1)
    again.reset_parameters(torch.Generator().manual_seed(5))
    for first, second in zip(net.convs, again.convs, strict=True):
        assert torch.equal(first.weights, second.weights)
        assert not first.bias.detach().any()
