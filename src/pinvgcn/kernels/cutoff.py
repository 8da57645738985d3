"""The kernel cut off where it is negligible: a sparse matrix (docs/maths.md, 4.1)."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.compute.parallel import ranges
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.kernels.base import Finish, SourceKernel

CHUNK = 16_384  # points whose neighbours are searched at a time


class CutoffKernel(SourceKernel):
    """k(x, y) = exp(−|x − y|²/σ²) for |x − y| ≤ w = σ√(−ln ε), else 0, with ε the ``precision``.

    Use it when σ is far below the scene, so that each point sees few others. A k-d tree of the nodes finds
    them; products between nodes are with a sparse matrix that is made once.
    """

    kind = "cutoff"

    def __init__(self, sources: np.ndarray, sigma: float, precision: float, group: Group = ALONE) -> None:
        super().__init__(sources, sigma, precision, group)
        self._tree = cKDTree(sources - self._centre)
        self._reach = sigma * math.sqrt(-math.log(precision))

    @classmethod
    def count_pairs(cls, points: np.ndarray, sigma: float, precision: float, sample: int = 512) -> float:
        """The number of entries of the sparse matrix, estimated from every so many-th point."""
        some = points[:: max(1, len(points) // sample)] - points.mean(axis=0)
        reach = sigma * math.sqrt(-math.log(precision))
        neighbours = cKDTree(some).query_ball_point(some, reach, return_length=True)
        # a sample of one in m sees one in m of the others, and itself always
        return float(len(points) * (1 + (np.mean(neighbours) - 1) * len(points) / len(some)))

    @cached_property
    def matrix(self) -> sp.csr_array:
        """G between the nodes: (n, n)."""
        return sp.csr_array(
            sp.vstack([self._rows(self.sources[rows]) for rows in ranges(len(self.sources), CHUNK)])
        )

    def _rows(self, points: np.ndarray) -> sp.csr_array:
        """k(x, x_j) for each of the points: (m, n)."""
        tree = cKDTree(points - self._centre)
        found = tree.sparse_distance_matrix(self._tree, self._reach, output_type="ndarray")
        entries = (np.exp(-((found["v"] / self.sigma) ** 2)), (found["i"], found["j"]))
        rows: sp.csr_array = sp.csr_array(entries, shape=(len(points), len(self.sources)))
        rows.sort_indices()
        return rows

    def evaluate(
        self, points: np.ndarray, coefficients: np.ndarray, columns: int, finish: Finish | None = None
    ) -> np.ndarray:
        result, own = np.empty((len(points), columns)), points is self.sources
        for rows in ranges(len(points), CHUNK):
            result[rows] = (self.matrix[rows] if own else self._rows(points[rows])) @ coefficients
            if finish is not None:
                finish(rows, result[rows])
        return result
