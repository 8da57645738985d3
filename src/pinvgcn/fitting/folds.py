"""Folds of labels: what a member learns from, and what is held out of its training."""

from __future__ import annotations

import numpy as np

from pinvgcn.checks import check_fraction
from pinvgcn.errors import ParameterError
from pinvgcn.fitting.labels import RowLabels


def hold_out(labels: RowLabels, share: float, seed: int) -> tuple[RowLabels, RowLabels]:
    """Labels to learn from, and a share of each class to watch; a class keeps one label at least."""
    check_fraction("held_out", share)
    rng = np.random.default_rng(seed)
    held = np.zeros(len(labels.rows), dtype=bool)
    for code in np.unique(labels.codes):
        mine = rng.permutation(np.flatnonzero(labels.codes == code))
        held[mine[: min(round(share * len(mine)), len(mine) - 1)]] = True
    if not held.any():
        raise ParameterError(
            "patience needs labels to hold out: two in one class at least. "
            f"Got {len(labels.rows)} labels and held_out={share:g}; label more rows, or set patience=None."
        )
    return labels.take(~held), labels.take(held)


def folds_of(labels: RowLabels, count: int, seed: int) -> list[tuple[RowLabels, RowLabels | None]]:
    """For each of ``count`` members the labels to learn from, and those held out or None.

    Each label is held out of one member, except the only label of a class, which all need. From a single
    member nothing is held out.
    """
    if count == 1:
        return [(labels, None)]
    rng = np.random.default_rng(seed)
    fold = np.full(len(labels.rows), -1)
    for code in np.unique(labels.codes):
        mine = rng.permutation(np.flatnonzero(labels.codes == code))
        if len(mine) > 1:
            fold[mine] = np.arange(len(mine)) % count
    return [
        (labels.take(fold != f), labels.take(fold == f) if (fold == f).any() else None) for f in range(count)
    ]
