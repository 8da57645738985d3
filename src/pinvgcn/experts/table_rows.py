"""What experts other than networks see of rows of a table, and which of its columns tell classes apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST = 0.05  # the weight of a column that says nothing: by chance one may look so


class TableColumns(NamedTuple):
    """The columns of what is seen: 0 or 1 for each value of a category, or a number of spread 1."""

    table_column: np.ndarray  # (v,) which column of the table each belongs to
    number: np.ndarray  # (v,) whether it is a number

    def relevance(self, X: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
        """ω (v,), how much each column counts where distances or slopes are to be found from few labels.

        Of a category ω = max(0.05, 1 − f/G): G is the likelihood ratio of its table of values and classes,
        f its degrees of freedom, which G has in the mean where values say nothing. Of a number 1 − 1/F with
        the ratio F of variances between and within classes. X (m, v) are rows of class ``codes`` (m,).
        """
        members = np.zeros((len(codes), classes))
        members[np.arange(len(codes)), codes] = 1.0
        found = members.sum(axis=0) > 0
        members = members[:, found]
        weights = np.full(X.shape[1], LEAST)
        counts = X.T @ members  # (v, classes)
        for column in np.unique(self.table_column[~self.number]):
            own = (self.table_column == column) & ~self.number
            weights[own] = _of_category(counts[own], members.sum(axis=0))
        if self.number.any():
            weights[self.number] = _of_numbers(X[:, self.number], members)
        return weights


def _of_category(counts: np.ndarray, totals: np.ndarray) -> float:
    """From how many rows of each class (classes,) have each value (values, classes)."""
    table = np.vstack([counts, totals - counts.sum(axis=0)])  # the last has rows without any of the values
    table = table[table.sum(axis=1) > 0]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    there = table > 0
    ratio = 2 * float((table[there] * np.log(table[there] / expected[there])).sum())
    freedom = (len(table) - 1) * (table.shape[1] - 1)
    return max(LEAST, 1 - freedom / ratio) if ratio > 0 else LEAST


def _of_numbers(X: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Of each column of X (m, q), for classes with ``members`` (m, classes)."""
    rows, classes = members.shape
    sizes = members.sum(axis=0)
    means = (members.T @ X) / sizes[:, None]
    within = ((X - members @ means) ** 2).sum(axis=0) / max(1, rows - classes)
    between = (sizes[:, None] * (means - X.mean(axis=0)) ** 2).sum(axis=0) / max(1, classes - 1)
    tells = between > within
    weights = np.full(X.shape[1], LEAST)
    weights[tells] = np.maximum(LEAST, 1 - within[tells] / between[tells])
    return weights
