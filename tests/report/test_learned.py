"""Learned filters against the sums that define them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pinvgcn import PinvGCNClassifier
from pinvgcn.experiments.methods.pinvgcn import mean_weights
from pinvgcn.report.figures.model import learned_filters

LAM = np.array([0.5, 0.8])


def basis(lam: np.ndarray) -> np.ndarray:
    lam = np.asarray(lam)
    zero = np.where(lam == 0, 1.0, 0.0)
    pinv = np.where((lam > 0) & (lam <= LAM[-1]), LAM[0] / np.maximum(lam, 1e-9), 0.0)
    return np.array([zero, pinv, np.where(lam > LAM[-1], LAM[0], 0.0)])


@pytest.fixture
def model() -> SimpleNamespace:
    first = torch.tensor([[[1.0, -2.0]], [[3.0, 0.5]], [[-4.0, 0.0]]])  # (3, 1, 2)
    second = torch.tensor([[[2.0], [0.0]], [[1.0], [1.0]], [[0.0], [-6.0]]])  # (3, 2, 1)
    return SimpleNamespace(
        spectrum_=SimpleNamespace(values=LAM),
        network_=SimpleNamespace(
            layers=[SimpleNamespace(weights=torch.nn.Parameter(weights)) for weights in (first, second)],
            filter_basis=SimpleNamespace(names=("zero", "pinv", "high"), evaluate=basis),
        ),
    )


def test_filters_are_the_weighted_sum_of_the_basis(model: SimpleNamespace) -> None:
    first, second = learned_filters(model, strongest=2)
    # at λ = 0: the first weight; at λ₁, λ₂: the second times λ₁/λ; past λ_r: the third times λ₁
    np.testing.assert_allclose(first.strongest[0], [1, 3, 3 * 0.5 / 0.8, -4 * 0.5])
    np.testing.assert_allclose(first.strongest[1], [-2, 0.5, 0.5 * 0.5 / 0.8, 0])
    np.testing.assert_allclose(first.quantiles[2], np.mean(first.strongest, axis=0))
    np.testing.assert_allclose(second.strongest[0], [0, 1, 0.625, -3])
    np.testing.assert_allclose(first.lam[:3], [0, 0.5, 0.8])
    assert first.lam[3] > LAM[-1]
    assert (first.count, second.count) == (2, 2)


def test_mean_weights_are_the_formula_of_the_paper(model: SimpleNamespace) -> None:
    assert mean_weights(model) == {
        "zero": pytest.approx(((1 + 2) / 2 + (2 + 0) / 2) / 2),
        "pinv": pytest.approx(((3 + 0.5) / 2 + (1 + 1) / 2) / 2),
        "high": pytest.approx(((4 + 0) / 2 + (0 + 6) / 2) / 2),
    }


def test_mean_weights_of_layers_of_different_width_count_alike() -> None:
    """A layer of 6 weights and one of 2: the mean of both means, not of all 8."""
    weights_of = [torch.full((1, 2, 3), -1.0), torch.full((1, 1, 2), 5.0)]
    network = SimpleNamespace(
        layers=[SimpleNamespace(weights=torch.nn.Parameter(weights)) for weights in weights_of],
        filter_basis=SimpleNamespace(names=("only",)),
    )
    assert mean_weights(SimpleNamespace(network_=network)) == {"only": 3.0}


def test_mean_weights_of_a_fitted_classifier() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.full(40, -1)
    labels[:4] = [0, 1, 0, 1]
    model = PinvGCNClassifier.paper(sigma=1.0, rank=5, epochs=3).fit(points, labels)
    by_layer = [conv.weights.detach().double().abs().mean(dim=(1, 2)) for conv in model.network_.convs]
    expected = sum(by_layer) / len(by_layer)
    found = mean_weights(model)
    assert list(found) == ["zero impulse", "pseudoinverse", "high-pass"]
    np.testing.assert_allclose(list(found.values()), expected.numpy(), rtol=1e-12)
    means = np.mean([layer.mean_weight for layer in learned_filters(model)], axis=0)
    np.testing.assert_allclose(list(found.values()), means, rtol=1e-12)
