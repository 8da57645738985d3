"""Logistic regression with a Gaussian kernel, on the columns of a table as far as they tell classes apart.

Use: where it is combinations of values that count. Rows are compared with labelled ones alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from pinvgcn.compute.parallel import for_all, ranges
from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.linear import regression
from pinvgcn.experts.seen import TableColumns

STRENGTH = 3.0  # C of the regression
WIDTH = 2.0  # γ times the mean squared distance of labelled rows
LANDMARKS = 1_024  # labelled rows that others are compared with
SMALL = 1e-8  # eigenvalues of the kernel below this are rounding
DENSE = 0.2  # of the cells, from which on a product is faster with the zeros
CHUNK = 4_096  # rows at a time


@dataclass(frozen=True)
class KernelMachine:
    """log softmax(k(x) A + b), k_l(x) = exp(−Σ_j s_j² (x_j − x_lj)²) for landmarks l: labelled rows.

    s_j = √γ ω_j² with the relevance ω_j of column j. Squared, columns that say little count for less: where
    there are many of them, they would decide which rows are near.
    """

    landmarks: np.ndarray  # (l, v), times s
    scale: np.ndarray  # s (v,)
    coefficients: np.ndarray  # A (l, classes)
    offsets: np.ndarray  # b (classes,)

    @classmethod
    def fitted(cls, X: np.ndarray, labels: RowLabels, columns: TableColumns, *, seed: int) -> KernelMachine:
        """From rows X (m, v) with these labels; of many, 1,024 drawn ones are landmarks (Nyström)."""
        scale = columns.relevance(X, labels.codes, len(labels.classes)) ** 2
        chosen = np.arange(len(X))
        if len(X) > LANDMARKS:
            chosen = np.sort(np.random.default_rng(seed).choice(len(X), LANDMARKS, replace=False))
        L = X[chosen] * scale
        spread = 2 * float(L.var(axis=0).sum())  # the mean of the squared distances of all pairs
        scale = scale * np.sqrt(WIDTH / spread if spread > 0 else 1.0)
        plain = cls(X[chosen] * scale, scale, np.zeros((len(chosen), 0)), np.zeros(0))
        values, U = np.linalg.eigh(plain.kernel(X[chosen]))
        kept = values > SMALL * values[-1]
        back = U[:, kept] / np.sqrt(values[kept])  # from the kernel to coordinates whose products it is
        slopes, offsets = regression(plain.kernel(X) @ back, labels, STRENGTH)
        return cls(plain.landmarks, scale, back @ slopes, offsets)

    def kernel(self, X: Any) -> np.ndarray:
        """k(x) of a few rows (m, v), dense or sparse: (m, l)."""
        if sp.issparse(X):
            X = X.toarray() if X.nnz > DENSE * X.shape[0] * X.shape[1] else sp.csr_array(X)
        K: np.ndarray = X @ (2 * self.scale * self.landmarks).T
        K -= (self.landmarks**2).sum(axis=1)
        K -= ((X * X) @ self.scale**2)[:, None]
        np.minimum(K, 0, out=K)  # rounded
        return np.exp(K, out=K)

    def log_proba(self, X: Any) -> np.ndarray:
        """log p of any rows: (m, classes)."""
        scores = np.empty((X.shape[0], len(self.offsets)))

        def evaluate(rows: slice) -> None:
            scores[rows] = self.kernel(X[rows]) @ self.coefficients + self.offsets

        for_all(evaluate, ranges(X.shape[0], CHUNK))
        return log_softmax(scores, axis=1)
