"""Normal scores against ranks counted by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from pinvgcn.features.normal_scores import KNOTS, NormalScores

COLUMNS = arrays(np.int64, st.tuples(st.integers(1, 60), st.integers(1, 3)), elements=st.integers(-5, 5))


@given(COLUMNS)
def test_few_values_have_the_scores_of_their_mean_ranks(columns):
    columns = columns.astype(float)
    share = (rankdata(columns, axis=0) - 0.5) / len(columns)
    np.testing.assert_allclose(NormalScores.of(columns)(columns), norm.ppf(share), atol=1e-12)


def test_many_values_are_close_to_that():
    x = np.random.default_rng(0).lognormal(sigma=3, size=(20_000, 1))
    ranks = NormalScores.of(x)
    assert ranks.knots.shape == (KNOTS, 1)
    exact = norm.ppf((rankdata(x, axis=0) - 0.5) / len(x))
    inner = np.abs(exact) < 2.5  # beyond, 512 knots are too few for a tail like this
    assert np.abs(ranks(x) - exact)[inner].max() < 0.05
    np.testing.assert_allclose([ranks(x).min(), ranks(x).max()], [exact.min(), exact.max()])


@given(COLUMNS, st.floats(0.1, 10))
def test_a_rising_function_of_a_feature_changes_nothing(columns, factor):
    columns = columns.astype(float)
    other = np.exp(factor * columns)
    np.testing.assert_allclose(NormalScores.of(other)(other), NormalScores.of(columns)(columns), atol=1e-12)


def test_new_values_lie_between_and_never_beyond():
    ranks = NormalScores.of(np.arange(10.0)[:, None])
    known = ranks(np.arange(10.0)[:, None])[:, 0]
    new = ranks(np.array([[-100.0], [2.5], [1e300]]))[:, 0]
    np.testing.assert_allclose(new, [known[0], (known[2] + known[3]) / 2, known[-1]])


@given(COLUMNS, arrays(np.float64, (20, 3), elements=st.floats(-7, 7)))
def test_one_pass_is_interpolation_then_shift_and_scale(columns, new):
    """Columns with few values, whose last knot is repeated, and constant ones."""
    ranks, new = NormalScores.of(columns.astype(float)), new[:, : columns.shape[1]]
    shift, scale = np.arange(3.0)[: new.shape[1]], np.array([0.1, 1.0, 7.0])[: new.shape[1]]
    pairs = zip(new.T, ranks.knots.T, ranks.scores.T, strict=True)
    expected = np.stack([np.interp(*each) for each in pairs], axis=1)
    found = np.empty(new.shape)
    ranks.write(new, shift, scale, found)
    np.testing.assert_allclose(found, (expected - shift) / scale, rtol=1e-6, atol=1e-12)


def test_values_too_close_for_a_line():
    """The slope between them is infinite: it is a step."""
    ranks = NormalScores.of(np.array([[0.0], [5e-324], [1.0]]))
    known = ranks(np.array([[0.0], [5e-324], [1.0], [np.inf]]))[:, 0]
    np.testing.assert_allclose(known, norm.ppf([1 / 6, 1 / 2, 5 / 6, 5 / 6]), atol=1e-12)


def test_with_gaps_they_are_half_ranks_and_half_robust_scores():
    """Two large clusters and a small one between them, which ranks alone would press into a sliver."""
    draw = np.random.default_rng(0)
    x = np.concatenate([draw.normal(0, 1, 200), draw.normal(10, 1, 40), draw.normal(20, 1, 200)])

    def of_spread_1(scores):
        return (scores - scores.mean()) / scores.std()

    ranks = norm.ppf((rankdata(x) - 0.5) / len(x))
    low, middle, high = np.quantile(x, (0.25, 0.5, 0.75))
    r = (x - middle) / ((high - low) / 1.349)
    expected = (of_spread_1(ranks) + of_spread_1(r / np.sqrt(1 + (r / 3) ** 2))) / 2
    found = NormalScores.of(x[:, None], gaps=True)(x[:, None])[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-3)

    def width(scores):  # of the small cluster, relative to the gap beside it
        return np.ptp(scores[200:240]) / (scores[240:].min() - scores[200:240].max())

    assert width(of_spread_1(x)) < width(found) < width(ranks)


@given(COLUMNS, st.sampled_from([1.0, 5e-324, 1e307]))
def test_with_gaps_scores_rise_and_are_finite_for_any_numbers(columns, unit):
    columns = columns.astype(float) * unit
    ranks = NormalScores.of(columns, gaps=True)
    assert np.isfinite(ranks.scores).all()
    for knots, scores in zip(ranks.knots.T, ranks.scores.T, strict=True):
        distinct = np.diff(knots) > 0
        assert (np.diff(scores)[distinct] > 0).all()
        assert (np.diff(scores)[~distinct] == 0).all()


def test_with_gaps_a_mistyped_number_leaves_the_others_where_they_were():
    x = np.random.default_rng(0).normal(size=(999, 1))
    good, typed = np.append(x, [[0.5]], axis=0), np.append(x, [[5e9]], axis=0)
    inner = x[np.abs(x) < 2][:, None]
    found = [NormalScores.of(own, gaps=True)(inner) for own in (good, typed)]
    np.testing.assert_allclose(*found, atol=0.03)
