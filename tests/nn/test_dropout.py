"""Dropout: right in the mean, and the same mask for the same key whatever else is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pinvgcn.nn import rows
from pinvgcn.nn.dropout import DropoutKey, drop_, dropout, keep_mask, random_words, start_of

KEY = DropoutKey(seed=7, epoch=3, layer=1)
RATES = [0.1, 0.5, 0.8]


def mask_of(n: int, width: int, p: float, key: DropoutKey = KEY) -> np.ndarray:
    return keep_mask(torch.arange(n), width, p, key).numpy()


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
    mask = mask_of(4_000, 32, p).astype(float)
    within = np.corrcoef(mask.T)
    assert np.abs(within - np.eye(32)).max() < 6 / np.sqrt(4_000)
    neighbours = np.corrcoef(mask[:-1].ravel(), mask[1:].ravel())[0, 1]
    assert abs(neighbours) < 6 / np.sqrt(mask.size)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize(
    "other", [KEY._replace(seed=8), KEY._replace(epoch=4), KEY._replace(layer=2)], ids=str
)
def test_every_part_of_the_key_changes_the_mask(p, other):
    a, b = (mask_of(500, 16, p, key).astype(float).ravel() for key in (KEY, other))
    assert abs(np.corrcoef(a, b)[0, 1]) < 6 / np.sqrt(a.size)


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("width", [1, 7, 8, 32, 33])
def test_a_node_keeps_its_mask_when_others_join(p, width):
    np.testing.assert_array_equal(mask_of(100, width, p)[:10], mask_of(10, width, p))


@pytest.mark.parametrize("p", RATES)
@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 65, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_chunk_in_any_order_draws_its_own(p, width, dtype):
    whole = mask_of(60, width, p)
    nodes = torch.from_numpy(np.random.default_rng(0).permutation(60)[:23])
    np.testing.assert_array_equal(keep_mask(nodes, width, p, KEY), whole[nodes])
    for chunk in ([slice(0, 7), slice(7, 60)], rows.chunks(60)):
        H = torch.full((60, width), 3.0, dtype=dtype)
        for part in chunk:
            drop_(H[part], p, start_of(KEY), torch.arange(60)[part])
        np.testing.assert_array_equal(H.numpy(), 3.0 * whole)


def test_numbers_are_those_of_splitmix64():
    """Against the generator as published, in Python's whole numbers."""
    top = 2**64

    def splitmix(counter: int) -> int:
        x = (start_of(KEY) + counter * 0x9E3779B97F4A7C15) % top
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % top
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % top
        return x ^ (x >> 31)

    nodes = [0, 1, 77, 10**9]
    words = random_words(start_of(KEY), torch.tensor(nodes), 6).contiguous().numpy().view(np.uint64)
    assert words.tolist() == [[splitmix(3 * node + j) for j in range(3)] for node in nodes]


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.8])
def test_columns_and_nodes_are_all_dropped_alike(p):
    """Every column, and every group of nodes, at the rate p within six standard deviations."""
    mask = mask_of(20_000, 40, p)
    deviation = np.sqrt(p * (1 - p) / 20_000)
    np.testing.assert_allclose(mask.mean(axis=0), 1 - p, rtol=0, atol=6 * deviation)
    groups = mask.reshape(40, 500, 40).mean(axis=(1, 2))
    np.testing.assert_allclose(groups, 1 - p, rtol=0, atol=6 * deviation)


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
    assert mask_of(100, 8, 1 - 1e-12).sum() == 0


def test_gradients_pass_through_the_same_mask():
    H = torch.rand(30, 6, requires_grad=True)
    (gradient,) = torch.autograd.grad(dropout(H, 0.5, KEY).sum(), H)
    np.testing.assert_array_equal(gradient.numpy(), 2.0 * mask_of(30, 6, 0.5))


def test_without_a_key_pytorch_draws():
    H = torch.ones(20, 20)
    torch.manual_seed(0)
    first = dropout(H, 0.5)
    assert not torch.equal(first, dropout(H, 0.5))
    torch.manual_seed(0)
    assert torch.equal(first, dropout(H, 0.5))
