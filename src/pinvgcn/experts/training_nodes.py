"""The nodes that a network is trained on: all of them, or a pool that stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pinvgcn.experts.seen import LabelledRows
from pinvgcn.nn import Labels, Problem, TrainingSettings
from pinvgcn.nn.sampling import NodeSubsample, resolve_sample


@dataclass(frozen=True)
class TrainingNodes:
    """A problem, and which of its nodes the labelled rows are."""

    problem: Problem
    rows: np.ndarray  # (m,), ascending, of all process ranks
    nodes: np.ndarray  # (m,); -1 where another process rank has the node

    def labels(self, some: LabelledRows) -> Labels:
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

    def for_parts(self, parts: Sequence[LabelledRows], settings: TrainingSettings) -> list[TrainingNodes]:
        """For each network that learns from some of the labels: all nodes, or a subsample if epochs draw."""
        if settings.nodes_per_epoch is None:
            return [self] * len(parts)
        here = self.nodes[self.nodes >= 0]
        subsample = NodeSubsample.of(self.problem, np.unique(here))
        ids = self.problem.group.rows(self.problem.ids.cpu().numpy()[here])

        def drawn(part: LabelledRows) -> bool:
            known = np.unique(ids[np.searchsorted(self.rows, part.rows)])
            return resolve_sample(settings.nodes_per_epoch, subsample.total - len(known)) is not None

        draws = [drawn(part) for part in parts]
        if not any(draws) or subsample.problem is self.problem:
            return [self] * len(parts)
        drawn_nodes = TrainingNodes(subsample.problem, self.rows, subsample.nodes_of(ids))
        return [drawn_nodes if draw else self for draw in draws]
