"""Dropout from a generator of one's own."""

from __future__ import annotations

import torch
from torch import Tensor


def dropout(H: Tensor, p: float, generator: torch.Generator | None = None) -> Tensor:
    """H ∘ M/(1 − p) with M_ij = 0 with probability p: unchanged in the mean, unchanged at p = 0.

    ``torch.nn.functional.dropout`` draws from the process-wide generator, which other code may
    advance; this one depends on ``generator`` alone.
    """
    if p == 0:
        return H
    mask = torch.empty_like(H).bernoulli_(1 - p, generator=generator)
    return H * mask.mul_(1 / (1 - p))
