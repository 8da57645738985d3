"""Dropout: right in the mean, and the same mask for the same key whatever else is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinvgcn.nn.dropout import DropoutKey, dropout, keep_mask

KEY = DropoutKey(seed=7, epoch=3, layer=1)
RATES = [0.1, 0.5, 0.8]


@pytest.mark.parametrize("p", RATES)
def test_entries_are_dropped_at_the_rate_and_the_rest_scaled(p):
    H = torch.rand(2_000, 33, generator=torch.Generator().manual_seed(0)) + 0.5
    kept = dropout(H, p, KEY)
    survivors = kept != 0
    torch.testing.assert_close(kept[survivors], H[survivors] / (1 - p))
    n = H.numel()
    assert float((~survivors).float().mean()) == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / n))
    # unbiased: a channel's mean over nodes stays what it was
    error = (kept.mean(dim=0) - H.mean(dim=0)).abs().max()
    assert float(error) < 6 * np.sqrt(p / (1 - p) / len(H)) * 1.5


@pytest.mark.parametrize("p", RATES)
def test_masks_of_nodes_and_channels_are_independent(p):
    mask = keep_mask(4_000, 32, p, KEY).astype(float)
    within = np.corrcoef(mask.T)
    assert np.abs(within - np.eye(32)).max() < 6 / np.sqrt(4_000)
    neighbours = np.corrcoef(mask[:-1].ravel(), mask[1:].ravel())[0, 1]
    assert abs(neighbours) < 6 / np.sqrt(mask.size)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize(
    "other", [KEY._replace(seed=8), KEY._replace(epoch=4), KEY._replace(layer=2)], ids=str
)
def test_every_part_of_the_key_changes_the_mask(p, other):
    a, b = (keep_mask(500, 16, p, key).astype(float).ravel() for key in (KEY, other))
    assert abs(np.corrcoef(a, b)[0, 1]) < 6 / np.sqrt(a.size)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("width", [1, 7, 8, 32, 33])
def test_a_node_keeps_its_mask_when_others_join(p, width):
    np.testing.assert_array_equal(keep_mask(100, width, p, KEY)[:10], keep_mask(10, width, p, KEY))


@pytest.mark.parametrize("p", RATES)
def test_masks_need_no_generator_of_the_process(p):
    H = torch.ones(50, 8)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = dropout(H, p, KEY)
    assert torch.equal(states[0], torch.get_rng_state())
    np.testing.assert_array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002
    torch.rand(3)
    assert torch.equal(first, dropout(H, p, KEY))


def test_nothing_is_dropped_at_zero():
    H = torch.rand(5, 4)
    assert dropout(H, 0.0, KEY) is H


def test_almost_everything_may_be_dropped():
    assert keep_mask(100, 8, 1 - 1e-12, KEY).sum() == 0


def test_gradients_pass_through_the_same_mask():
    H = torch.rand(30, 6, requires_grad=True)
    (gradient,) = torch.autograd.grad(dropout(H, 0.5, KEY).sum(), H)
    np.testing.assert_array_equal(gradient.numpy(), 2.0 * keep_mask(30, 6, 0.5, KEY))


def test_without_a_key_pytorch_draws():
    H = torch.ones(20, 20)
    torch.manual_seed(0)
    first = dropout(H, 0.5)
    assert not torch.equal(first, dropout(H, 0.5))
    torch.manual_seed(0)
    assert torch.equal(first, dropout(H, 0.5))
