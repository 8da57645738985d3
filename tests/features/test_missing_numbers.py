"""Missing numbers are found from those that a row has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pinvgcn.errors import ModelFileError
from pinvgcn.features.missing_numbers import DIGITS, FEW, NOISE, MissingNumbers

RNG = np.random.default_rng(0)
COMMON = RNG.normal(size=400)
WHOLE = np.column_stack(
    [
        COMMON + 0.1 * RNG.normal(size=400),
        np.exp(COMMON),
        -COMMON + RNG.normal(size=400),
        RNG.normal(size=400),
    ]
)
GAPS = np.where(RNG.random(WHOLE.shape) < 0.3, np.nan, WHOLE)


def test_it_is_the_conditional_mean() -> None:
    """Row by row, by the formula; known numbers stay."""
    missing = MissingNumbers.of(GAPS)
    assert missing is not None
    found = missing.filled(GAPS)
    known = np.isfinite(GAPS)
    np.testing.assert_array_equal(found[known], GAPS[known])
    for row, there in zip(range(60), known, strict=False):
        z = [np.interp(GAPS[row, j], missing.knots[j], missing.scores[j]) for j in np.flatnonzero(there)]
        R = missing.correlations
        for j in np.flatnonzero(~there):
            expected = R[j, there] @ np.linalg.inv(R[np.ix_(there, there)]) @ z if len(z) else 0.0
            value = np.interp(np.round(expected, DIGITS), missing.scores[j], missing.knots[j])
            np.testing.assert_allclose(found[row, j], value, rtol=1e-9, atol=1e-9)


def test_correlations_are_those_of_the_rows_that_have_both() -> None:
    missing = MissingNumbers.of(GAPS[:, :2])
    assert missing is not None
    both = np.isfinite(GAPS[:, :2]).all(axis=1)
    Z = np.column_stack([np.interp(GAPS[:, j], missing.knots[j], missing.scores[j]) for j in (0, 1)])
    pairs = Z[both].prod(axis=1).sum() / (both.sum() + FEW)
    counts = np.isfinite(GAPS[:, :2]).sum(axis=0)
    r = pairs / np.sqrt(counts / (counts + FEW)).prod()  # scores have spread 1
    values, vectors = np.linalg.eigh([[1, r], [r, 1]])
    expected = (vectors * np.maximum(values, NOISE)) @ vectors.T + NOISE * np.eye(2)
    np.testing.assert_allclose(missing.correlations, expected, atol=1e-6)


def test_it_is_nearer_than_the_median() -> None:
    """Of columns that say the same; of one that says nothing of others it is the median, or near it."""
    missing = MissingNumbers.of(GAPS)
    assert missing is not None
    found, lacks = missing.filled(GAPS), np.isnan(GAPS)
    median = np.nanmedian(GAPS, axis=0)
    for j, least in ((0, 2.0), (1, 1.5)):
        near = np.abs(found - WHOLE)[lacks[:, j], j].mean()
        assert np.abs(median[j] - WHOLE[lacks[:, j], j]).mean() > least * near
    assert np.abs(found[lacks[:, 3], 3] - median[3]).mean() < 0.25
    nothing = missing.filled(np.full((1, 4), np.nan))[0]
    np.testing.assert_allclose(nothing, median, atol=0.15)


def test_rows_do_not_depend_on_others() -> None:
    missing = MissingNumbers.of(GAPS)
    assert missing is not None
    alone = np.vstack([missing.filled(row[None]) for row in GAPS[:20]])
    np.testing.assert_allclose(missing.filled(GAPS)[:20], alone, rtol=1e-12)


def test_odd_columns() -> None:
    """Nothing missing, nothing known, one value, and a range beyond that of doubles."""
    assert MissingNumbers.of(WHOLE) is None
    odd = np.column_stack(
        [np.full(400, np.nan), np.full(400, 3.5), np.where(COMMON > 0, 1.7e308, -1.7e308), GAPS[:, 0]]
    )
    odd[:3, 1:] = np.nan
    missing = MissingNumbers.of(odd)
    assert missing is not None
    found = missing.filled(odd)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[:, 1], 3.5)


def test_in_a_file() -> None:
    missing = MissingNumbers.of(GAPS)
    assert missing is not None
    state = json.loads(json.dumps(missing.to_dict()))
    again = MissingNumbers.from_dict(state, 4)
    np.testing.assert_array_equal(again.filled(GAPS), missing.filled(GAPS))
    with pytest.raises(ModelFileError, match="must fit"):
        MissingNumbers.from_dict(state, 3)
    for name, value in (
        ("scores", [own[:1] for own in state["scores"]]),
        ("correlations", (-np.eye(4)).tolist()),
        ("knots", 3),
        ("knots", None),
    ):
        with pytest.raises((ModelFileError, TypeError, ValueError)):
            MissingNumbers.from_dict({**state, name: value}, 4)
