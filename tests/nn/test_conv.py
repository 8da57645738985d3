"""The factored layer against the dense matrices of the paper, values and gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pinvgcn.nn import FilterBasis, PinvConv

TOLERANCE = 1e-10


def layer(case, filters="three-part", inputs=4, outputs=3, seed=0) -> PinvConv:
    """In double precision, with a bias that is not zero."""
    generator = torch.Generator().manual_seed(seed)
    conv = PinvConv(inputs, outputs, FilterBasis.of(case.spectrum, filters), generator).double()
    with torch.no_grad():
        conv.bias.normal_(generator=generator)
    return conv


def features(case, columns=4) -> torch.Tensor:
    """With an offset, as coordinates have: cancellation must not cost digits."""
    rng = np.random.default_rng(5)
    return torch.from_numpy(rng.normal(size=(case.n, columns)) + 30.0).requires_grad_()


def basis(case) -> torch.Tensor:
    return torch.from_numpy(case.spectrum.basis)


def values_and_gradients(output: torch.Tensor, *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The output, and the gradients of a fixed random combination of its entries."""
    probe = torch.from_numpy(np.random.default_rng(9).normal(size=tuple(output.shape)))
    return [output.detach(), *torch.autograd.grad((output * probe).sum(), inputs)]


def assert_same(got, expected):
    for a, b in zip(got, expected, strict=True):
        scale = max(1.0, float(b.abs().max()))
        torch.testing.assert_close(a, b, rtol=0, atol=TOLERANCE * scale)


def dense(case, choice, conv, X) -> torch.Tensor:
    """Σ_k 𝒦^(k) X W^(k) + b with n × n matrices."""
    K = case.convolutions(choice[1])
    return sum(K[k] @ X @ conv.weights[k] for k in range(len(K))) + conv.bias


def test_factored_layer_equals_the_dense_matrices(case, choice):
    conv, X = layer(case, choice[0]), features(case)
    inputs = (conv.weights, conv.bias, X)
    assert_same(
        values_and_gradients(conv(X, basis(case)), *inputs),
        values_and_gradients(dense(case, choice, conv, X), *inputs),
    )


def test_precomputed_products_give_the_same(case, choice):
    conv, X = layer(case, choice[0]), features(case)
    K = case.convolutions(choice[1])
    products = conv.products(X, basis(case))
    assert_same([products.detach()], [torch.cat([k @ X for k in K], dim=1).detach()])
    inputs = (conv.weights, conv.bias, X)
    assert_same(
        values_and_gradients(conv.from_products(products), *inputs),
        values_and_gradients(dense(case, choice, conv, X), *inputs),
    )


def test_some_rows_with_the_sum_over_all(case, choice):
    """C = VᵀX over all nodes is all that a node must know of the others."""
    conv, X, V = layer(case, choice[0]), features(case), basis(case)
    rows = torch.tensor([5, 0, 5, 3])
    C = V.T @ X
    inputs = (conv.weights, conv.bias, X)
    whole = dense(case, choice, conv, X)
    assert_same(
        values_and_gradients(conv(X[rows], V[rows], C), *inputs), values_and_gradients(whole[rows], *inputs)
    )
    assert_same(
        [conv.from_products(conv.products(X, V)[rows]).detach()],
        [whole[rows].detach()],
    )


def test_no_high_pass_is_the_full_pseudoinverse_on_hypergraphs(hypergraph):
    """At the honest rank the rest of the spectrum is λ = 1, so β = γ gives eq:filter2d exactly."""
    conv, X = layer(hypergraph, "no-high-pass"), features(hypergraph)
    L = hypergraph.laplacian
    pseudoinverse = torch.from_numpy(np.linalg.pinv(L, rcond=1e-10, hermitian=True))
    lam = np.linalg.eigvalsh(L)
    eigengap = lam[lam > 1e-10][0]
    projection = torch.from_numpy(np.eye(hypergraph.n)) - torch.from_numpy(L) @ pseudoinverse  # onto λ = 0
    expected = projection @ X @ conv.weights[0] + eigengap * pseudoinverse @ X @ conv.weights[1] + conv.bias
    inputs = (conv.weights, conv.bias, X)
    assert_same(
        values_and_gradients(conv(X, basis(hypergraph)), *inputs), values_and_gradients(expected, *inputs)
    )


def test_a_layer_turned_to_double_precision_loses_nothing(gaussian):
    """The spectrum's numbers are not rounded to single precision on the way."""
    filter_basis = FilterBasis.of(gaussian.spectrum)
    conv = PinvConv(2, 2, filter_basis).double()
    np.testing.assert_array_equal(conv.gains.numpy(), filter_basis.gains)
    np.testing.assert_array_equal(conv.high.numpy(), filter_basis.high)


def test_single_precision_stays_single(gaussian):
    conv = PinvConv(4, 3, FilterBasis.of(gaussian.spectrum))
    X, V = features(gaussian).detach().float(), basis(gaussian).float()
    assert conv(X, V).dtype == torch.float32
    expected = conv.double()(X.double(), V.double())
    torch.testing.assert_close(conv.float()(X, V).double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 32), (32, 5), (200, 2)])
def test_glorot_weights_and_zero_bias(gaussian, random, inputs, outputs):
    conv = PinvConv(inputs, outputs, FilterBasis.of(gaussian.spectrum), random)
    bound = math.sqrt(6 / (inputs + outputs))  # of one W^(k), not of all of them stacked
    for W in conv.weights.detach():
        assert float(W.abs().max()) <= bound
        assert float(W.abs().max()) > 0.9 * bound
        # uniform on [−bound, bound]: mean 0, variance bound²/3
        assert abs(float(W.mean())) < 4 * bound / math.sqrt(3 * W.numel())
        assert float(W.var()) == pytest.approx(bound**2 / 3, rel=5 / math.sqrt(W.numel()))
    assert not conv.bias.detach().any()
    assert not torch.equal(conv.weights[0], conv.weights[1])


def test_reset_gives_new_weights_and_a_zero_bias(gaussian):
    conv = layer(gaussian)
    before = conv.weights.detach().clone()
    conv.reset_parameters(torch.Generator().manual_seed(1))
    assert not torch.equal(before, conv.weights)
    assert not conv.bias.detach().any()


def test_own_generator_leaves_the_process_wide_one_alone(gaussian, random):
    filter_basis = FilterBasis.of(gaussian.spectrum)
    before = torch.get_rng_state()
    first = PinvConv(3, 4, filter_basis, random)
    assert torch.equal(before, torch.get_rng_state())
    second = PinvConv(3, 4, filter_basis, torch.Generator().manual_seed(0))
    assert torch.equal(first.weights, second.weights)
