"""The solvers of Gaussian graphs: each finds pairs in its own way and hands them to ``functions.py``.

The spectrum of a kernel that has few features is a small problem (docs/maths.md, 4.4). With G = ΦΦᵀ and
S = P D^(−1/2) Φ (n × M), P = I − u₀u₀ᵀ, the eigenpairs (θ, v) of the M × M matrix SᵀS give those of
P Ĝ P = SSᵀ: u = S v/√θ. One pass over the nodes for SᵀS, none for its eigenpairs, one for vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.errors import GraphError
from pinvgcn.kernels import CutoffKernel, ExactKernel, FourierKernel, SeriesKernel, TaylorKernel
from pinvgcn.kernels.fourier import combine
from pinvgcn.spectra.eigenpairs import (
    dense_eigenpairs,
    heat_eigenpairs,
    krylov_eigenpairs,
    largest_eigenpairs,
)
from pinvgcn.spectra.functions import SmoothPairs, pointwise_spectrum, smooth_spectrum
from pinvgcn.spectra.operator import ALL_ROWS, KernelOperator
from pinvgcn.spectra.spectrum import Spectrum

NEGLIGIBLE = 0.1  # the part of an eigenvalue that a Taylor series may leave out
FINEST_FOURIER = 2e-13  # a Fourier series is not made longer than this: rounding is next
SHORTEST = 1e-19  # the precision at which a Taylor series is not made longer any more
MOST_NULL_ENTRIES = 20_000_000  # nodes times pieces: their null vectors are whole in memory, several times
SPARE = 16  # pairs of Ĝ beyond the rank: those of N are combinations of more of them
EPS = float(np.finfo(np.float64).eps)
GRAM_DIGITS = 1e-12  # eigenvalues of SᵀS below this, beside the largest, have fewer than three digits
QR_DIGITS = 1e-18  # those of a QR of S: below this the vectors cannot be evaluated to eight digits any more
MOST_FEATURES = 3_000  # of the Taylor solver: its small matrix is whole
MOST_BY_QR = 700  # features: a QR costs many times a Gram matrix; beyond, it is for lost pairs only
DENSE_MODES = 800  # up to so many Fourier modes the small problem is solved whole


def smooth_solver(
    solver: str, operator: KernelOperator, rank: int, *, tolerance: float, random_state: int
) -> Spectrum:
    """ "taylor", "fourier" or "krylov": pairs of Ĝ, with a longer series of the kernel while this one is too
    short; then of N.

    The Krylov iteration over kernel products is the paper's way. It works on Ĝ: its eigenvectors are smooth,
    and where the degrees are large they are those of N to within (1 − ℓ)/d, which a Rayleigh–Ritz step on N
    then corrects.
    """
    find, too_short = SMOOTH_SOLVERS[solver]
    options = {} if solver == "taylor" else {"tolerance": tolerance, "random_state": random_state}
    wanted = rank + (SPARE if operator.missing_loop else 0)
    pairs = find(operator, wanted, **options)
    while too_short(operator, pairs, wanted):
        # the same operator by a kernel with a thousandth of the error, degrees included
        kernel = operator.kernel
        assert isinstance(kernel, SeriesKernel)
        operator = operator.by(type(kernel)(kernel.box, kernel.sigma, max(1e-3 * kernel.precision, SHORTEST)))
        pairs = find(operator, wanted, **options)
    spectrum = smooth_spectrum(operator, pairs, rank, solver=solver)
    return _refine(operator, spectrum, rank, tolerance=tolerance, random_state=random_state)


def _too_short(operator: KernelOperator, pairs: SmoothPairs, wanted: int) -> bool:
    """Whether more features would give pairs that are missing, or digits to those that are there.

    For pairs the series grows to the most features that the solver takes, for digits while they cost little.
    """
    kernel = operator.kernel
    assert isinstance(kernel, TaylorKernel)
    if kernel.precision <= SHORTEST or operator.missing_loop:
        return False
    missing = len(pairs.theta) < min(wanted, operator.total - 1)
    if kernel.n_features > (MOST_FEATURES / 2 if missing else MOST_BY_QR / 2):
        return False
    all_used = missing and kernel.n_features <= wanted
    return all_used or bool(len(pairs.theta) and pairs.cut > NEGLIGIBLE * pairs.theta[-1])


def _krylov_pairs(operator: KernelOperator, rank: int, *, tolerance: float, random_state: int) -> SmoothPairs:
    u0, noise = operator.null_vector, operator.noise
    found = krylov_eigenpairs(
        operator.smooth,
        len(u0),
        rank,
        deflate=u0,
        tolerance=lambda theta: np.maximum(min(tolerance, 1e-3) * theta, noise),
        random_state=random_state,
    )
    real = found.values > 10 * noise
    theta, U = found.values[real], found.vectors[:, real]
    columns = np.hstack([np.ones((len(u0), 1)), U / (theta * np.sqrt(operator.degrees)[:, None])])
    sums = operator.kernel.gather(operator.points, columns)
    return SmoothPairs(theta, sums, np.full(len(theta), noise))


def _drowned(operator: KernelOperator, pairs: SmoothPairs, wanted: int) -> bool:
    """Whether pairs are missing that a longer Fourier series may have."""
    short = len(pairs.theta) < min(wanted, operator.total - 1)
    return short and isinstance(operator.kernel, FourierKernel) and operator.kernel.precision > FINEST_FOURIER


def cutoff_spectrum(operator: KernelOperator, rank: int, *, tolerance: float, random_state: int) -> Spectrum:
    """Pairs of a sparse matrix: its pieces by their edges, the rest by iterating on the heat kernel."""
    assert isinstance(operator.kernel, CutoffKernel)
    n = len(operator.points)
    scale = sp.diags_array(1 / np.sqrt(operator.degrees))
    G = operator.kernel.matrix
    N = sp.csr_array(scale @ (G - operator.missing_loop * sp.eye_array(n)) @ scale)
    count, piece = connected_components(G, directed=False)
    if n * count > MOST_NULL_ENTRIES:
        raise GraphError(
            f"The points must hang together more than they do. Got {count:,} pieces of {n:,} points at "
            f"sigma={operator.kernel.sigma:g}; use a larger sigma."
        )
    root = np.sqrt(operator.degrees)
    null = np.zeros((n, count))
    null[np.arange(n), piece] = root
    null /= np.linalg.norm(null, axis=0)
    # an orthonormal basis of the null vectors beside √d, which every spectrum has
    beside = null[:, :0]
    if count > 1:
        beside = null @ scipy.linalg.null_space((null.T @ root)[None] / np.linalg.norm(root))
    rank = min(rank, n - count)
    mu, U = np.zeros(0), np.zeros((n, 0))
    if rank and n <= ALL_ROWS:
        mu, U = dense_eigenpairs(N.toarray(), rank, deflate=null)
    elif rank:
        found = heat_eigenpairs(
            N.__matmul__,
            n,
            rank,
            deflate=null,
            tolerance=0.1 * tolerance,
            neighbours=N.nnz / n,
            random_state=random_state,
        )
        mu, U = found.values, found.vectors
    mu, U = np.concatenate([np.ones(count - 1), mu]), np.hstack([beside, U])
    return pointwise_spectrum(operator, *_above_noise(operator, mu, U), solver="cutoff")


def dense_spectrum(operator: KernelOperator, rank: int, *, solver: str = "dense") -> Spectrum:
    """Pairs of the whole n × n matrix, O(n³): the oracle."""
    group, missing = operator.group, operator.missing_loop
    points = group.rows(operator.points)  # few: every rank solves the whole
    kernel = ExactKernel(points, operator.kernel.sigma, group)
    G = kernel.matrix(points)
    np.fill_diagonal(G, 1 - missing)
    whole = KernelOperator(kernel, points, G.sum(axis=1), missing, value_error=kernel.value_error)
    scale = 1 / np.sqrt(whole.degrees)
    found = dense_eigenpairs(
        scale[:, None] * G * scale, min(rank, len(points) - 1), deflate=whole.null_vector
    )
    mu, U = _above_noise(whole, *(group.first(array) for array in found))
    own = replace(whole, points=operator.points, degrees=whole.degrees[operator.mine], group=group)
    return pointwise_spectrum(own, mu, U[operator.mine], solver=solver)


def _above_noise(operator: KernelOperator, mu: np.ndarray, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """With loops of weight 1 the pairs near μ = 0 are rounding; without, they live at single nodes."""
    real = mu > 10 * operator.noise if operator.missing_loop == 0 else np.ones(len(mu), dtype=bool)
    return mu[real], U[:, real]


def _refine(
    operator: KernelOperator, spectrum: Spectrum, rank: int, *, tolerance: float, random_state: int
) -> Spectrum:
    """The spectrum itself where its residuals on N are small enough, else pairs of N, from what is there."""
    if (spectrum.residuals <= tolerance).all() and (spectrum.rank or operator.missing_loop == 0):
        return spectrum
    n = operator.total
    if n <= ALL_ROWS:
        return dense_spectrum(operator, rank, solver=spectrum.solver)
    start = np.array(spectrum.vectors) if 0 < spectrum.rank <= n // 8 else None
    for stricter in (1.0, 1e-3, 1e-6):
        found = krylov_eigenpairs(
            operator,
            len(operator.points),
            rank,
            deflate=operator.null_vector,
            tolerance=stricter * tolerance,
            start=start,
            random_state=random_state,
            group=operator.group,
        )
        refined = pointwise_spectrum(operator, found.values, found.vectors, solver=spectrum.solver)
        if (refined.residuals <= tolerance).all():
            break
        start = found.vectors if rank <= n // 8 else None
    return refined


def taylor_pairs(operator: KernelOperator, rank: int) -> SmoothPairs:
    """From the Gram matrix of Taylor features, or where that has no digits left from a QR of S in chunks.

    R has the singular values √θ, and with them twice the digits.
    """
    kernel, points, degrees = operator.kernel, operator.points, operator.degrees
    assert isinstance(kernel, TaylorKernel)
    inverse = 1 / degrees
    ones = operator.ones
    along = ones[:, 0] / np.sqrt(operator.volume)  # (D^(−1/2)Φ)ᵀ u₀
    gram = kernel.gram(points, inverse)
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
    return SmoothPairs(theta, np.hstack([ones, v / np.sqrt(theta)]), noise[real], cut).alike(operator)


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
    gram = kernel.gram(points, 1 / degrees)
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
    return SmoothPairs(theta, combine(np.concatenate([ones, functions])), noise).alike(operator)


# how each finds pairs, and when more features would give more of them
SMOOTH_SOLVERS: dict[str, tuple[Callable[..., SmoothPairs], Callable[..., bool]]] = {
    "taylor": (taylor_pairs, _too_short),
    "fourier": (fourier_pairs, _drowned),
    "krylov": (_krylov_pairs, _drowned),
}
# what each costs, and with which kernel, is in ``graphs/choice.py``
KERNEL_SOLVERS: dict[str, Callable[..., Spectrum]] = {
    **{solver: partial(smooth_solver, solver) for solver in SMOOTH_SOLVERS},
    "cutoff": cutoff_spectrum,
}
