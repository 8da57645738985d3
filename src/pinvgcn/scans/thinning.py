"""Which points of a large scan its model is fitted to: its labels, and a random part of the others.

A random part has the density of the whole, up to a factor: degrees, eigenvectors and shares of classes stay
what they are. Local shapes are not thinned, they are taken within the whole scan.
"""

from __future__ import annotations

import numpy as np

from pinvgcn.scans.labels import UNKNOWN

FEWEST = 500  # labels of a class that are kept before others are thinned


def thinned(codes: np.ndarray, size: int, *, random_state: int = 0) -> np.ndarray:
    """Numbers of about ``size`` points, ascending: all labels, but at most half of ``size``, and others.

    ``codes`` are those of `labels`; noise is never drawn.
    """
    generator = np.random.default_rng(random_state)
    if (codes >= UNKNOWN).sum() <= size:
        return np.flatnonzero(codes >= UNKNOWN)
    labelled = np.flatnonzero(codes >= 0)
    if len(labelled) > size // 2:
        labelled = _some_of_each(labelled, codes[labelled], size // 2, generator)
    others = np.flatnonzero(codes == UNKNOWN)
    wanted = max(0, min(size - len(labelled), len(others)))
    drawn = generator.choice(others, wanted, replace=False, shuffle=False)
    return np.sort(np.concatenate([labelled, drawn]))


def _some_of_each(
    rows: np.ndarray, codes: np.ndarray, size: int, generator: np.random.Generator
) -> np.ndarray:
    """About ``size`` of the rows: up to FEWEST of each class, and of the rest equal shares."""
    counts = np.bincount(codes)
    base = np.minimum(counts, FEWEST)
    spare = max(0, size - int(base.sum()))
    quotas = base + (spare * (counts - base) / max(1, int((counts - base).sum()))).astype(int)
    parts = [
        generator.choice(rows[codes == code], quota, replace=False, shuffle=False)
        for code, quota in enumerate(quotas)
    ]
    return np.concatenate(parts)
