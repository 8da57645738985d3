"""Gram matrices of trigonometric features: convolutions, multiplied by FFT."""

from __future__ import annotations

import numpy as np
import scipy.fft

from pinvgcn.compute.parallel import cores, ranges, share_out

TURN = 0.5 - 0.5j


class FourierGram:
    """K_kl = √b_k √b_l t_{k−l}, M × M, in real coordinates.

    A vector v over modes belongs to a real function if v_{−k} is the conjugate of v_k. Then
    v_k = (1 − i)/2 a_k + (1 + i)/2 a_{−k} with real a of the same length: the coordinates in which
    ``K @ a`` multiplies. Its cost does not depend on the number of nodes, only on M.

    Parameters
    ----------
    symbol : complex array
        t_m for |m_i| ≤ 2K_i: side 4K_i + 1.
    root : array
        √b_k for |k_i| ≤ K_i: side 2K_i + 1.
    matters : boolean array
        The M modes that are used, symmetric about k = 0.
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
        half = (X.shape[1] + 1) // 2
        packed = X[:, 0::2].astype(np.complex128)
        packed.imag[:, : X.shape[1] // 2] = X[:, 1::2]
        result = np.empty(X.shape)
        batches = ranges(half, max(1, -(-half // cores())))
        for batch, part in zip(
            batches, share_out(lambda b: self._multiply(packed[:, b].T), batches), strict=True
        ):
            columns = result[:, 2 * batch.start : 2 * batch.stop]
            columns[:, 0::2] = part.real.T
            columns[:, 1::2] = part.imag[: columns.shape[1] // 2].T
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
