"""The filter space: zero impulse, low-rank pseudoinverse, high-pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.errors import ParameterError
from pinvgcn.spectra import Spectrum

# Each basis function is φ_{α,β,γ} (docs/maths.md, 2.1) for one row (α, β, γ).
FILTERS: dict[str, dict[str, tuple[float, float, float]]] = {
    "three-part": {"zero impulse": (1, 0, 0), "pseudoinverse": (0, 1, 0), "high-pass": (0, 0, 1)},
    "no-zero-impulse": {"pseudoinverse": (0, 1, 0), "high-pass": (0, 0, 1)},
    "no-high-pass": {"zero impulse": (1, 0, 0), "pseudoinverse, β = γ": (0, 1, 1)},
    "low-rank": {"zero impulse": (1, 0, 0), "pseudoinverse": (0, 1, 0)},
    "pseudoinverse": {"pseudoinverse": (0, 1, 0)},
}


@dataclass(frozen=True)
class FilterBasis:
    """K functions φ^(k) on the spectrum, each of the form

        φ(0) = α,   φ(λ) = β λ₁/λ  for 0 < λ ≤ λ_r,   φ(λ) = γ λ₁  for λ > λ_r.

    A layer learns one coefficient per basis function and pair of channels. Choices:

    ==================  ====================================================================
    "three-part"        the paper's: zero impulse, pseudoinverse and high-pass, each free
    "no-zero-impulse"   without the first
    "no-high-pass"      the paper's "without high-pass": β = γ, as for the full pseudoinverse
    "low-rank"          γ = 0: nothing passes beyond λ_r
    "pseudoinverse"     the second alone
    (α, β, γ)           a single fixed filter
    ==================  ====================================================================
    """

    names: tuple[str, ...]
    parts: np.ndarray  # (K, 3): α, β, γ
    values: np.ndarray  # (r,): λ₁ … λ_r
    components: int  # k, the multiplicity of λ = 0
    eigengap: float  # λ₁

    @classmethod
    def of(cls, spectrum: Spectrum, filters: Any = "three-part") -> FilterBasis:
        """The chosen functions on this spectrum."""
        names, parts = parse_filters(filters)
        return cls(names, parts, spectrum.values, spectrum.components, spectrum.eigengap)

    def __len__(self) -> int:
        return len(self.parts)

    def evaluate(self, lam: Any) -> np.ndarray:
        """φ^(k)(λ) for each k and each λ ≥ 0: (K, len(λ))."""
        lam = np.atleast_1d(np.asarray(lam, dtype=np.float64))
        alpha, beta, gamma = self.parts.T[:, :, None]  # (K, 1) each
        last = self.values[-1] if len(self.values) else 0.0
        inverse = self.eigengap / np.where(lam > 0, lam, 1.0)
        beyond = np.where(lam <= last, beta * inverse, gamma * self.eigengap)
        return np.where(lam > 0, beyond, alpha)

    @property
    def high(self) -> np.ndarray:
        """What each function does to everything outside span[U₀ U_r]: (K,)."""
        return self.parts[:, 2] * self.eigengap

    @property
    def gains(self) -> np.ndarray:
        """What each function does on [U₀ U_r] beyond that: φ^(k)(λ_i) − γ_k λ₁: (K, k + r)."""
        alpha, beta, _ = self.parts.T[:, :, None]
        on_basis = np.hstack([np.repeat(alpha, self.components, axis=1), beta * self.eigengap / self.values])
        return on_basis - self.high[:, None]


def parse_filters(filters: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and (α, β, γ) of the chosen functions."""
    if isinstance(filters, str) and filters in FILTERS:
        chosen = FILTERS[filters]
        return tuple(chosen), np.array(list(chosen.values()), dtype=np.float64)
    if not isinstance(filters, str):
        try:
            fixed = np.asarray(filters, dtype=np.float64)
        except (TypeError, ValueError):
            fixed = np.zeros(0)
        if fixed.shape == (3,) and np.isfinite(fixed).all():
            return (f"fixed (α, β, γ) = ({fixed[0]:g}, {fixed[1]:g}, {fixed[2]:g})",), fixed[None]
    raise ParameterError(
        f"filters must be one of {', '.join(map(repr, FILTERS))} or three numbers (α, β, γ). "
        f"Got {filters!r} instead."
    )
