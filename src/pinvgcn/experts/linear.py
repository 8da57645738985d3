"""Logistic regression on the columns of a table, each as far as it tells classes apart.

Use: always, where columns have effects that add up. It is the best single expert on most tables with few
labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.seen import TableColumns

STRENGTH = 1.0  # C of the regression: 1/C is the weight of its penalty
ROUNDS, STILL = 300, 1e-4  # of its solver


@dataclass(frozen=True)
class Linear:
    """log softmax(x B + b)."""

    slopes: np.ndarray  # B (v, classes), relevances included
    offsets: np.ndarray  # b (classes,)

    @classmethod
    def fitted(cls, X: np.ndarray, labels: RowLabels, columns: TableColumns) -> Linear:
        """From rows X (m, v) with these labels."""
        relevance = columns.relevance(X, labels.codes, len(labels.classes))
        slopes, offsets = regression(X * relevance, labels, STRENGTH)
        return cls(relevance[:, None] * slopes, offsets)

    def log_proba(self, X: Any) -> np.ndarray:
        """log p of any rows (m, v), dense or sparse: (m, classes)."""
        return log_softmax(X @ self.slopes + self.offsets, axis=1)


def regression(X: np.ndarray, labels: RowLabels, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (v, classes) and offsets (classes,) that scikit-learn finds; of two classes half for each.

    Weights of labels have the mean 1: their unit does not change the penalty.
    """
    model = LogisticRegression(C=strength, max_iter=ROUNDS, tol=STILL)
    counts = None if labels.weights is None else labels.weights / labels.weights.mean()
    model.fit(X, labels.codes, sample_weight=counts)
    slopes, offsets = model.coef_.T, model.intercept_
    if len(model.classes_) == 2:
        slopes, offsets = np.hstack([-slopes, slopes]) / 2, np.array([-offsets[0], offsets[0]]) / 2
    return slopes, offsets
