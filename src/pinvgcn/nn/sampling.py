"""Which nodes an epoch visits: all of them, or some of a subsample that every process holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pinvgcn.distributed.group import ALONE
from pinvgcn.distributed.rows import MOST, in_subsample
from pinvgcn.graphs.distinct import distinct_subsample
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


@dataclass(frozen=True)
class NodeSubsample:
    """C ≈ Σ_labelled ω v hᵀ + f Σ_others ω v hᵀ, the others drawn: up to 262,144 nodes all, with f = 1.

    Beyond, nodes are drawn by their numbers, and distinct rows of a table, which have a weight, by the hash
    of their content; f makes all weights sum to what those of all nodes sum to. Rows that are equal on
    several ranks are one. Which nodes are drawn, and their order, do not depend on how ranks share them out.
    """

    spread: Problem  # of this rank
    chosen: np.ndarray  # (p,) which of this rank's nodes are in
    counts: np.ndarray | None  # (p,) ω of distinct rows, with those of other ranks
    total: int  # how many nodes differ, on all ranks; an estimate of distinct rows beyond 262,144
    labelled: np.ndarray  # ids of all labelled nodes, on any rank

    @classmethod
    def of(cls, problem: Problem, labelled: np.ndarray) -> NodeSubsample:
        """From this rank's nodes, and the ``labelled`` ones among them."""
        ids, group = problem.ids.cpu().numpy(), problem.group
        if group.alone and len(ids) <= MOST:
            return cls(problem, np.arange(len(ids)), None, len(ids), ids[labelled])
        known = np.unique(group.rows(ids[labelled]))
        if problem.weights is None:
            start, total = group.offset(len(ids))
            chosen = np.union1d(in_subsample(start, len(ids), total, most=MOST), labelled)
            return cls(problem, chosen, None, total, known)
        omega = problem.weights.double().cpu().numpy()
        drawn = distinct_subsample(np.empty((len(ids), 0)), omega, ids.view(np.uint64), group, most=MOST)
        wanted = np.flatnonzero(np.isin(ids, np.union1d(drawn.hashes.view(np.int64), known)))
        everywhere = pd.Series(group.rows(omega[wanted]), index=group.rows(ids[wanted]))
        before = group.offset(len(wanted))[0]
        earlier = everywhere.index.duplicated()[before : before + len(wanted)]  # an earlier rank has it too
        chosen = wanted[~earlier]
        counts = everywhere.groupby(level=0).sum().loc[ids[chosen]].to_numpy()
        return cls(problem, chosen, counts, round(drawn.distinct), known)

    @cached_property
    def problem(self) -> Problem:
        """The pool as a problem of its own, the same on all ranks."""
        spread = self.spread
        group = spread.group
        if group.alone and len(self.chosen) == len(spread):
            return spread
        like = spread.ids.device, torch.get_default_dtype()
        nodes = torch.from_numpy(self.chosen).to(spread.ids.device)
        F = spread.F.take(nodes).of_all(group)
        ids = group.rows(spread.ids[nodes].cpu().numpy())
        whole = float(len(spread) if spread.weights is None else spread.weights.double().sum())
        omega = np.ones(len(ids)) if self.counts is None else group.rows(self.counts).copy()
        known = np.isin(ids, self.labelled)
        if (~known).any():
            omega[~known] *= (group.sum(whole) - omega[known].sum()) / omega[~known].sum()
        weights = None
        if self.counts is not None or len(ids) < self.total:
            weights = torch.from_numpy(omega).to(*like)
        return replace(
            spread,
            F=F,
            weighted=F if weights is None else F.scaled(weights),
            first=tuple(F if part is spread.F else part.take(nodes).of_all(group) for part in spread.first),
            ids=torch.from_numpy(ids).to(spread.ids.device),
            weights=weights,
            places=None if spread.places is None else group.rows(spread.places[self.chosen]),
            group=ALONE,
        )

    def nodes_of(self, ids: np.ndarray) -> np.ndarray:
        """Which nodes of the pool have these ids."""
        mine = self.problem.ids.cpu().numpy()
        order = np.argsort(mine, kind="stable")
        return order[np.searchsorted(mine, ids, sorter=order)]
