"""Trigonometric features: the kernel as a short Fourier series (docs/maths.md, section 4)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import finufft
import numpy as np

from pinvgcn.kernels.base import Kernel

COLUMNS_AT_A_TIME = 16  # bounds the memory of a batched transform; two real columns share one


class FourierKernel(Kernel):
    """k(x, y) ≈ Σ_k b_k e^{2πi k·(x − y)/P} with b_k = ∏ √π (σ/P) exp(−(πσk/P)²) > 0.

    The kernel, repeated with period P on each axis, is a Fourier series whose coefficients decay as
    fast as the kernel does. With ε the ``precision`` and w = σ√(−ln ε) the distance at which the kernel
    has fallen to ε, P = extent + 2w makes the error ε for points up to w outside the box of the
    nodes (where all weights are below ε anyway), and |k| ≤ √(−ln ε) P/(πσ) modes suffice.

    Use it in one to three dimensions when σ is not far below the extent. Sums over nodes are
    type-1 and evaluations type-2 non-uniform FFTs.
    """

    kind = "fourier"

    def __init__(self, centre: np.ndarray, extent: np.ndarray, sigma: float, precision: float) -> None:
        self.centre = centre
        self.extent = extent
        self.sigma = sigma
        self.precision = precision
        self.periods, self.cutoffs = self._plan(extent, sigma, precision)
        self._weights = self._mode_weights()

    @classmethod
    def over(cls, points: np.ndarray, sigma: float, precision: float) -> FourierKernel:
        """The kernel map for the box that holds the points."""
        low, high = points.min(axis=0), points.max(axis=0)
        return cls((low + high) / 2, high - low, sigma, precision)

    @staticmethod
    def _plan(extent: np.ndarray, sigma: float, precision: float) -> tuple[np.ndarray, np.ndarray]:
        """Periods P and largest modes |k| of each axis."""
        digits = math.sqrt(-math.log(precision))
        periods = extent + 2 * sigma * digits
        return periods, np.ceil(digits * periods / (math.pi * sigma))

    @classmethod
    def size(cls, extent: np.ndarray, sigma: float, precision: float) -> float:
        """The number of modes M that a box of this extent needs."""
        _, cutoffs = cls._plan(extent, sigma, precision)
        return math.prod((2 * cutoffs + 1).tolist())

    @property
    def margin(self) -> float:
        """How far outside the box of the nodes the kernel may be evaluated."""
        return self.sigma * math.sqrt(-math.log(self.precision))

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def inside(self, points: np.ndarray) -> np.ndarray:
        return (np.abs(points - self.centre) <= self.extent / 2 + self.margin).all(axis=1)

    def _mode_weights(self) -> np.ndarray:
        """b_k on the grid of modes."""
        weights = np.ones(())
        for period, cutoff in zip(self.periods, self.cutoffs, strict=True):
            k = np.arange(-cutoff, cutoff + 1)
            b = math.sqrt(math.pi) * self.sigma / period * np.exp(-((math.pi * self.sigma * k / period) ** 2))
            weights = weights[..., None] * b
        return weights

    def _angles(self, points: np.ndarray) -> list[np.ndarray]:
        scaled = (points - self.centre) * (2 * math.pi / self.periods)
        return [np.ascontiguousarray(axis) for axis in scaled.T]

    def _transform(
        self, kind: int, points: np.ndarray, given: np.ndarray, finish: Callable[[slice, np.ndarray], None]
    ) -> None:
        """A type-1 or type-2 transform of each row of ``given``; ``finish`` gets the rows and their results.

        Each transform runs on one thread, and threads share the rows out: threads that spread one row
        together would add in an order that changes from run to run, and with it the last bits.
        """
        angles = self._angles(points)
        threads = _threads()
        size = max(1, min(COLUMNS_AT_A_TIME // 2, -(-len(given) // threads)))

        def work(start: int) -> None:
            rows = slice(start, min(start + size, len(given)))
            plan = finufft.Plan(
                kind,
                self._weights.shape,
                n_trans=rows.stop - rows.start,
                eps=max(0.1 * self.precision, 1e-14),
                isign=-1 if kind == 1 else 1,
                dtype="complex128",
                upsampfac=2.0,
                nthreads=1,
                showwarn=0,
            )
            plan.setpts(*angles)
            shape = self._weights.shape if kind == 1 else (len(points),)
            values = plan.execute(np.ascontiguousarray(given[rows]))
            finish(rows, values.reshape(rows.stop - rows.start, *shape))

        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(work, range(0, len(given), size)):
                pass

    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """b_k Σ_j e^{−2πi k·x_j/P} (w_{j,2q} + i w_{j,2q+1}): (⌈q/2⌉, modes…).

        Two real columns travel as one complex one; b is symmetric in k, so that evaluation gives the
        first as real and the second as imaginary part.
        """
        packed = _pack(weights)  # (q/2, n)
        result = np.empty((len(packed), *self._weights.shape), dtype=np.complex128)

        def finish(rows: slice, values: np.ndarray) -> None:
            np.multiply(values, self._weights, out=result[rows])

        self._transform(1, points, packed, finish)
        return result

    def evaluate(self, points: np.ndarray, coefficients: np.ndarray, columns: int) -> np.ndarray:
        result = np.empty((len(points), columns))

        def finish(rows: slice, values: np.ndarray) -> None:
            _unpack(values, result[:, 2 * rows.start : 2 * rows.stop])

        self._transform(2, points, coefficients, finish)
        return result

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sigma": self.sigma, "precision": self.precision}, {
            "centre": self.centre,
            "extent": self.extent,
        }

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> FourierKernel:
        return cls(arrays["centre"], arrays["extent"], numbers["sigma"], numbers["precision"])


def _pack(columns: np.ndarray) -> np.ndarray:
    """Columns (n, q) two by two as complex rows (⌈q/2⌉, n)."""
    n, q = columns.shape
    packed = np.zeros(((q + 1) // 2, n), dtype=np.complex128)
    packed.real = columns[:, 0::2].T
    packed.imag[: q // 2] = columns[:, 1::2].T
    return packed


def _unpack(packed: np.ndarray, columns: np.ndarray) -> None:
    """The inverse of ``_pack``, into ``columns`` (n, q)."""
    columns[:, 0::2] = packed.real.T
    columns[:, 1::2] = packed.imag[: columns.shape[1] // 2].T


def _threads() -> int:
    """OMP_NUM_THREADS, or the cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else os.cpu_count() or 1
