"""The labels of a fit: which rows have one, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from pinvgcn.checks import UNLABELLED, as_sample_weight, check_fraction, check_non_negative, encode_labels
from pinvgcn.errors import DataError, LabelError, ParameterError


@dataclass(frozen=True)
class RowLabels:
    """The labelled rows that count, their class numbers and weights; None where all weigh the same."""

    classes: np.ndarray
    rows: np.ndarray  # (m,)
    codes: np.ndarray  # (m,) places in ``classes``
    weights: np.ndarray | None  # (m,), positive

    @classmethod
    def of(cls, y: Any, n: int, *, class_weight: Any = None, sample_weight: Any = None) -> RowLabels:
        """From what was handed to ``fit``."""
        classes, codes = encode_labels(y, n)
        weights = as_sample_weight(sample_weight, n)
        rows = np.flatnonzero(codes != UNLABELLED)
        if class_weight is None and weights is None:
            return cls(classes, rows, codes[rows], None)
        _check_class_weight(class_weight, classes)
        per_class = compute_class_weight(class_weight, classes=classes, y=classes[codes[rows]])
        counts = per_class[codes[rows]]
        if weights is not None:
            counts = counts * weights[rows]
        if not (counts > 0).any():
            raise DataError("sample_weight must be positive at one labelled row at least. Got zeros only.")
        rows, counts = rows[counts > 0], counts[counts > 0]
        learned = np.bincount(codes[rows], minlength=len(classes))
        if not learned.all():
            raise DataError(
                "Every class needs a labelled row whose weight is positive. "
                f"Got none for {classes[learned == 0].tolist()[0]!r}; raise its sample_weight or "
                "class_weight, or mark its rows as unlabelled."
            )
        return cls(classes, rows, codes[rows], counts)

    @property
    def shares(self) -> np.ndarray:
        """How much of the whole weight each class has: (classes,), of sum 1."""
        totals = np.bincount(self.codes, self.weights, minlength=len(self.classes))
        shares: np.ndarray = totals / totals.sum()
        return shares

    def take(self, some: np.ndarray) -> RowLabels:
        """Some of the labels, by a boolean mask."""
        weights = None if self.weights is None else self.weights[some]
        return replace(self, rows=self.rows[some], codes=self.codes[some], weights=weights)

    def hold_out(self, share: float, seed: int) -> tuple[RowLabels, RowLabels]:
        """Labels to learn from, and a share of each class to watch; a class keeps one label at least."""
        check_fraction("held_out", share)
        rng = np.random.default_rng(seed)
        held = np.zeros(len(self.rows), dtype=bool)
        for code in np.unique(self.codes):
            mine = rng.permutation(np.flatnonzero(self.codes == code))
            held[mine[: min(round(share * len(mine)), len(mine) - 1)]] = True
        if not held.any():
            raise ParameterError(
                "patience needs labels to hold out: two in one class at least. "
                f"Got {len(self.rows)} labels and held_out={share:g}; label more rows, or set patience=None."
            )
        return self.take(~held), self.take(held)

    def folds(self, count: int, seed: int) -> list[tuple[RowLabels, RowLabels | None]]:
        """For each of ``count`` learners the labels to learn from, and those kept from it or None.

        Each label is kept from one learner, except the only one of a class, which no one can do without; of a
        single learner nothing is kept.
        """
        if count == 1:
            return [(self, None)]
        rng = np.random.default_rng(seed)
        fold = np.full(len(self.rows), -1)
        for code in np.unique(self.codes):
            mine = rng.permutation(np.flatnonzero(self.codes == code))
            if len(mine) > 1:
                fold[mine] = np.arange(len(mine)) % count
        return [
            (self.take(fold != f), self.take(fold == f) if (fold == f).any() else None) for f in range(count)
        ]


def _check_class_weight(class_weight: Any, classes: np.ndarray) -> None:
    if isinstance(class_weight, dict):
        unknown = [c for c in class_weight if c not in set(classes.tolist())]
        if unknown:
            raise LabelError(
                f"class_weight must name classes that have a labelled row. Got {unknown[0]!r} instead; "
                f"the labelled classes are {classes.tolist()}."
            )
        for name, weight in class_weight.items():
            check_non_negative(f"class_weight[{name!r}]", weight)
    elif class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ParameterError(
            f"class_weight must be a dict, 'balanced' or None. Got {class_weight!r} instead."
        )
