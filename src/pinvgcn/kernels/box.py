"""The smallest box around a cloud, turned to the cloud's own axes, in which the series live."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.io.tensors import Shapes
from pinvgcn.kernels.base import Kernel


@dataclass(frozen=True)
class Box:
    """{x : |Qᵀ(x − c)|_i ≤ h_i} with Q the principal axes of the points.

    The kernel does not change when space is turned, but the length of a series does: along its own axes
    a cloud is thinner, and one on a plane or a line has no thickness at all.
    """

    centre: np.ndarray  # c: (d,)
    axes: np.ndarray  # Q: (d, d)
    half: np.ndarray  # h: (d,)

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
        return cls(middle + axes @ ((low + high) / 2), axes, half)

    @property
    def dimension(self) -> int:
        return len(self.half)

    def local(self, points: np.ndarray) -> np.ndarray:
        """Qᵀ(x − c), one row an axis: (d, m)."""
        return self.axes.T @ (points - self.centre).T

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points are outside the box: (m,)."""
        beyond = np.maximum(np.abs(self.local(points)) - self.half[:, None], 0)
        length: np.ndarray = np.linalg.norm(beyond, axis=0)
        return length

    def state(self) -> dict[str, np.ndarray]:
        return {"centre": self.centre, "axes": self.axes, "half": self.half}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray]) -> Box:
        shapes = Shapes()
        for name, letters in (("half", "d"), ("centre", "d"), ("axes", "d d")):
            shapes(f"kernel_{name}", arrays[name], letters)
        return cls(**arrays)


class SeriesKernel(Kernel, ABC):
    """A kernel as a series of as many features as its ``precision`` in the ``box`` asks for."""

    def __init__(self, box: Box, sigma: float, precision: float) -> None:
        self.box = box
        self.sigma = sigma
        self.precision = precision

    @property
    def dimension(self) -> int:
        return self.box.dimension

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "precision": self.precision}, self.box.state()

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        return cls(Box.from_state(arrays), numbers["sigma"], numbers["precision"])
