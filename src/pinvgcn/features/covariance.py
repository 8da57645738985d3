"""The eigenvalues of a covariance of three coordinates, and the z of its eigenvectors, in closed form."""

from __future__ import annotations

import numpy as np

from pinvgcn.compute.compiled import inlined


@inlined
def eigenvalues(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    """λ₁ ≥ λ₂ ≥ λ₃ of the symmetric matrix with rows (a, b, c), (b, d, e), (c, e, f)."""
    q = (a + d + f) / 3
    aa, dd, ff = a - q, d - q, f - q
    off = b * b + c * c + e * e
    p = np.sqrt((aa * aa + dd * dd + ff * ff + 2 * off) / 6)
    if p <= 1e-14 * abs(q) or p == 0:
        first = second = third = q
    else:
        r = (aa * (dd * ff - e * e) - b * (b * ff - e * c) + c * (b * e - dd * c)) / (2 * p * p * p)
        angle = np.arccos(min(1.0, max(-1.0, r))) / 3
        first = q + 2 * p * np.cos(angle)
        third = q + 2 * p * np.cos(angle + 2 * np.pi / 3)
        second = 3 * q - first - third
    return first, second, third


@inlined
def upright(a, b, d, first, second, third):  # type: ignore[no-untyped-def]
    """The squared z of the unit eigenvectors of λ₁ and λ₃, from λ₁, λ₂, λ₃ and the minor (a, b), (b, d).

    z_i² ∏_{k≠i} (λ_i − λ_k) = ∏_k (λ_i − μ_k) with the eigenvalues μ of the minor. Where two eigenvalues
    coincide, any vector of their plane is one: z² is the mean over the plane.
    """
    trace, minor = a + d, a * d - b * b
    tiny = 1e-6 * first
    apart12, apart23 = first - second > tiny, second - third > tiny
    z1, z3 = 1 / 3, 1 / 3
    if apart12:
        z1 = (first * (first - trace) + minor) / ((first - second) * (first - third))
        z1 = min(1.0, max(0.0, z1))
    if apart23:
        z3 = (third * (third - trace) + minor) / ((third - first) * (third - second))
        z3 = min(1.0, max(0.0, z3))
    if apart12 and not apart23:
        z3 = (1 - z1) / 2
    if apart23 and not apart12:
        z1 = (1 - z3) / 2
    return z1, z3
