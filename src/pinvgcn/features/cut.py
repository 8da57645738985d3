"""How the plan is cut into parts with about equally many points: halves of halves, at medians of a sample.

Medians follow the points: one stray point far away does not make the other parts smaller, as it would on a
grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SAMPLE = 200_000  # points by which the medians are found


@dataclass(frozen=True)
class Cut:
    """A binary tree of cuts x ≤ c or y ≤ c; its leaves are the parts, numbered from 0."""

    axis: np.ndarray  # (nodes,)
    at: np.ndarray  # (nodes,)
    below: np.ndarray  # (nodes,) the node of x ≤ c, or −1 − part
    above: np.ndarray  # (nodes,)
    parts: int

    @classmethod
    def by(cls, sample: np.ndarray, count: int, size: int) -> Cut:
        """By a sample (s, 3) of a cloud of ``count`` points."""
        nodes: list[list[float]] = []
        parts = 0

        def halve(some: np.ndarray) -> int:
            nonlocal parts
            extent = np.ptp(some, axis=0) if len(some) else np.zeros(2)
            axis = int(extent.argmax())
            if len(some) * count <= size * len(sample) or extent[axis] == 0:
                parts += 1
                return -parts
            c = float(np.median(some[:, axis]))
            lower = some[:, axis] <= c
            if lower.all():  # many share the largest value
                c = float(some[some[:, axis] < c, axis].max())
                lower = some[:, axis] <= c
            here = len(nodes)
            nodes.append([axis, c, 0, 0])
            nodes[here][2], nodes[here][3] = halve(some[lower]), halve(some[~lower])
            return here

        halve(sample[:, :2])
        table = np.array(nodes).reshape(-1, 4)
        return cls(
            table[:, 0].astype(int), table[:, 1], table[:, 2].astype(int), table[:, 3].astype(int), parts
        )

    def __call__(self, plan: np.ndarray) -> np.ndarray:
        """The part of each place (n, 2)."""
        node = np.full(len(plan), 0 if len(self.axis) else -1)
        while (node >= 0).any():
            rows = np.flatnonzero(node >= 0)
            now = node[rows]
            lower = plan[rows, self.axis[now]] <= self.at[now]
            node[rows] = np.where(lower, self.below[now], self.above[now])
        return -1 - node
