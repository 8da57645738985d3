"""The labels of a fit: which rows have one, and how much each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from pinvgcn.checks import as_sample_weight, check_non_negative, classes_of, read_labels
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import DataError, LabelError, ParameterError


@dataclass(frozen=True)
class RowLabels:
    """The labelled rows that count, their class numbers and weights; None where all weigh the same.

    Rows have the numbers that they have among the rows of all ranks: each rank knows all labels, and what is
    drawn from them is what one process would draw.
    """

    classes: np.ndarray
    rows: np.ndarray  # (m,), ascending
    codes: np.ndarray  # (m,) places in ``classes``
    weights: np.ndarray | None  # (m,), positive

    @classmethod
    def of(
        cls, y: Any, n: int, *, class_weight: Any = None, sample_weight: Any = None, group: Group = ALONE
    ) -> RowLabels:
        """From what was handed to ``fit``, of this rank's n rows."""
        with together(group):
            present, labelled, announced = read_labels(y, n)
            here = as_sample_weight(sample_weight, n)
        start, total = group.offset(n)
        rows = group.rows(start + np.flatnonzero(labelled))
        classes, codes = classes_of(*_of_all(present, announced, total, group))
        weights = _weights_of_all(here, labelled, group)
        if class_weight is None and weights is None:
            return cls(classes, rows, codes, None)
        _check_class_weight(class_weight, classes)
        counts = compute_class_weight(class_weight, classes=classes, y=classes[codes])[codes]
        if weights is not None:
            counts = counts * weights
        if not (counts > 0).any():
            raise DataError("sample_weight must be positive at one labelled row at least. Got zeros only.")
        rows, codes, counts = (array[counts > 0] for array in (rows, codes, counts))
        learned = np.bincount(codes, minlength=len(classes))
        if not learned.all():
            raise DataError(
                "Every class needs a labelled row whose weight is positive. "
                f"Got none for {classes[learned == 0].tolist()[0]!r}; raise its sample_weight or "
                "class_weight, or mark its rows as unlabelled."
            )
        return cls(classes, rows, codes, counts)

    def within(self, start: int, n: int) -> RowLabels:
        """Of the rows ``start`` … ``start + n``, counted from there: what one rank has of them."""
        here = self.take(self.are_within(start, n))
        return replace(here, rows=here.rows - start)

    def are_within(self, start: int, n: int) -> np.ndarray:
        """Which of the labels these are: a mask (m,)."""
        return (self.rows >= start) & (self.rows < start + n)

    @property
    def shares(self) -> np.ndarray:
        """How much of the whole weight each class has: (classes,), of sum 1."""
        totals = np.bincount(self.codes, self.weights, minlength=len(self.classes))
        return totals / totals.sum()

    def take(self, some: np.ndarray) -> RowLabels:
        """Some of the labels, by a boolean mask."""
        weights = None if self.weights is None else self.weights[some]
        return replace(self, rows=self.rows[some], codes=self.codes[some], weights=weights)


def _of_all(
    present: np.ndarray, announced: Sequence[Any], total: int, group: Group
) -> tuple[np.ndarray, int, Sequence[Any]]:
    """The labels of all ranks in their order, how many rows they are among, and the classes announced."""
    if group.alone:
        return present, total, announced
    with together(group):
        if present.dtype.kind not in "biufUO" or any(
            not isinstance(label, str | int | float | bool) for label in present.tolist()
        ):
            raise LabelError(
                "Labels that several processes share must be numbers or text. "
                f"Got {present.tolist()[0]!r} instead."
            )
    told = group.values([present.dtype.str, present.tolist(), [str(a) for a in announced]])
    parts = [np.array(labels, dtype=np.dtype(kind)) for kind, labels, _ in told if labels]
    kinds = {"text" if part.dtype.kind in "UO" else "numbers" for part in parts}
    if len(kinds) > 1:
        raise LabelError("y must be labels of one kind, numbers or text. Got text on some ranks only.")
    joined = np.concatenate(parts) if parts else present
    names = {str(label): label for label in joined.tolist()}
    everywhere = dict.fromkeys(name for *_, listed in told for name in listed)
    return joined, total, [names.get(name, name) for name in everywhere]


def _weights_of_all(here: np.ndarray | None, labelled: np.ndarray, group: Group) -> np.ndarray | None:
    """The weights of the labels of all ranks."""
    given = [has for has, n in group.values([here is not None, len(labelled)]) if n]
    if not any(given):
        return None
    if not all(given):
        raise DataError("sample_weight must be given on all ranks or on none. Got it on some only.")
    return group.rows(here[labelled] if here is not None else np.zeros(0))


def _check_class_weight(class_weight: Any, classes: np.ndarray) -> None:
    if isinstance(class_weight, dict):
        unknown = [c for c in class_weight if c not in set(classes.tolist())]
        if unknown:
            raise LabelError(
                "class_weight must name classes that have a labelled row. "
                f"Got {np.asarray(unknown[0]).item()!r} instead; the labelled classes are {classes.tolist()}."
            )
        for name, weight in class_weight.items():
            check_non_negative(f"class_weight[{name!r}]", weight)
    elif class_weight is not None and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ParameterError(
            f"class_weight must be a dict, 'balanced' or None. Got {class_weight!r} instead."
        )
