"""φ(x) = (k(x, x_1), …, k(x, x_n)): every pair, in blocks, in any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.kernels.base import Finish, SourceKernel

BLOCK_ENTRIES = 2_000_000  # kernel values held at a time by each core: 16 MB


class ExactKernel(SourceKernel):
    """G w = Σ_j exp(−|x − x_j|²/σ²) w_j without approximation, O(n²) time and O(n) memory.

    Use it in more than three dimensions, for small clouds, and as the oracle of the fast kernels.
    ``sources`` are the x_j.
    """

    kind = "exact"

    def __init__(self, sources: np.ndarray, sigma: float, group: Group = ALONE) -> None:
        super().__init__(sources, sigma, 1e-15, group)
        self._scaled = (sources - self._centre) / sigma

    def evaluate(
        self, points: np.ndarray, coefficients: np.ndarray, columns: int, finish: Finish | None = None
    ) -> np.ndarray:
        result = np.empty((len(points), columns))

        def work(rows: slice) -> None:
            np.matmul(self.matrix(points[rows]), coefficients, out=result[rows])
            if finish is not None:
                finish(rows, result[rows])

        for_all(work, ranges(len(points), max(1, BLOCK_ENTRIES // len(self.sources))))
        return result

    def matrix(self, points: np.ndarray, sources: slice = slice(None)) -> np.ndarray:
        """All values k(x, x_j), or those of some sources: (m, n)."""
        # differences before squares: |x|² + |y|² − 2x·y would lose (extent/σ)² digits of near neighbours
        squared = cdist((points - self._centre) / self.sigma, self._scaled[sources], "sqeuclidean")
        np.negative(squared, out=squared)
        return np.exp(squared, out=squared)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma}, {"sources": self.sources}
