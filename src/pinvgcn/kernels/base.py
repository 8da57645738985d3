"""What every kernel map can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ModelFileError
from pinvgcn.io.tensors import Shapes

Finish = Callable[[slice, np.ndarray], None]
ROUNDING = 1e-14  # of one kernel value, with the digits that sums of many lose


class Kernel(ABC):
    """A map φ with φ(x)ᵀφ(y) ≈ exp(−|x − y|²/σ²), used without ever forming φ for all nodes.

    ``precision`` is the absolute error of one kernel value between nodes that was asked for,
    ``value_error`` a bound on what it is.
    """

    kind: ClassVar[str]
    sigma: float
    precision: float

    @property
    def value_error(self) -> float:
        """A bound on |φ(x)ᵀφ(y) − k(x, y)| between nodes, rounding included."""
        return self.precision + ROUNDING

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @abstractmethod
    def gather(self, points: np.ndarray, weights: np.ndarray, group: Group = ALONE) -> np.ndarray:
        """c = Σ_j φ(x_j) w_j for the columns of ``weights`` (n, q), over the points of all ranks."""

    @abstractmethod
    def gathered_shape(self, columns: int) -> tuple[int, ...]:
        """The shape of what ``gather`` gives for so many columns of weights."""

    @abstractmethod
    def evaluate(
        self, points: np.ndarray, coefficients: np.ndarray, columns: int, finish: Finish | None = None
    ) -> np.ndarray:
        """φ(x)ᵀ c at each of the points: (m, ``columns``).

        ``finish(rows, values)`` may change the values of these rows in place while they are in the cache of
        the core that made them.
        """

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Which points lie where the map represents the kernel: (m,) of booleans."""
        return np.ones(len(points), dtype=bool)

    def product(self, points: np.ndarray, weights: np.ndarray, group: Group = ALONE) -> np.ndarray:
        """G w with G_ij = k(x_i, x_j), the diagonal (ones) included: (n, q)."""
        return self.evaluate(points, self.gather(points, weights, group), weights.shape[1])

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """All that ``from_state`` needs: numbers for JSON, and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Kernel:
        """The inverse of ``state``."""


class SourceKernel(Kernel):
    """φ(x) has an entry for each node, one of the ``sources``: what is gathered are the weights."""

    sources: np.ndarray  # (n, d)

    @property
    def dimension(self) -> int:
        return int(self.sources.shape[1])

    def gather(self, points: np.ndarray, weights: np.ndarray, group: Group = ALONE) -> np.ndarray:
        weights = group.rows(weights)
        assert len(weights) == len(self.sources), "this kernel gathers over its own sources only"
        return weights

    def gathered_shape(self, columns: int) -> tuple[int, ...]:
        return len(self.sources), columns

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "precision": self.precision}, {"sources": self.sources}


def saved_sources(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The points of a saved kernel that sums over them: (n, d)."""
    sources = Shapes()("kernel_sources", arrays["sources"], "n d")
    if not sources.size:
        raise ModelFileError("its array 'kernel_sources' is empty; save the model again.")
    return sources
