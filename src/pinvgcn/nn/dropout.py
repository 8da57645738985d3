"""Dropout whose masks depend on nothing but what they are for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F


class DropoutKey(NamedTuple):
    """Whose mask it is: the same key draws the same mask, whatever was drawn before it."""

    seed: int
    epoch: int
    layer: int


def dropout(H: Tensor, p: float, key: DropoutKey | None = None) -> Tensor:
    """H ∘ M/(1 − p) with M_ij = 0 with probability p: unchanged in the mean, unchanged at p = 0.

    With a key, M comes from a counter-based generator, one random bit an entry at p = 1/2. Without,
    from PyTorch's process-wide generator, as in ``torch.nn.functional.dropout``.
    """
    if p == 0:
        return H
    if key is None:
        return F.dropout(H, p)
    mask = keep_mask(H.shape[0], H.shape[1], p, key)
    return H * torch.from_numpy(mask).to(H).mul_(1 / (1 - p))


def keep_mask(n: int, width: int, p: float, key: DropoutKey) -> np.ndarray:
    """M: (n, width) of 0 and 1, each 0 with probability p."""
    bits = np.random.Philox(key=np.array([key.seed, (key.epoch << 16) | key.layer], dtype=np.uint64))
    rng = np.random.Generator(bits)
    if p == 0.5:
        row = -(-width // 8)  # bytes a node
        drawn = np.frombuffer(rng.bytes(n * row), dtype=np.uint8).reshape(n, row)
        return np.unpackbits(drawn, axis=1, count=width)
    drawn32 = rng.integers(0, 2**32, size=(n, width), dtype=np.uint32)
    return (drawn32 >= p * 2**32).view(np.uint8)
