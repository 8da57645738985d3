"""How far columns of a table tell classes apart: against the tests of scipy.stats."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import chi2_contingency, f_oneway

from pinvgcn.experts import TableColumns
from pinvgcn.experts.seen import LEAST

RNG = np.random.default_rng(0)
M = 60
CODES = np.arange(M) % 3
LETTERS = np.stack([(CODES + RNG.integers(0, 2 + j, M)) % 4 for j in range(3)] + [RNG.integers(0, 3, M)])
NUMBERS = RNG.normal(size=(M, 3)) + np.array([1.0, 0.2, 0.0]) * CODES[:, None]


def rows() -> tuple[np.ndarray, TableColumns]:
    """0 or 1 for each value, and numbers; of one column the last value is not among those seen."""
    parts, owner = [], []
    for j, column in enumerate(LETTERS):
        values = np.unique(column)[: -1 if j == 1 else None]
        parts.append((column[:, None] == values).astype(float))
        owner += [j] * len(values)
    X = np.hstack([*parts, NUMBERS])
    number = np.append(np.zeros(len(owner), dtype=bool), np.ones(3, dtype=bool))
    return X, TableColumns(np.array([*owner, 4, 5, 6]), number)


def expected_category(values: np.ndarray, codes: np.ndarray) -> float:
    table = np.array(
        [[np.sum((values == v) & (codes == c)) for c in np.unique(codes)] for v in np.unique(values)]
    )
    G, _, freedom, _ = chi2_contingency(table, lambda_="log-likelihood", correction=False)
    return max(LEAST, 1 - freedom / G)


@pytest.mark.parametrize(
    "some", [slice(None), CODES < 2, np.arange(M) < 12], ids=["all", "two classes", "few"]
)
def test_likelihood_ratios_and_variances(some):
    """Also where a class has no row: as if there were no such class."""
    X, columns = rows()
    codes = CODES[some]
    found = columns.relevance(X[some], codes, 3)
    for j, letters in enumerate(LETTERS[:, some]):
        own = found[columns.table_column == j]
        np.testing.assert_allclose(own, expected_category(letters, codes), rtol=1e-9)
    for j, number in enumerate(NUMBERS[some].T):
        F = f_oneway(*(number[codes == c] for c in np.unique(codes))).statistic
        assert found[columns.table_column == 4 + j] == pytest.approx(max(LEAST, 1 - 1 / F))
    assert found[0] > found[columns.table_column == 3][0]


def test_columns_that_say_nothing_or_all():
    codes = np.array([0, 0, 1, 1])
    X = np.array([[1, 0, 5.0, 0.0], [1, 0, 5, 0], [1, 1, 5, 1], [1, 1, 5, 1]])
    columns = TableColumns(np.arange(4), np.array([False, False, True, True]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = columns.relevance(X, codes, 2)
    assert found[0] == found[2] == LEAST  # constant
    assert found[1] == pytest.approx(1 - 1 / (8 * np.log(2)))
    assert found[3] == 1  # no variance within


@pytest.mark.parametrize("codes", [[0], [0, 0], [0, 1], [2, 0, 1]])
def test_one_label_a_class(codes):
    """Then nothing is known of the variance within a class."""
    codes = np.array(codes)
    X = np.hstack([np.eye(3)[: len(codes)], np.arange(len(codes))[:, None]])
    columns = TableColumns(np.array([0, 0, 0, 1]), np.array([False, False, False, True]))
    found = columns.relevance(X, codes, 3)
    assert np.isfinite(found).all()
    assert ((found >= LEAST) & (found <= 1)).all()


def test_only_numbers_and_only_categories():
    X, columns = rows()
    whole = columns.relevance(X, CODES, 3)
    for kind in (columns.number, ~columns.number):
        some = TableColumns(columns.table_column[kind], columns.number[kind])
        np.testing.assert_allclose(some.relevance(X[:, kind], CODES, 3), whole[kind])
