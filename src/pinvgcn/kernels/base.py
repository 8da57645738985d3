"""What every kernel map can do; and the smallest box around a cloud, turned to the cloud's own axes, in which
the series live.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

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
    group: Group = ALONE  # the processes that share the nodes: sums are over those of all

    @property
    def value_error(self) -> float:
        """A bound on |φ(x)ᵀφ(y) − k(x, y)| between nodes, rounding included."""
        return self.precision + ROUNDING

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of a point."""

    @abstractmethod
    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
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

    def product(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """G w with G_ij = k(x_i, x_j), the diagonal (ones) included: (n, q)."""
        return self.evaluate(points, self.gather(points, weights), weights.shape[1])

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """All that ``from_state`` needs: numbers for JSON, and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Kernel:
        """The inverse of ``state``."""


class SourceKernel(Kernel):
    """φ(x) has an entry for each node, one of the ``sources``: what is gathered are the weights."""

    def __init__(self, sources: np.ndarray, sigma: float, precision: float, group: Group = ALONE) -> None:
        self.sources = sources  # (n, d), the nodes of all ranks
        self.sigma, self.precision, self.group = sigma, precision, group
        # centred before anything is scaled or squared: map coordinates have offsets of 10⁶
        self._centre = sources.mean(axis=0) if len(sources) else np.zeros(sources.shape[1])

    @property
    def dimension(self) -> int:
        return int(self.sources.shape[1])

    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        weights = self.group.rows(weights)
        assert len(weights) == len(self.sources), "this kernel gathers over its own sources only"
        return weights

    def gathered_shape(self, columns: int) -> tuple[int, ...]:
        return len(self.sources), columns

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "precision": self.precision}, {"sources": self.sources}

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        sources = Shapes()("kernel_sources", arrays["sources"], "n d")
        if not sources.size:
            raise ModelFileError("its array 'kernel_sources' is empty; save the model again.")
        return cls(sources, **numbers)


@dataclass(frozen=True)
class Box:
    """{x : |Qᵀ(x − c)|_i ≤ h_i} with Q the principal axes of the points.

    The kernel does not change when space is turned, but the length of a series does: along its own axes
    a cloud is thinner, and one on a plane or a line has no thickness at all.
    """

    centre: np.ndarray  # c: (d,)
    axes: np.ndarray  # Q: (d, d)
    half: np.ndarray  # h: (d,)
    group: Group = ALONE  # the processes that share the points

    @classmethod
    def around(cls, points: np.ndarray, group: Group = ALONE) -> Box:
        """The box of the points (n, d) of all ranks."""

        def ends(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            low, high = rows.min(axis=1, initial=np.inf), rows.max(axis=1, initial=-np.inf)
            return group.smallest(low), group.largest(high)

        moved = np.ascontiguousarray(points.T)  # one row an axis
        low, high = ends(moved)
        middle = (low + high) / 2
        size = np.abs(middle).max()
        moved = moved - middle[:, None]  # before any square: map coordinates have offsets of 10⁶ and more
        unit = group.largest(float(np.abs(moved).max(initial=0))) or 1.0
        centred = moved / unit
        centred -= group.sum(centred.sum(axis=1, keepdims=True)) / group.sum(len(points))
        _, axes = np.linalg.eigh(group.sum(centred @ centred.T))
        axes = group.first(axes)
        low, high = ends(axes.T @ moved)
        half = (high - low) / 2
        # what is flat has the thickness of its rounding
        half[half <= 1e-13 * (size + unit)] = 0
        return cls(middle + axes @ ((low + high) / 2), axes, half, group)

    @property
    def dimension(self) -> int:
        return len(self.half)

    def local(self, points: np.ndarray) -> np.ndarray:
        """Qᵀ(x − c), one row an axis: (d, m)."""
        return self.axes.T @ (points - self.centre).T

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points are outside the box: (m,)."""
        beyond = np.maximum(np.abs(self.local(points)) - self.half[:, None], 0)
        return np.linalg.norm(beyond, axis=0)

    def state(self) -> dict[str, np.ndarray]:
        return {"centre": self.centre, "axes": self.axes, "half": self.half}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray]) -> Box:
        shapes = Shapes()
        for name, letters in (("half", "d"), ("centre", "d"), ("axes", "d d")):
            shapes(f"kernel_{name}", arrays[name], letters)
        return cls(arrays["centre"], arrays["axes"], arrays["half"])


class SeriesKernel(Kernel, ABC):
    """A kernel as a series of as many features as its ``precision`` in the ``box`` asks for."""

    def __init__(self, box: Box, sigma: float, precision: float) -> None:
        self.box, self.sigma, self.precision, self.group = box, sigma, precision, box.group

    @property
    def dimension(self) -> int:
        return self.box.dimension

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "precision": self.precision}, self.box.state()

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(Box.from_state(arrays), numbers["sigma"], numbers["precision"])
