"""Spectra whose vectors are functions of position.

The vectors are *defined* as values of a ``KernelExtension`` at the nodes, made orthonormal by a
small matrix that the extension applies too. Evaluating them at the nodes therefore returns
them exactly, however inexact the pairs are (docs/maths.md, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from pinvgcn.compute.parallel import for_all, ranges, share_out
from pinvgcn.spectra.extension import KernelExtension
from pinvgcn.spectra.operator import KernelOperator, Known, RowSample, degree_floor, measure
from pinvgcn.spectra.spectrum import ZERO, Spectrum, signs_of, third_moments

CHUNK = 4_096  # nodes at a time: their values stay in the cache
DEPENDENT = 1e-6  # a function that differs from the others by less than this is one of them
SAFE = 1e-3  # functions with a Gram matrix this far from singular are made orthonormal by its Cholesky factor


@dataclass(frozen=True)
class SmoothPairs:
    """Eigenpairs of P Ĝ P as functions of position."""

    theta: np.ndarray  # (q,), largest first
    coefficients: np.ndarray  # of features: the sum of all nodes, for degrees, then u √d of each pair
    noise: np.ndarray  # (q,): what rounding and the kernel's error may do to θ
    cut: float = 0.0  # the share of the kernel's error in that

    def alike(self, operator: KernelOperator) -> SmoothPairs:
        """The same bits on every rank: from equal sums, machines may round eigenpairs differently."""
        arrays = (self.theta, self.coefficients, self.noise, np.array([self.cut]))
        theta, coefficients, noise, cut = _alike(operator, arrays)
        return SmoothPairs(theta, coefficients, noise, float(cut[0]))


def smooth_spectrum(operator: KernelOperator, pairs: SmoothPairs, rank: int, *, solver: str) -> Spectrum:
    """The ``rank`` smoothest pairs of N from more of P Ĝ P: u(x) = f(x)/√d(x), f in the kernel's features.

    N U = U θ − (1 − ℓ) P D⁻¹ U where Ĝ's pairs are exact, so that the r × r matrix UᵀNU needs no product.
    """
    q = len(pairs.theta)
    ones = np.ones(q)
    extension = _extension(operator, pairs.coefficients, shift=ones, gain=np.zeros(q))
    E = extension.functions(operator.points)  # (n, 1 + q), column 0 is √d
    T, chosen = _orthonormaliser(operator, E)
    theta, noise = pairs.theta[chosen], pairs.noise[chosen]
    S, known = np.eye(len(theta))[:, :rank], None
    if operator.missing_loop:
        gram = _weighted_gram(operator, E, 1 / operator.degrees)
        inverse_degrees = T.T @ gram @ T  # [u₀ U]ᵀ D⁻¹ [u₀ U]
        along, inner = inverse_degrees[0, 1:], inverse_degrees[1:, 1:]
        mu, S = _alike(operator, scipy.linalg.eigh(np.diag(theta) - operator.missing_loop * inner))
        mu, S = mu[::-1][:rank], S[:, ::-1][:, :rank]
        noise = np.full(len(mu), noise.max(initial=0))

        def defect(rows: slice | np.ndarray) -> np.ndarray:
            V = E[rows] @ T
            u0, U = V[:, :1], V[:, 1:]
            NU = U * theta - operator.missing_loop * (U / operator.degrees[rows, None] - u0 * along)
            return NU @ S - (U @ S) * mu

        squares = share_out(lambda rows: (defect(rows) ** 2).sum(axis=0), ranges(len(E), CHUNK))
        norms = np.sqrt(operator.group.sum(sum(squares, np.zeros(len(mu)))))
        rows = RowSample.of(operator).rows
        known = Known(norms, operator.group.rows(defect(rows)))
    else:
        mu, noise = theta[:rank], noise[:rank]
    T = np.hstack([T[:, :1], T[:, 1:] @ S])
    return _seal(operator, extension, E, T, mu, noise, known, solver)


def pointwise_spectrum(operator: KernelOperator, mu: np.ndarray, U: np.ndarray, *, solver: str) -> Spectrum:
    """Pairs of N itself, extended by u(x) = f(x) / (√d(x) (μ + (1 − ℓ)/d(x))).

    At the nodes this is u + ρ/δ, with ρ the residual and δ the denominator. A column in which δ nearly
    vanishes at some node takes the smooth extension instead.
    """
    shift, gain = mu.copy(), np.full_like(mu, operator.missing_loop)
    delta = np.abs(mu + operator.missing_loop / operator.degrees[:, None])  # (n, r)
    defect = np.abs(operator(U) - mu * U)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = operator.norms(defect / delta)
    bad = ~(change < 0.1)
    shift[bad], gain[bad] = 1.0, 0.0
    columns = np.hstack([np.ones((len(U), 1)), U / np.sqrt(operator.degrees)[:, None]])
    sums = operator.kernel.gather(operator.points, columns)
    extension = _extension(operator, sums, shift=shift, gain=gain)
    E = extension.functions(operator.points)
    T, _ = _orthonormaliser(operator, E)
    V = E @ T[:, 1:]
    NV = operator(V)
    H = operator.group.sum(V.T @ NV)
    theta, S = _alike(operator, scipy.linalg.eigh((H + H.T) / 2))
    theta, S = theta[::-1], S[:, ::-1]
    defect = NV @ S - V @ (S * theta)
    rows = RowSample.of(operator).rows
    known = Known(operator.norms(defect), operator.group.rows(defect[rows]))
    T = np.hstack([T[:, :1], T[:, 1:] @ S])
    noise = np.full_like(theta, operator.noise)
    return _seal(operator, extension, E, T, theta, noise, known, solver)


def _extension(
    operator: KernelOperator, sums: np.ndarray, *, shift: np.ndarray, gain: np.ndarray
) -> KernelExtension:
    """The functions of these sums as they are, not yet orthonormal."""
    count = 1 + len(shift)
    floor = degree_floor(operator.total, operator.kernel.precision)
    return KernelExtension(
        operator.kernel, sums, count, shift, gain, operator.missing_loop, floor, np.eye(count)
    )


def _alike(operator: KernelOperator, arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The same bits on every rank, where machines may round the same small problem differently."""
    return tuple(operator.group.first(array) for array in arrays)


