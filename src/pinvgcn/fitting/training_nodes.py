"""The nodes that a network is trained on: all of them, or a pool that stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.nn import Labels, Problem, TrainingSettings
from pinvgcn.nn.pooled import Pool
from pinvgcn.nn.sampling import resolve_sample


@dataclass(frozen=True)
class Ground:
    """A problem, and which of its nodes the labelled rows are."""

    problem: Problem
    rows: np.ndarray  # (m,), ascending, of all ranks
    nodes: np.ndarray  # (m,); -1 where another rank has the node

    def labels(self, some: RowLabels) -> Labels:
        """Some of the labels, as those of nodes."""
        nodes = self.nodes[np.searchsorted(self.rows, some.rows)]
        here, device = nodes >= 0, self.problem.ids.device
        return Labels.of(
            torch.from_numpy(nodes[here]).to(device),
            torch.from_numpy(some.codes[here]).to(device),
            len(some.classes),
            None if some.weights is None else torch.from_numpy(some.weights[here]).to(device),
            group=self.problem.group,
        )


def whole_ground(labels: RowLabels, prepared: Prepared) -> Ground:
    """All nodes, each on the rank that has it."""
    graph = prepared.nodes.graph
    assert graph is not None
    nodes = np.full(len(labels.rows), -1)
    here = (labels.rows >= graph.start) & (labels.rows < graph.start + graph.n_nodes)
    nodes[here] = prepared.node_of(labels.rows[here] - graph.start)
    return Ground(prepared.problem, labels.rows, nodes)


def grounds_for(
    parts: Sequence[RowLabels], labels: RowLabels, prepared: Prepared, settings: TrainingSettings
) -> list[Ground]:
    """For each network that learns from a part of the labels: all nodes, or the pool if epochs draw."""
    spread = whole_ground(labels, prepared)
    if settings.nodes_per_epoch is None:
        return [spread] * len(parts)
    here = spread.nodes[spread.nodes >= 0]
    pool = Pool.of(prepared.problem, np.unique(here))
    ids = prepared.problem.group.rows(prepared.problem.ids.cpu().numpy()[here])

    def drawn(part: RowLabels) -> bool:
        known = np.unique(ids[np.searchsorted(labels.rows, part.rows)])
        return resolve_sample(settings.nodes_per_epoch, pool.total - len(known)) is not None

    draws = [drawn(part) for part in parts]
    if not any(draws) or pool.problem is prepared.problem:
        return [spread] * len(parts)
    pooled = Ground(pool.problem, labels.rows, pool.nodes_of(ids))
    return [pooled if draw else spread for draw in draws]
