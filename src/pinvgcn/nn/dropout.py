"""Dropout whose masks depend on nothing but what they are for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

# SplitMix64 (Steele, Lea and Flood, 2014): a counter times an odd number, then a bijection mixes its bits
STEP = -0x61C8864680B583EB
ROUNDS = ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15), (31, 1))


class DropoutKey(NamedTuple):
    """Whose mask it is: the same key draws the same mask, whatever was drawn before it."""

    seed: int
    epoch: int
    layer: int


def dropout(H: Tensor, p: float, key: DropoutKey | None = None, nodes: Tensor | None = None) -> Tensor:
    """H ∘ M/(1 − p) with M_ij = 0 with probability p: unchanged in the mean, unchanged at p = 0.

    With a key, M is ``keep_mask`` of the nodes, 0 … n − 1 by default. Without, it comes from PyTorch's
    process-wide generator, as in ``torch.nn.functional.dropout``.
    """
    if p == 0:
        return H
    if key is None:
        return F.dropout(H, p)
    own = torch.arange(len(H), device=H.device) if nodes is None else nodes
    return H * keep_mask(own, H.shape[1], p, key).to(H) / (1 - p)


def keep_mask(nodes: Tensor, width: int, p: float, key: DropoutKey) -> Tensor:
    """M: (len(nodes), width), each entry False with probability p; a row depends on key and node alone."""
    return drop_(torch.ones(len(nodes), width, device=nodes.device), p, start_of(key), nodes) != 0


def drop_(H: Tensor, p: float, start: int, nodes: Tensor) -> Tensor:
    """H ∘ M in place, without the factor 1/(1 − p), for the rows H (m, width) of these nodes.

    One random bit an entry at p = 1/2, 32 otherwise, in the sequence that begins at ``start``.
    """
    bits = H.view({4: torch.int32, 8: torch.int64}[H.element_size()])
    width = H.shape[1]
    if p == 0.5:
        words = random_words(start, nodes, -(-width // 32))
        place = torch.arange(32, dtype=torch.int32, device=H.device)
        for word, first in enumerate(range(0, width, 32)):
            part = bits[:, first : first + 32]
            # the bit moves to the sign, the sign fills the number: all ones or all zeros
            mask = words[:, word : word + 1] << place[: part.shape[1]]
            mask >>= 31
            part &= mask
    else:
        least = int(p * 2**32) - 2**31  # of a signed number, so that a share p lies below
        bits &= (random_words(start, nodes, width) >= least).to(bits.dtype).neg_()
    return H


def start_of(key: DropoutKey) -> int:
    """Where the key's sequence of random numbers begins, among 2⁶⁴ places."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64).view(np.int64)[0])


def random_words(start: int, nodes: Tensor, count: int) -> Tensor:
    """``count`` random 32-bit numbers for each node: (len(nodes), count).

    Number j of node i is half of the SplitMix64 hash of a counter that only (i, j) has: any chunk of nodes
    draws its own without drawing the others'.
    """
    pairs = -(-count // 2)
    x = nodes[:, None]
    if pairs > 1:
        x = x * pairs + torch.arange(pairs, device=nodes.device)
    x = (x * STEP).add_(start)
    for shift, factor in ROUNDS:
        high = x >> shift
        high &= 2 ** (64 - shift) - 1  # PyTorch shifts signs in: cut them off
        x ^= high
        x *= factor
    return x.view(torch.int32)[:, :count]
