"""Trigonometric features: the kernel as a short Fourier series (docs/maths.md, 4.2); their Gram matrix."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import product

import finufft
import numpy as np
import scipy.fft

from pinvgcn.compute.parallel import cores, for_all, ranges, share_out
from pinvgcn.kernels.base import Box, Finish, SeriesKernel

CHUNK = 131_072  # nodes of one transform
COLUMNS = 8  # complex columns that one core transforms at a time
REACH = 2.0  # new points may be this many σ outside the box of the nodes
BLUR = 10.0  # how far beyond the precision that was asked for a sum and an evaluation may be
OUTSIDE = 1e-4  # the error of a kernel value that is accepted there
TURN = 0.5 - 0.5j  # see ``FourierGram``


class FourierKernel(SeriesKernel):
    """k(x, y) ≈ Σ_k b_k e^{2πi k·Qᵀ(x − y)/P} with b_k = ∏ √π (σ/P_i) exp(−(πσk_i/P_i)²) > 0.

    The kernel, repeated with period P on each axis of the cloud's own box, is a Fourier series whose
    coefficients decay as fast as the kernel does. With ε the ``precision`` and w = σ√(−ln ε) the distance at
    which the kernel has fallen to ε, P = extent + w leaves an error of ε between nodes, and the modes in the
    ellipsoid Σ (k_i/K_i)² ≤ 1, K_i = √(−ln ε) P_i/(πσ), suffice. P is at least so large that a point
    ``REACH`` σ outside the box sees the repetitions of the kernel with weights below ``OUTSIDE``.

    Use it in one to three dimensions when σ is not far below the extent. Sums over nodes are
    type-1 and evaluations type-2 non-uniform FFTs.
    """

    kind = "fourier"

    def __init__(self, box: Box, sigma: float, precision: float) -> None:
        super().__init__(box, sigma, precision)
        self.periods, largest = _plan(box, sigma, precision)
        self.largest_modes = np.floor(largest).astype(np.int64)  # K, whole
        squares, logs = np.zeros(()), np.zeros(())
        for period, K, k_max in zip(self.periods, largest, self.largest_modes, strict=True):
            k = np.arange(-k_max, k_max + 1)
            squares = squares[..., None] + (k / K) ** 2
            scale = math.log(math.sqrt(math.pi) * sigma / period)
            logs = logs[..., None] + scale - (math.pi * sigma * k / period) ** 2
        self._matters = squares <= 1
        self._weights = np.where(self._matters, np.exp(logs), 0.0)  # b on the box of modes

    @classmethod
    def size(cls, box: Box, sigma: float, precision: float) -> float:
        """The number of modes M, about."""
        _, largest = _plan(box, sigma, precision)
        d = box.dimension
        ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
        return float(max(1.0, ball * math.prod((largest + 0.5).tolist())))

    @cached_property
    def value_error(self) -> float:
        """What repetitions add, modes left out take away and transforms blur (docs/maths.md, 4.2)."""
        extent, steps = 2 * self.box.half, np.arange(1, 50)[:, None]

        def heard(distance: np.ndarray) -> np.ndarray:
            with np.errstate(over="ignore"):
                values: np.ndarray = np.exp(-((distance / self.sigma) ** 2)).sum(axis=0)  # an axis each
            return values

        far, near = heard(steps * self.periods), heard(steps * self.periods - extent)
        repeated = np.prod(1 + far + near) - 1
        left_out = max(np.prod(1 + 2 * far) - self._weights.sum(), 0.0)  # Σ of all b_k is the value at x = y
        return float(repeated + left_out + BLUR * max(self.precision, 1e-14))

    @property
    def n_features(self) -> int:
        """M"""
        return int(self._matters.sum())

    def inside(self, points: np.ndarray) -> np.ndarray:
        return (self.box.half + REACH * self.sigma >= np.abs(self.box.local(points)).T).all(axis=1)

    def _transform(
        self, kind: int, points: np.ndarray, given: np.ndarray, shape: tuple[int, ...]
    ) -> np.ndarray:
        """Σ_j c_j e^{−2πi k·x_j/P} on a box of modes (kind 1), Σ_k c_k e^{2πi k·x_j/P} at points (kind 2)."""
        angles = self.box.local(points) * (2 * math.pi / self.periods)[:, None]
        plan = finufft.Plan(
            kind,
            shape,
            n_trans=len(given),
            eps=max(self.precision, 1e-14),
            isign=-1 if kind == 1 else 1,
            dtype="complex128",
            upsampfac=2.0,
            nthreads=1,  # threads that spread one row together would add in an order that changes
            showwarn=0,
        )
        plan.setpts(*angles)
        values: np.ndarray = plan.execute(np.ascontiguousarray(given))
        return values.reshape(len(given), *(shape if kind == 1 else (len(points),)))

    def gather(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """b_k Σ_j e^{−2πi k·x_j/P} (w_{j,2q} + i w_{j,2q+1}): (⌈q/2⌉, modes…).

        Two real columns travel as one complex one; b is symmetric in k, so that evaluation gives the
        first as real and the second as imaginary part.
        """
        return self.group.sum(self._sums(points, weights, self._weights.shape) * self._weights)

    def without_weights(self, gathered: np.ndarray) -> np.ndarray:
        """Σ_j e^{−2πi k·x_j/P} w_j from what ``gather`` gives."""
        return np.divide(gathered, self._weights, out=np.zeros_like(gathered), where=self._matters)

    def _sums(self, points: np.ndarray, weights: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Type-1 transforms of real columns, two by two."""
        count = (weights.shape[1] + 1) // 2
        result = np.zeros((count, *shape), dtype=np.complex128)

        def work(task: tuple[slice, slice]) -> np.ndarray:
            rows, columns = task
            packed = pack(weights[rows, 2 * columns.start : 2 * columns.stop])
            return self._transform(1, points[rows], packed, shape)

        tasks = _tasks(len(points), count)
        for (_, columns), part in zip(tasks, share_out(work, tasks), strict=True):
            result[columns] += part
        return result

    def gathered_shape(self, columns: int) -> tuple[int, ...]:
        return (columns + 1) // 2, *self._weights.shape

    def evaluate(
        self, points: np.ndarray, coefficients: np.ndarray, columns: int, finish: Finish | None = None
    ) -> np.ndarray:
        result = np.empty((len(points), columns))

        def work(task: tuple[slice, slice]) -> None:
            rows, batch = task
            values = self._transform(2, points[rows], coefficients[batch], self._weights.shape)
            unpack(values, result[rows, 2 * batch.start : 2 * batch.stop])

        for_all(work, _tasks(len(points), len(coefficients)))
        if finish is not None:
            for_all(lambda rows: finish(rows, result[rows]), ranges(len(points), CHUNK // 8))
        return result

    def gram(self, points: np.ndarray, weights: np.ndarray) -> FourierGram:
        """Σ_j w_j φ(x_j) φ(x_j)ᵀ in the real features √b_k (cos + sin)(2π k·x/P), M × M, by its products.

        Its entries are √b_k √b_l t_{k−l} with t_m = Σ_j w_j e^{−2πi m·x_j/P}: one type-1 transform of
        doubled size, summed over the points of all ranks.
        """
        symbol = self._sums(points, weights[:, None], tuple(4 * self.largest_modes + 1))[0]
        return FourierGram(self.group.sum(symbol), np.sqrt(self._weights), self._matters)


def _plan(box: Box, sigma: float, precision: float) -> tuple[np.ndarray, np.ndarray]:
    """Periods P and largest modes K of each axis."""
    digits = math.sqrt(-math.log(precision))
    gap = max(digits, REACH + math.sqrt(-math.log(OUTSIDE)))
    periods = 2 * box.half + gap * sigma
    return periods, digits * periods / (math.pi * sigma)


def _tasks(n: int, columns: int) -> list[tuple[slice, slice]]:
    """Chunks of nodes times batches of columns: enough of them for all cores."""
    batch = max(1, min(COLUMNS, -(-columns // cores())))
    return list(product(ranges(n, CHUNK), ranges(columns, batch)))


def pack(columns: np.ndarray) -> np.ndarray:
    """Columns (n, q) two by two as complex rows (⌈q/2⌉, n)."""
    n, q = columns.shape
    packed = np.zeros(((q + 1) // 2, n), dtype=np.complex128)
    packed.real = columns[:, 0::2].T
    packed.imag[: q // 2] = columns[:, 1::2].T
    return packed


def combine(functions: np.ndarray) -> np.ndarray:
    """The coefficients of real functions (q, modes…), two by two as those of complex ones (⌈q/2⌉, modes…)."""
    pairs = functions[0::2].copy()
    pairs[: len(functions) // 2] += 1j * functions[1::2]
    return pairs


def unpack(packed: np.ndarray, columns: np.ndarray) -> None:
    """The inverse of ``pack``, into ``columns`` (n, q)."""
    columns[:, 0::2] = packed.real.T
    columns[:, 1::2] = packed.imag[: columns.shape[1] // 2].T


class FourierGram:
    """K_kl = √b_k √b_l t_{k−l}, M × M, in real coordinates.

    A vector v over modes belongs to a real function if v_{−k} is the conjugate of v_k. Then
    v_k = (1 − i)/2 a_k + (1 + i)/2 a_{−k} with real a of the same length: the coordinates in which
    ``K @ a`` multiplies. Its cost does not depend on the number of nodes, only on M. ``symbol`` has the t_m
    for |m_i| ≤ 2K_i, ``root`` the √b_k for |k_i| ≤ K_i, and ``matters`` tells which of these are used.
    """

    def __init__(self, symbol: np.ndarray, root: np.ndarray, matters: np.ndarray) -> None:
        self.modes = np.flatnonzero(matters)  # in an order that k → −k reverses
        self.shape = (len(self.modes), len(self.modes))
        self._root = root.ravel()[self.modes]
        self._box = matters.shape
        self._grid = tuple(scipy.fft.next_fast_len(side) for side in symbol.shape)
        # a convolution with t is a product with its transform, which is real because t_{−m} = conj t_m
        wrapped = np.zeros(self._grid, dtype=np.complex128)
        places = [
            np.arange(-(side // 2), side // 2 + 1) % n
            for side, n in zip(symbol.shape, self._grid, strict=True)
        ]
        wrapped[np.ix_(*places)] = symbol
        self._density = scipy.fft.fftn(wrapped).real

    def __matmul__(self, X: np.ndarray) -> np.ndarray:
        """K X for real columns (M, q); two of them travel as one complex one."""
        packed, result = pack(X), np.empty(X.shape)
        batches = ranges(len(packed), max(1, -(-len(packed) // cores())))
        products = share_out(lambda batch: self._multiply(packed[batch]), batches)
        for batch, part in zip(batches, products, strict=True):
            unpack(part, result[:, 2 * batch.start : 2 * batch.stop])
        return result

    def _multiply(self, a: np.ndarray) -> np.ndarray:
        """The product with complex rows (q, M) of real coordinates."""
        v = self.coefficients(a)
        for axis, n in enumerate(self._grid, start=1):  # axis by axis: what is padded is not transformed yet
            v = scipy.fft.fft(v, n=n, axis=axis, overwrite_x=True)
        v *= self._density
        for axis in range(len(self._box), 0, -1):
            v = scipy.fft.ifft(v, axis=axis, overwrite_x=True)
            v = np.take(v, range(self._box[axis - 1]), axis=axis)
        return self.coordinates(v)

    def coefficients(self, a: np.ndarray) -> np.ndarray:
        """√b v on the box of modes from coordinates (q, M): (q, modes…)."""
        v = np.zeros((len(a), int(np.prod(self._box))), dtype=np.complex128)
        v[:, self.modes] = (TURN * a + np.conj(TURN) * a[:, ::-1]) * self._root
        return v.reshape(len(a), *self._box)

    def coordinates(self, v: np.ndarray) -> np.ndarray:
        """The adjoint of ``coefficients``: (q, M), its real part where v belongs to real functions."""
        chosen = v.reshape(len(v), -1)[:, self.modes] * self._root
        return np.conj(TURN) * chosen + TURN * chosen[:, ::-1]

    def dense(self) -> np.ndarray:
        """K itself."""
        matrix = self @ np.eye(self.shape[0])
        return (matrix + matrix.T) / 2
