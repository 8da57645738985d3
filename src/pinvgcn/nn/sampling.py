"""Which nodes an epoch visits."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from pinvgcn.nn.problem import Problem

ALL_NODES = 32_768  # up to this many, "auto" visits all
SOME_NODES = 4_096  # and beyond, this many unlabelled ones an epoch


def resolve_sample(nodes_per_epoch: int | str | None, others: int) -> int | None:
    """How many of the unlabelled nodes an epoch visits; None for all of them."""
    if nodes_per_epoch == "auto":
        nodes_per_epoch = None if others <= ALL_NODES else SOME_NODES
    assert not isinstance(nodes_per_epoch, str)
    return None if nodes_per_epoch is None or nodes_per_epoch >= others else nodes_per_epoch


class Sample:
    """C ≈ Σ_labelled v hᵀ + (n_u/s) Σ_sampled v hᵀ, unbiased, from s of the n_u unlabelled nodes.

    A permutation keyed by the seed is walked through, s nodes an epoch, and drawn anew when fewer than s are
    left: no node comes a second time before the others have come. What an epoch visits depends on (seed,
    epoch) alone.
    """

    def __init__(self, problem: Problem, labelled: Tensor, size: int, seed: int) -> None:
        self._problem, self._labelled = problem, labelled
        self._size, self._seed = size, seed
        unlabelled = torch.ones(len(problem), dtype=torch.bool, device=labelled.device)
        unlabelled[labelled] = False
        self._others = unlabelled.nonzero().squeeze(1)
        self._lap, self._order = -1, self._others
        self._counts = torch.ones(len(labelled) + size, device=labelled.device)
        self._counts[len(labelled) :] = len(self._others) / size

    def __call__(self, epoch: int) -> Problem:
        """The nodes of an epoch, the labelled ones first."""
        lap, step = divmod(epoch, len(self._others) // self._size)
        if lap != self._lap:
            order = np.random.Generator(np.random.Philox([self._seed, lap])).permutation(len(self._others))
            self._lap, self._order = lap, self._others[torch.from_numpy(order).to(self._others.device)]
        drawn = self._order[step * self._size : (step + 1) * self._size]
        return self._problem.take(torch.cat([self._labelled, drawn]), self._counts)
