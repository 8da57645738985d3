"""The shape of a neighbourhood: C = k⁻¹ Σ w (y − m)(y − m)ᵀ = Σ λ_i e_i e_iᵀ, λ₁ ≥ λ₂ ≥ λ₃, m the mean.

Points lie along a line where λ₁ dominates, on a plane where λ₃ vanishes, anyhow where all are alike.
"""

from __future__ import annotations

import numpy as np

from pinvgcn.features.neighbours import Places, distinct

NAMES = (
    "linearity",
    "planarity",
    "scattering",
    "anisotropy",
    "verticality",
    "steepness",
    "spacing",
    "height",
    "range",
)
ALIKE = 1e-3  # eigenvalues closer than this part of the largest do not tell their directions apart


class Shapes:
    """Shapes of neighbourhoods of ``sizes`` points within a cloud (n, 3), the height last."""

    def __init__(self, cloud: np.ndarray, sizes: tuple[int, ...]):
        self.cloud, counts, _ = distinct(cloud)
        self.axes = [axis.copy() for axis in self.cloud.T]
        self.places = Places(self.cloud, counts, sizes)

    def __call__(self, queries: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """(m, sizes · 9): NAMES for each size, at ``queries`` (m, 3); ``reach`` (m,) is set to r."""
        sizes = self.places.sizes
        result = np.empty((len(queries), len(sizes), len(NAMES)))
        for rows, index, distance, r in self.places.nearest(queries):
            # offsets from the nearest place: small numbers, whose squares keep the digits of a flat shape
            base = self.cloud[index[:, 0]]
            offset = np.empty((3, *index.shape))
            for axis, values, origin in zip(self.axes, offset, base.T, strict=True):
                np.subtract(axis[index], origin[:, None], out=values)
            C, low, high = np.empty((*r.shape, 3, 3)), np.empty_like(r), np.empty_like(r)
            for s, k in enumerate(sizes):
                tied = self.places.tied(distance, r[:, s], k)
                if len(tied) < len(rows):
                    C[:, s], low[:, s], high[:, s] = moments(offset[:, :, :k])
                w = self.places.weights(index[tied], distance[tied], r[tied, s], k)
                C[tied, s], low[tied, s], high[tied, s] = moments(offset[:, tied], w)
            reach[rows] = r[:, -1]
            rise = queries[rows, 2] - base[:, 2]
            spacing = r * np.cbrt(4 / 3 * np.pi / sizes)
            result[rows] = np.stack([*ratios(C), spacing, rise[:, None] - low, high - low], axis=2)
        return result.reshape(len(queries), -1)


def moments(offset: np.ndarray, w: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C (m, 3, 3), the least and the greatest height (m,) of offsets (3, m, k) with weights (m, k) or 1."""
    low = high = offset[2]
    total, weighted = offset.shape[2], offset
    if w is not None:
        total, weighted = w.sum(axis=1), offset * w
        low, high = np.where(w > 0, low, np.inf), np.where(w > 0, high, -np.inf)
    mean = weighted.sum(axis=2) / total
    C = np.zeros((offset.shape[1], 3, 3))
    for i in range(3):
        for j in range(i + 1):  # eigh reads the lower triangle
            C[:, i, j] = np.einsum("mk,mk->m", weighted[i], offset[j]) / total - mean[i] * mean[j]
    return C, low.min(axis=1), high.max(axis=1)


def ratios(C: np.ndarray) -> list[np.ndarray]:
    """The first six of NAMES, each (...), of covariances (..., 3, 3); a single place, λ = 0, has no shape."""
    lam, E = np.linalg.eigh(C)
    lam = np.maximum(lam, 0)
    lam = np.divide(lam, lam[..., 2:], out=np.zeros_like(lam), where=lam[..., 2:] > 0)  # in parts of λ₁
    third, second, first = np.moveaxis(lam, -1, 0)
    upright = E[..., 2, :] ** 2
    return [
        first - second,
        second - third,
        third,
        first - third,
        1 - _mean_over(upright, lam - third[..., None]),
        _mean_over(upright, first[..., None] - lam),
    ]


def _mean_over(upright: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Mean over the eigenvectors whose eigenvalue is at no gap.

    A direction among equal eigenvalues is arbitrary, its mean over their space is not; the weight
    1/(1 + (gap/ALIKE)⁴) passes smoothly from one case to the other.
    """
    weight = 1 / (1 + (gap / ALIKE) ** 4)
    return (weight * upright).sum(axis=-1) / weight.sum(axis=-1)
