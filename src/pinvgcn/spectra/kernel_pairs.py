"""Eigenpairs of a Gaussian graph whose vectors are functions of position.

The vectors are *defined* as values of a ``KernelExtension`` at the nodes, made orthonormal by a
small matrix that the extension applies too. Evaluating them at the nodes therefore returns
them exactly, however inexact the pairs are (docs/maths.md, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from pinvgcn.kernels import ExactKernel, Kernel, TaylorKernel
from pinvgcn.spectra.dense import dense_eigenpairs
from pinvgcn.spectra.extension import KernelExtension
from pinvgcn.spectra.feature_map import feature_eigenpairs
from pinvgcn.spectra.krylov import krylov_eigenpairs
from pinvgcn.spectra.spectrum import Spectrum, orient

SPARE = 16  # pairs computed beyond the rank, so that the last ones wanted are not the last ones found


@dataclass(frozen=True)
class KernelOperator:
    """N = D^(−1/2) (G − (1 − ℓ) I) D^(−1/2), the normalised adjacency of a Gaussian graph.

    ``smooth`` is Ĝ = D^(−1/2) G D^(−1/2), which differs from N by (1 − ℓ) D⁻¹ only.
    """

    kernel: Kernel
    points: np.ndarray  # (n, d)
    degrees: np.ndarray  # (n,)
    missing_loop: float  # 1 − ℓ

    @property
    def noise(self) -> float:
        """The size under which an eigenvalue of Ĝ cannot be told from the kernel's error."""
        return 10 * self.kernel.precision * len(self.points) / float(self.degrees.mean())

    @property
    def null_vector(self) -> np.ndarray:
        """u₀ = √d / |√d|: (n, 1)."""
        root = np.sqrt(self.degrees)[:, None]
        return root / np.linalg.norm(root)

    def smooth(self, X: np.ndarray) -> np.ndarray:
        """Ĝ X: (n, q)."""
        scale = 1 / np.sqrt(self.degrees)[:, None]
        result = self.kernel.product(self.points, scale * X)
        result *= scale
        return result

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """N X: (n, q)."""
        result = self.smooth(X)
        if self.missing_loop:
            result -= self.missing_loop * X / self.degrees[:, None]
        return result


def krylov_spectrum(operator: KernelOperator, rank: int, *, tolerance: float, random_state: int) -> Spectrum:
    """Pairs by a Krylov iteration over kernel products, residuals ≤ ``tolerance`` on the true operator.

    The iteration works on Ĝ: its eigenvectors are smooth, and where the degrees are large they are
    those of N to within (1 − ℓ)/d, which a Rayleigh–Ritz step on N then corrects. Where that does
    not reach the tolerance the iteration continues on N itself, from what is there.
    """
    u0 = operator.null_vector
    n = len(u0)
    noise = operator.noise

    def relative(theta: np.ndarray) -> np.ndarray:
        return np.maximum(min(tolerance, 1e-3) * theta, noise)

    found = krylov_eigenpairs(
        operator.smooth, n, rank, deflate=u0, tolerance=relative, random_state=random_state
    )
    real = found.values > 10 * noise
    U, theta = found.vectors[:, real], found.values[real]
    # at s = θ the smooth functions already have the right scale
    smooth = _finish(operator, _sums(operator, U), shift=theta, gain=np.zeros_like(theta), solver="krylov")
    return _refine(operator, smooth, rank, tolerance=tolerance, random_state=random_state)


def taylor_spectrum(operator: KernelOperator, rank: int, *, tolerance: float, random_state: int) -> Spectrum:
    """Pairs from the small matrix of a Taylor kernel's features, without iteration."""
    assert isinstance(operator.kernel, TaylorKernel)
    theta, coefficients = feature_eigenpairs(
        operator.kernel, operator.points, operator.degrees, operator.null_vector[:, 0], rank + SPARE
    )
    ones = operator.kernel.gather(operator.points, np.ones((len(operator.points), 1)))
    smooth = _finish(
        operator,
        np.hstack([ones, coefficients]),
        shift=np.ones_like(theta),
        gain=np.zeros_like(theta),
        solver="taylor",
        rank=rank,
    )
    return _refine(operator, smooth, rank, tolerance=tolerance, random_state=random_state)


def _refine(
    operator: KernelOperator, spectrum: Spectrum, rank: int, *, tolerance: float, random_state: int
) -> Spectrum:
    """The spectrum itself where its residuals on N are small enough, else a Krylov iteration on N from it."""
    if operator.missing_loop == 0 or (spectrum.residuals <= tolerance).all():
        return spectrum
    n = len(operator.points)
    start = spectrum.vectors if 0 < spectrum.rank <= n // 8 else None
    for stricter in (1.0, 1e-3, 1e-6):
        found = krylov_eigenpairs(
            operator,
            n,
            rank,
            deflate=operator.null_vector,
            tolerance=lambda theta, goal=stricter * tolerance: np.full_like(theta, goal),  # type: ignore[misc]
            start=start,
            random_state=random_state,
        )
        refined = pointwise_spectrum(operator, found.values, found.vectors, solver=spectrum.solver)
        if (refined.residuals <= tolerance).all():
            break
        start = found.vectors if rank <= n // 8 else None
    return refined


def dense_spectrum(operator: KernelOperator, rank: int) -> Spectrum:
    """Pairs of the whole n × n matrix, O(n³): the oracle."""
    n = len(operator.points)
    kernel = ExactKernel(operator.points, operator.kernel.sigma)
    operator = replace(operator, kernel=kernel)
    G = kernel.matrix(operator.points)
    np.fill_diagonal(G, 1 - operator.missing_loop)
    operator = replace(operator, degrees=G.sum(axis=1))
    scale = 1 / np.sqrt(operator.degrees)
    mu, U = dense_eigenpairs(scale[:, None] * G * scale, min(rank, n - 1), deflate=operator.null_vector)
    if operator.missing_loop == 0:
        real = mu > 10 * operator.noise
        mu, U = mu[real], U[:, real]
    return pointwise_spectrum(operator, mu, U, solver="dense")