def _orthonormaliser(operator: KernelOperator, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T (1 + q, 1 + p) with E T orthonormal and its first column ∝ √d, and which p of the q pairs it uses."""
    group, noise = operator.group, operator.noise
    gram = _weighted_gram(operator, E)
    scale = np.sqrt(np.diag(gram))
    if (scale[1:] > 10 * noise).all():
        scaled = gram / np.outer(scale, scale)
        if group.smallest(float(np.linalg.eigvalsh(scaled)[0])) > SAFE:
            L = np.linalg.cholesky(scaled)
            T = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True).T / scale[:, None]
            return group.first(T), np.arange(len(L) - 1)
    heard = np.concatenate([[0], 1 + np.flatnonzero(scale[1:] > 10 * noise)])
    F = E[:, heard] / scale[heard]
    beside = F[:, 1:] - F[:, :1] * group.sum(F[:, 0] @ F[:, 1:])
    _, R, order = scipy.linalg.qr(_fewer_rows(operator, beside), mode="economic", pivoting=True)
    independent = int((np.abs(np.diag(R)) > DEPENDENT).sum())
    chosen = group.first(np.concatenate([[0], 1 + np.sort(order[:independent])]))
    _, R = np.linalg.qr(_fewer_rows(operator, F[:, chosen]))
    R *= np.sign(np.diag(R))[:, None]  # √d, not −√d
    chosen = heard[chosen]
    T = np.zeros((len(scale), len(chosen)))
    T[chosen] = scipy.linalg.solve_triangular(R, np.eye(len(chosen))) / scale[chosen, None]
    return group.first(T), chosen[1:] - 1


def _fewer_rows(operator: KernelOperator, F: np.ndarray) -> np.ndarray:
    """A matrix with the same FᵀF over the rows of all ranks: F itself, or the R of each rank, stacked."""
    if operator.group.alone:
        return F
    _, R = np.linalg.qr(F)
    return operator.group.rows(R)


def _weighted_gram(operator: KernelOperator, E: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Eᵀ diag(w) E, over the rows of all ranks."""

    def work(rows: slice) -> np.ndarray:
        return (E[rows].T if weights is None else E[rows].T * weights[rows]) @ E[rows]

    gram: np.ndarray = sum(share_out(work, ranges(len(E), CHUNK)), np.zeros((E.shape[1], E.shape[1])))
    return operator.group.sum(gram)


def _seal(
    operator: KernelOperator,
    extension: KernelExtension,
    E: np.ndarray,
    T: np.ndarray,
    mu: np.ndarray,
    noise: np.ndarray,
    known: Known | None,
    solver: str,
) -> Spectrum:
    """The spectrum with basis E T, in the memory of E: signs fixed, residuals measured, pieces told apart."""
    width = T.shape[1]

    def turn(rows: slice) -> np.ndarray:
        values = E[rows] @ T
        E[rows, :width] = values
        return third_moments(values)

    moments = operator.group.sum(sum(share_out(turn, ranges(len(E), CHUNK)), np.zeros(width)))
    basis = E[:, :width]
    signs = signs_of(basis, moments, operator.total, group=operator.group)
    signs[0] = 1.0  # √d
    for_all(lambda rows: np.multiply(basis[rows], signs, out=basis[rows]), ranges(len(E), CHUNK))
    T *= signs
    if known is not None:
        known = replace(known, entries=known.entries * signs[1:])
    residuals, degree_error = measure(operator, mu, basis[:, 1:], known)
    # further components, within rounding: a Rayleigh quotient is wrong by its residual at most, and where the
    # kernel is exact by its square
    rounding = np.maximum(np.minimum(residuals, operator.noise), 10 * residuals**2)
    connected = 1 - mu > np.maximum(ZERO, rounding)
    pieces = int(np.argmax(connected)) if connected.any() else len(mu)
    if pieces:
        rotation = _separate(operator, basis[:, : 1 + pieces])
        basis[:, : 1 + pieces] = basis[:, : 1 + pieces] @ rotation
        T[:, : 1 + pieces] = T[:, : 1 + pieces] @ rotation
    return Spectrum(
        basis,
        1 - mu[pieces:],
        residuals[pieces:],
        solver,
        replace(extension, transform=T),
        mu=mu[pieces:],
        noise=noise[pieces:],
        degree_error=degree_error,
        degree_bound=operator.degree_bound,
        group=operator.group,
    )


def _separate(operator: KernelOperator, null: np.ndarray) -> np.ndarray:
    """The rotation (k, k) after which each null vector lives on one piece, and is positive there.

    Nodes of one piece have parallel rows in any basis of the null space, those of two pieces orthogonal ones:
    a pivoted QR finds a node of each, among those that it finds on each rank.
    """
    group = operator.group
    found = null if group.alone else group.rows(_leading(null))
    rotation, R = np.linalg.qr(_leading(found).T)
    return group.first(rotation * np.sign(np.diag(R)))


def _leading(rows: np.ndarray) -> np.ndarray:
    """As many of the rows (n, k) as there are columns, the most independent ones first."""
    if not len(rows):
        return rows
    _, _, order = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    return rows[order[: rows.shape[1]]]
