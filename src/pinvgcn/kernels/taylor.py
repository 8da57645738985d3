"""Monomial features: the kernel as a short Taylor series (docs/maths.md, section 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.special import pdtrc  # pdtrc(p, m) = P(Poisson(m) > p)

from pinvgcn.kernels.base import Kernel

CHUNK_ENTRIES = 2_000_000  # features held at a time: 16 MB
OUTSIDE = 1e-4  # the error that is accepted at points outside the cloud, beside the largest kernel value


class TaylorKernel(Kernel):
    """k(x, y) ≈ Σ_{|α| ≤ p} φ_α(x) φ_α(y) with φ_α(x) = e^(−|z|²/2) ∏ z_i^α_i / √(α_i!), z = √2 (x − c)/σ.

    With R the radius of the cloud around c in z, the error of a kernel value is at most the probability
    that a Poisson variable of mean R² exceeds the degree p. M = C(p + d, d) features.

    Use it when σ is not below the radius of the cloud, in any dimension that keeps M small. Only
    multiplications and matrix products.
    """

    kind = "taylor"

    def __init__(self, centre: np.ndarray, radius: float, sigma: float, degree: int) -> None:
        self.centre = centre
        self.radius = radius  # of the nodes, in units of length
        self.sigma = sigma
        self.degree = degree
        self.precision = max(float(pdtrc(degree, 2 * (radius / sigma) ** 2)), 1e-15)

    @classmethod
    def over(cls, points: np.ndarray, sigma: float, precision: float) -> TaylorKernel:
        """The kernel map for the ball around the middle of the points that holds them."""
        centre = (points.min(axis=0) + points.max(axis=0)) / 2
        radius = float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))
        return cls(centre, radius, sigma, cls._degree(radius, sigma, precision))

    @staticmethod
    def _degree(radius: float, sigma: float, precision: float) -> int:
        """The smallest p with P(Poisson(R²) > p) ≤ precision."""
        mean = 2 * (radius / sigma) ** 2
        degrees = np.arange(int(4 * mean) + 60)
        return int(np.argmax(pdtrc(degrees, mean) <= precision))

    @classmethod
    def size(cls, radius: float, dimension: int, sigma: float, precision: float) -> int:
        """The number of features M that a ball of this radius needs."""
        if radius > 5 * sigma:  # the series would be longer than anything it could replace
            return 10**9
        return math.comb(cls._degree(radius, sigma, precision) + dimension, dimension)

    @cached_property
    def _steps(self) -> list[tuple[int, int, float]]:
        """How each feature past the first follows: feature parent · z_axis · factor."""
        index: dict[tuple[int, ...], int] = {(): 0}
        steps = []
        for degree in range(1, self.degree + 1):
            for axes in combinations_with_replacement(range(len(self.centre)), degree):
                parent, axis = axes[:-1], axes[-1]
                steps.append((index[parent], axis, 1 / math.sqrt(axes.count(axis))))
                index[axes] = len(index)
        return steps

    @property
    def n_features(self) -> int:
        """M"""
        return len(self._steps) + 1

    def features(self, points: np.ndarray) -> np.ndarray:
        """φ(x) of each point as a column: (M, m)."""
        z = np.ascontiguousarray((points - self.centre).T) * (math.sqrt(2) / self.sigma)  # (d, m)
        phi = np.empty((self.n_features, len(points)))
        np.exp(-0.5 * (z**2).sum(axis=0), out=phi[0])
        for row, (parent, axis, factor) in enumerate(self._steps, start=1):
            np.multiply(phi[parent], z[axis], out=phi[row])
            if factor != 1:
                phi[row] *= factor
        return phi

    def chunks(self, n: int) -> Iterator[slice]:
        """Ranges of nodes whose features fit the memory that is set aside."""
        size = max(256, CHUNK_ENTRIES // self.n_features)
        return (slice(start, min(start + size, n)) for start in range(0, n, size))

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def inside(self, points: np.ndarray) -> np.ndarray:
        # with ρ = |z| the error is at most e^(−(ρ − R)²/2) P(Poisson(ρR) > p), and the first factor is what
        # the kernel itself falls by
        distance = np.linalg.norm(points - self.centre, axis=1)
        tail = pdtrc(self.degree, 2 * distance * self.radius / self.sigma**2)
        return tail <= max(OUTSIDE, self.precision)

    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j φ(x_j) w_j: (M, q)."""
        result = np.zeros((self.n_features, weights.shape[1]))
        for rows in self.chunks(len(points)):
            result += self.features(points[rows]) @ weights[rows]
        return result

    def evaluate(self, points: np.ndarray, coefficients: np.ndarray, columns: int) -> np.ndarray:
        result = np.empty((len(points), columns))
        for rows in self.chunks(len(points)):
            np.matmul(self.features(points[rows]).T, coefficients, out=result[rows])
        return result

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "radius": self.radius, "degree": self.degree}, {"centre": self.centre}

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> TaylorKernel:
        return cls(arrays["centre"], numbers["radius"], numbers["sigma"], numbers["degree"])