def pointwise_spectrum(operator: KernelOperator, mu: np.ndarray, U: np.ndarray, *, solver: str) -> Spectrum:
    """Pairs of N itself, extended by u(x) = f(x) / (√d(x) (μ + (1 − ℓ)/d(x))).

    At the nodes this is u + ρ/δ, with ρ the residual and δ the denominator. A column in which δ nearly
    vanishes at some node takes the smooth extension instead.
    """
    shift, gain = mu.copy(), np.full_like(mu, operator.missing_loop)
    delta = np.abs(mu + operator.missing_loop / operator.degrees[:, None])  # (n, r)
    defect = np.abs(operator(U) - mu * U)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.linalg.norm(defect / delta, axis=0)
    bad = ~(change < 0.1)
    shift[bad], gain[bad] = 1.0, 0.0
    return _finish(operator, _sums(operator, U), shift=shift, gain=gain, solver=solver)


def _sums(operator: KernelOperator, U: np.ndarray) -> np.ndarray:
    """What an extension needs of all nodes: the gathered 1 (for degrees) and D^(−1/2) U."""
    columns = np.hstack([np.ones((len(U), 1)), U / np.sqrt(operator.degrees)[:, None]])
    return operator.kernel.gather(operator.points, columns)


def _finish(
    operator: KernelOperator,
    sums: np.ndarray,
    *,
    shift: np.ndarray,
    gain: np.ndarray,
    solver: str,
    rank: int | None = None,
) -> Spectrum:
    """Make the functions of these sums orthonormal on the nodes and diagonalise N on their span.

    ``rank`` cuts off what was computed to spare.
    """
    points, kernel = operator.points, operator.kernel
    count = 1 + len(shift)
    extension = KernelExtension(
        kernel,
        sums,
        count,
        shift,
        gain,
        operator.missing_loop,
        degree_floor(len(points), kernel.precision),
        np.eye(count),
    )
    functions = extension(points)  # (n, 1 + q), column 0 is √d
    scale = np.linalg.norm(functions, axis=0)
    heard = np.concatenate([[0], 1 + np.flatnonzero(scale[1:] > 10 * operator.noise)])
    E = functions[:, heard] / scale[heard]
    _, R, order = scipy.linalg.qr(E[:, 1:] - E[:, :1] * (E[:, 0] @ E[:, 1:]), mode="economic", pivoting=True)
    independent = int((np.abs(np.diag(R)) > 1e-6).sum())
    chosen = np.concatenate([[0], 1 + np.sort(order[:independent])])
    Q, R = np.linalg.qr(E[:, chosen])
    chosen = heard[chosen]
    transform = np.zeros((len(scale), len(chosen)))
    transform[chosen] = scipy.linalg.solve_triangular(R, np.eye(len(chosen))) / scale[chosen, None]
    transform[:, 0] *= np.sign(R[0, 0])  # √d, not −√d
    V = Q[:, 1:]
    NV, theta, S = _ritz(operator, V)
    theta, S = theta[:rank], S[:, :rank]
    S = S * orient(V @ S)
    transform = np.hstack([transform[:, :1], transform[:, 1:] @ S])
    residuals = np.linalg.norm(NV @ S - (V @ S) * theta, axis=0)
    values = 1 - theta
    # further components, within rounding: a Rayleigh quotient is as exact as its residual squared
    null = 1 + int((values <= np.maximum(max(1e-12, operator.noise), 10 * residuals**2)).sum())
    if null > 1:
        transform[:, :null] = transform[:, :null] @ _separate(functions @ transform[:, :null])
    basis = functions @ transform
    return Spectrum(
        basis[:, :null],
        values[null - 1 :],
        basis[:, null:],
        residuals[null - 1 :],
        solver,
        replace(extension, transform=transform),
    )


def _separate(null: np.ndarray) -> np.ndarray:
    """The rotation (k, k) after which each null vector lives on one piece, and is positive there.

    Nodes of one piece have parallel rows in any basis of the null space, those of two pieces orthogonal ones:
    a pivoted QR finds a node of each.
    """
    _, _, nodes = scipy.linalg.qr(null.T, mode="economic", pivoting=True)
    rotation, R = np.linalg.qr(null[nodes[: null.shape[1]]].T)
    return rotation * np.sign(np.diag(R))


def _ritz(operator: KernelOperator, V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N V, and the eigenpairs (θ, S) of VᵀNV, largest first.

    Where N = BᵀB for B = Φᵀ D^(−1/2) V, the singular values of B give small θ to more digits.
    """
    if operator.missing_loop or not isinstance(operator.kernel, TaylorKernel):
        NV = operator(V)
        H = V.T @ NV
        theta, S = scipy.linalg.eigh((H + H.T) / 2)
        return NV, theta[::-1], S[:, ::-1]
    scale = 1 / np.sqrt(operator.degrees)[:, None]
    B = operator.kernel.gather(operator.points, scale * V)  # (M, r)
    _, roots, St = np.linalg.svd(B, full_matrices=False)
    NV = scale * operator.kernel.evaluate(operator.points, B, V.shape[1])
    return NV, roots**2, St.T


def degree_floor(n: int, precision: float) -> float:
    """A degree at or below this cannot be told from zero."""
    return max(1e-10, 10 * n * precision)
