"""The spectrum of a kernel that has few features is a small problem."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pinvgcn.kernels import TaylorKernel

GRAM_DIGITS = 1e-14  # eigenvalues of SᵀS below this, relative to the largest, have no digit left
QR_DIGITS = 1e-18  # those of a QR of S: below this its vectors are not orthogonal to 1e-8 any more


def feature_eigenpairs(
    kernel: TaylorKernel, points: np.ndarray, degrees: np.ndarray, u0: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues θ of P Ĝ P, P = I − u₀u₀ᵀ, and their vectors as features' coefficients (M, r).

    With G = ΦΦᵀ and S = P D^(−1/2) Φ (n × M), the eigenpairs (θ, v) of the M × M matrix SᵀS give those of
    P Ĝ P = SSᵀ: u = S v/√θ (docs/maths.md, section 4). One pass over the nodes, no iteration. Where
    that does not give ``rank`` pairs, a second pass makes a QR of S in chunks: R has the singular values
    √θ, and with them twice the digits.
    """
    scale = 1 / np.sqrt(degrees)
    M = kernel.n_features
    gram, along = np.zeros((M, M)), np.zeros(M)
    for rows in kernel.chunks(len(u0)):
        S = kernel.features(points[rows]) * scale[rows]  # (M, chunk)
        gram += S @ S.T
        along += S @ u0[rows]
    gram -= np.outer(along, along)
    wanted = min(rank, M)
    theta, v = scipy.linalg.eigh(gram, subset_by_index=[M - wanted, M - 1])
    if theta[0] < GRAM_DIGITS * theta[-1]:
        R = np.zeros((0, M))
        for rows in kernel.chunks(len(u0)):
            S = kernel.features(points[rows]) * scale[rows] - np.outer(along, u0[rows])
            R = scipy.linalg.qr(np.vstack([R, S.T]), mode="r", overwrite_a=True)[0][:M]
        _, roots, vt = np.linalg.svd(R, full_matrices=False)
        theta, v = roots[:wanted][::-1] ** 2, vt[:wanted][::-1].T
    real = theta > QR_DIGITS * max(theta[-1], 1e-300)
    theta, v = theta[real][::-1], v[:, real][:, ::-1]
    return theta, v / np.sqrt(theta)
