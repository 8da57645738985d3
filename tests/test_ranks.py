"""Normal scores against ranks counted by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from pinvgcn.ranks import KNOTS, Ranks

COLUMNS = arrays(np.int64, st.tuples(st.integers(1, 60), st.integers(1, 3)), elements=st.integers(-5, 5))


@given(COLUMNS)
def test_few_values_have_the_scores_of_their_mean_ranks(columns):
    columns = columns.astype(float)
    share = (rankdata(columns, axis=0) - 0.5) / len(columns)
    np.testing.assert_allclose(Ranks.of(columns)(columns), norm.ppf(share), atol=1e-12)


def test_many_values_are_close_to_that():
    x = np.random.default_rng(0).lognormal(sigma=3, size=(20_000, 1))
    ranks = Ranks.of(x)
    assert ranks.knots.shape == (KNOTS, 1)
    exact = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x))
    inner = np.abs(exact) < 2.5  # beyond, 512 knots are too few for a tail like this
    assert np.abs(ranks(x) - exact)[inner].max() < 0.05
    np.testing.assert_allclose([ranks(x).min(), ranks(x).max()], [exact.min(), exact.max()])


@given(COLUMNS, st.floats(0.1, 10))
def test_a_rising_function_of_a_feature_changes_nothing(columns, factor):
    columns = columns.astype(float)
    other = np.exp(factor * columns)
    np.testing.assert_allclose(Ranks.of(other)(other), Ranks.of(columns)(columns), atol=1e-12)


def test_new_values_lie_between_and_never_beyond():
    ranks = Ranks.of(np.arange(10.0)[:, None])
    known = ranks(np.arange(10.0)[:, None])[:, 0]
    new = ranks(np.array([[-100.0], [2.5], [1e300]]))[:, 0]
    np.testing.assert_allclose(new, [known[0], (known[2] + known[3]) / 2, known[-1]])
