"""Which nodes an epoch visits."""

from __future__ import annotations

import math

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
    """C ≈ Σ_labelled v hᵀ + Σ_g m_g v_g h_gᵀ, unbiased, with one node of each of s groups of m_g neighbours.

    The unlabelled nodes, in the order in which ``Problem.order`` has them, are cut into s pieces whose sizes
    differ by one at most. Each is walked through in even strides from a place that is drawn, and drawn anew
    when it has been walked through: no node comes a second time before the others of its group have come.
    What an epoch visits depends on seed and epoch alone.
    """

    def __init__(self, problem: Problem, labelled: Tensor, size: int, seed: int) -> None:
        self._problem, self._labelled, self._seed = problem, labelled, seed
        unlabelled = np.ones(len(problem), dtype=bool)
        unlabelled[labelled.cpu().numpy()] = False
        self._others = problem.order[unlabelled[problem.order]]
        bounds = np.arange(size + 1) * len(self._others) // size
        self._starts, sizes = bounds[:-1], np.diff(bounds)
        self._groups = {int(m): np.flatnonzero(sizes == m) for m in np.unique(sizes)}
        self._laps = dict.fromkeys(self._groups, -1)
        self._offsets = np.zeros(size, dtype=np.int64)
        counts = np.concatenate([np.ones(len(labelled)), sizes])
        self._counts = torch.from_numpy(counts).to(labelled.device, torch.get_default_dtype())

    def __call__(self, epoch: int) -> Problem:
        """The nodes of an epoch, the labelled ones first."""
        places = self._starts.copy()
        for m, groups in self._groups.items():
            lap, step = divmod(epoch, m)
            if lap != self._laps[m]:
                generator = np.random.Generator(np.random.Philox([self._seed, m, lap]))
                self._laps[m], self._offsets[groups] = lap, generator.integers(0, m, len(groups))
            places[groups] += (self._offsets[groups] + step * _stride(m)) % m
        nodes = torch.from_numpy(self._others[places]).to(self._labelled.device)
        return self._problem.take(torch.cat([self._labelled, nodes]), self._counts)


def _stride(size: int) -> int:
    """Near the golden section of a group, so that successive epochs see parts of it that lie far apart, and
    without a common divisor, so that they see all of it."""
    return next(stride for stride in range(round(0.382 * size), size + 1) if math.gcd(stride, size) == 1)
