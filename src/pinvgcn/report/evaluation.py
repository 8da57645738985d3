"""How good answers are: a confusion matrix and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

CONFIDENCE = 0.95  # of every interval
RESAMPLES = 500  # bootstrap samples behind the interval of F1


class ConfusionMetrics:
    """What follows from a confusion matrix."""

    confusion: np.ndarray  # (m, m) counts; rows: the true class, columns: the answer

    @property
    def count(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / self.count)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the accuracy, as if the rows were drawn one by one."""
        found = binomtest(int(np.trace(self.confusion)), self.count).proportion_ci(CONFIDENCE, "wilson")
        return float(found.low), float(found.high)

    @property
    def recall(self) -> np.ndarray:
        """The share found of each class (m,); NaN where the class has no rows."""
        sizes = self.confusion.sum(axis=1)
        return np.divide(np.diag(self.confusion), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)

    @property
    def mean_recall(self) -> float:
        """The mean recall of the classes that have rows; rare ones count as much as common ones."""
        return float(np.nanmean(self.recall))

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes that have rows or answers."""
        return float(macro_f1(self.confusion))

    @cached_property
    def f1_interval(self) -> tuple[float, float]:
        """The bootstrap interval of the macro F1."""
        shares = self.confusion.ravel() / self.count
        drawn = np.random.default_rng(0).multinomial(self.count, shares, size=RESAMPLES)
        values = macro_f1(drawn.reshape(RESAMPLES, *self.confusion.shape))
        low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return float(low), float(high)

    def accuracy_under(self, prior: np.ndarray) -> tuple[float, float]:
        """Σ_c π_c r_c, the recalls r weighed by the class prior π (m,), and the half width of its interval.

        Labels are often picked class by class: the share of right labels is not that of right points. A class
        without rows is left out. In the variance each class has one more right and one more wrong answer, so
        that a class of which all few were right is not taken for certain.
        """
        sizes, right = self.confusion.sum(axis=1), np.diag(self.confusion)
        there = sizes > 0
        sizes, right, weight = sizes[there], right[there], prior[there] / prior[there].sum()
        careful = (right + 1) / (sizes + 2)
        variance = (weight**2 * careful * (1 - careful) / sizes).sum()
        half = norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance)
        return float((weight * right / sizes).sum()), float(half)


@dataclass(frozen=True, eq=False)
class Score(ConfusionMetrics):
    """The answers of one method, counted."""

    title: str
    confusion: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        return {
            "method": self.title,
            "accuracy": self.accuracy,
            "accuracy_95": list(self.interval),
            "macro_f1": self.macro_f1,
            "macro_f1_95": list(self.f1_interval),
            "mean_recall": self.mean_recall,
            "recall": [None if np.isnan(share) else float(share) for share in self.recall],
            "confusion": self.confusion.tolist(),
        }


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """The mean over classes of 2 TP/(2 TP + FP + FN), of one confusion matrix (m, m) or of many (..., m, m).

    It is scikit-learn's ``f1_score(average="macro")`` for counts, which takes milliseconds a matrix. Classes
    without rows and answers are left out.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    either = confusion.sum(axis=-1) + confusion.sum(axis=-2)
    values = np.divide(2 * right, either, out=np.full(right.shape, np.nan), where=either > 0)
    return np.nanmean(values, axis=-1)
