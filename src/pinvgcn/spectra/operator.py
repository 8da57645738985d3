"""The normalised adjacency of a Gaussian graph, by kernel products."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.kernels import Kernel


@dataclass(frozen=True)
class KernelOperator:
    """N = D^(−1/2) (G − (1 − ℓ) I) D^(−1/2), the normalised adjacency of a Gaussian graph.

    ``smooth`` is Ĝ = D^(−1/2) G D^(−1/2), which differs from N by (1 − ℓ) D⁻¹ only. Rows of arrays are the
    nodes of this rank, sums go over those of all.
    """

    kernel: Kernel
    points: np.ndarray  # (n, d)
    degrees: np.ndarray  # (n,)
    missing_loop: float  # 1 − ℓ
    gathered: np.ndarray | None = None  # Σ_j φ(x_j), where the kernel has summed it before
    value_error: float = 0.0  # a bound on the error of one kernel value in the sums that the degrees are
    group: Group = ALONE
    start: int = field(init=False)  # of this rank's nodes among all
    total: int = field(init=False)  # n, the nodes of all ranks

    def __post_init__(self) -> None:
        for name, value in zip(("start", "total"), self.group.offset(len(self.points)), strict=True):
            object.__setattr__(self, name, value)

    def by(self, kernel: Kernel) -> KernelOperator:
        """The same graph by another kernel, degrees included."""
        ones = kernel.gather(self.points, np.ones((len(self.points), 1)), self.group)
        degrees = kernel.evaluate(self.points, ones, 1)[:, 0] - self.missing_loop
        error = kernel.value_error
        return KernelOperator(kernel, self.points, degrees, self.missing_loop, ones, error, self.group)

    @property
    def mine(self) -> slice:
        """The nodes of this rank among all."""
        return slice(self.start, self.start + len(self.points))

    def norms(self, X: np.ndarray) -> np.ndarray:
        """|x| of each column, over the nodes of all ranks."""
        lengths: np.ndarray = np.sqrt(self.group.sum((X**2).sum(axis=0)))
        return lengths

    @cached_property
    def volume(self) -> float:
        """Σ_j d_j"""
        return float(self.group.sum(self.degrees.sum()))

    @cached_property
    def degree_bound(self) -> float:
        """n ε/(d − n ε), d the smallest degree, ε the ``value_error``: the largest relative error.

        The kernel's own error counts as well: the vectors are divided by degrees that it evaluates.
        """
        error = self.total * max(self.value_error, self.kernel.value_error)
        least = self.group.smallest(float(self.degrees.min(initial=np.inf))) - error
        return error / least if least > 0 else float("inf")

    @cached_property
    def ones(self) -> np.ndarray:
        """Σ_j φ(x_j), of which degrees are made."""
        if self.gathered is not None:
            return self.gathered
        return self.kernel.gather(self.points, np.ones((len(self.points), 1)), self.group)

    @cached_property
    def noise(self) -> float:
        """The size under which an eigenvalue of Ĝ cannot be told from the kernel's error."""
        return 10 * self.kernel.precision * self.total / (self.volume / self.total)

    @property
    def null_vector(self) -> np.ndarray:
        """u₀ = √d / |√d|: (n, 1)."""
        root = np.sqrt(self.degrees)[:, None]
        return root / np.sqrt(self.group.sum(root[:, 0] @ root[:, 0]))

    def smooth(self, X: np.ndarray) -> np.ndarray:
        """Ĝ X: (n, q)."""
        scale = 1 / np.sqrt(self.degrees)[:, None]
        result = self.kernel.product(self.points, scale * X, self.group)
        result *= scale
        return result

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """N X: (n, q)."""
        result = self.smooth(X)
        if self.missing_loop:
            result -= self.missing_loop * X / self.degrees[:, None]
        return result


def degree_floor(n: int, precision: float) -> float:
    """A degree at or below this cannot be told from zero."""
    return max(1e-10, 10 * n * precision)
