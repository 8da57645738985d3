"""The spectrum of a kernel that has few features is a small problem (docs/maths.md, 4.4).

With G = ΦΦᵀ and S = P D^(−1/2) Φ (n × M), P = I − u₀u₀ᵀ, the eigenpairs (θ, v) of the M × M matrix SᵀS give
those of P Ĝ P = SSᵀ: u = S v/√θ. One pass over the nodes for SᵀS, none for its eigenpairs, one for vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.distributed.group import Group
from pinvgcn.kernels import FourierKernel, TaylorKernel
from pinvgcn.kernels.fourier import combine
from pinvgcn.spectra.dense import largest_eigenpairs
from pinvgcn.spectra.krylov import krylov_eigenpairs
from pinvgcn.spectra.operator import KernelOperator

EPS = float(np.finfo(np.float64).eps)
GRAM_DIGITS = 1e-12  # eigenvalues of SᵀS below this, beside the largest, have fewer than three digits
QR_DIGITS = 1e-18  # those of a QR of S: below this the vectors cannot be evaluated to eight digits any more
MOST_FEATURES = 3_000  # of the Taylor solver: its small matrix is whole
MOST_BY_QR = 700  # features: a QR costs many times a Gram matrix; beyond, it is for lost pairs only
DENSE_MODES = 800  # up to so many Fourier modes the small problem is solved whole


@dataclass(frozen=True)
class SmoothPairs:
    """Eigenpairs of P Ĝ P as functions of position."""

    theta: np.ndarray  # (q,), largest first
    coefficients: (
        np.ndarray
    )  # of the kernel's features: the sum of all nodes (for degrees), then u √d of each pair
    noise: np.ndarray  # (q,): what rounding and the kernel's error may do to θ
    cut: float = 0.0  # the share of the kernel's error in that

    def alike(self, group: Group) -> SmoothPairs:
        """The same bits on every rank: from equal sums, machines may round eigenpairs differently."""
        arrays = (self.theta, self.coefficients, self.noise, np.array([self.cut]))
        theta, coefficients, noise, cut = (group.first(array) for array in arrays)
        return SmoothPairs(theta, coefficients, noise, float(cut[0]))


def taylor_pairs(operator: KernelOperator, rank: int) -> SmoothPairs:
    """From the Gram matrix of Taylor features, or where that has no digits left from a QR of S in chunks.

    R has the singular values √θ, and with them twice the digits.
    """
    kernel, points, degrees = operator.kernel, operator.points, operator.degrees
    assert isinstance(kernel, TaylorKernel)
    inverse = 1 / degrees
    ones = operator.ones
    along = ones[:, 0] / np.sqrt(operator.volume)  # (D^(−1/2)Φ)ᵀ u₀
    gram = kernel.gram(points, inverse, operator.group)
    trace = operator.group.sum(inverse.sum())
    # k(x, x) = 1: what the traces differ by is the sum of all eigenvalues of the part that was cut off
    cut = min(max(trace - np.trace(gram), 0.0) + 10 * EPS, kernel.precision * trace)
    gram -= np.outer(along, along)
    M = len(gram)
    wanted = min(rank, M)
    theta, v = largest_eigenpairs(gram, wanted)
    noise = np.full(wanted, 4 * EPS * np.sqrt(M) * max(theta[0], EPS))
    drowned = theta[-1] <= noise[-1] and cut < noise[-1]  # in the rounding of the Gram matrix alone
    if theta[-1] < GRAM_DIGITS * theta[0] and (M <= MOST_BY_QR or drowned):
        _, roots, vt = np.linalg.svd(_triangle(operator, kernel, along), full_matrices=False)
        theta, v = roots[:wanted] ** 2, vt[:wanted].T
        error = 4 * EPS * np.sqrt(M) * roots[0]
        noise = 2 * roots[:wanted] * error + error**2
    noise += cut
    real = (theta > noise) & (theta > QR_DIGITS * theta[0])
    theta, v = theta[real], v[:, real]
    return SmoothPairs(theta, np.hstack([ones, v / np.sqrt(theta)]), noise[real], cut).alike(operator.group)


def _triangle(operator: KernelOperator, kernel: TaylorKernel, along: np.ndarray) -> np.ndarray:
    """R of a QR of S, the QR of the R of each chunk: (M, M)."""
    scale = 1 / np.sqrt(operator.degrees)
    u0 = operator.null_vector[:, 0]

    def work(rows: slice) -> np.ndarray:
        S = kernel.features(operator.points[rows], scale[rows]) - np.outer(along, u0[rows])
        return _r_factor(S.T)

    R = np.zeros((0, kernel.n_features))
    for part in share_out(work, ranges(len(u0), max(8_192, 4 * kernel.n_features))):
        R = _r_factor(np.vstack([R, part]))
    return R if operator.group.alone else _r_factor(operator.group.rows(R))


def _r_factor(matrix: np.ndarray) -> np.ndarray:
    R: np.ndarray = scipy.linalg.qr(matrix, mode="r", overwrite_a=True)[0]
    return R[: matrix.shape[1]]


def fourier_pairs(operator: KernelOperator, rank: int, *, tolerance: float, random_state: int) -> SmoothPairs:
    """From the Gram matrix of Fourier features, a convolution, by a Krylov iteration over FFTs."""
    kernel, points, degrees = operator.kernel, operator.points, operator.degrees
    assert isinstance(kernel, FourierKernel)
    gram = kernel.gram(points, 1 / degrees, operator.group)
    ones = operator.ones
    # gathered sums carry b where features have √b; ``coordinates`` multiplies by another √b
    along = gram.coordinates(kernel.without_weights(ones))[0].real / np.sqrt(operator.volume)
    M = len(along)
    if max(DENSE_MODES, 3 * rank) >= M:
        matrix = gram.dense() - np.outer(along, along)
        theta, a = largest_eigenpairs(matrix, min(rank, M))
    else:
        found = krylov_eigenpairs(
            lambda X: gram @ X - np.outer(along, along @ X),
            M,
            rank,
            deflate=np.zeros((M, 0)),
            tolerance=lambda theta: np.maximum(0.1 * np.minimum(tolerance, theta), 0.1 * operator.noise),
            random_state=random_state,
        )
        theta, a = found.values, found.vectors
    real = theta > operator.noise
    theta, a = theta[real], a[:, real]
    functions = gram.coefficients((a / np.sqrt(theta)).T)
    noise = np.full(len(theta), operator.noise)
    return SmoothPairs(theta, combine(np.concatenate([ones, functions])), noise).alike(operator.group)
