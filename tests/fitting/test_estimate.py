"""The expected accuracy: closed forms, and words where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.fitting.estimate import AccuracyEstimate, HeldOutRecalls, told_apart

CODES = np.array([0] * 10 + [1] * 3)
RIGHT = np.array([1] * 8 + [0] * 2 + [1] * 3)
PLACES = np.array([4, 2, 0])
KNOWN = HeldOutRecalls.of(RIGHT, CODES, PLACES)


def test_recalls_with_half_a_label_right_and_wrong():
    np.testing.assert_allclose(KNOWN.recalls, [8.5 / 11, 3.5 / 4, 0.5])
    np.testing.assert_array_equal(KNOWN.places, PLACES)
    nothing = HeldOutRecalls.of(np.zeros(0), CODES[:0], PLACES)
    assert nothing.recalls.tolist() == [0.5, 0.5, 0.5]


def test_the_mean_of_held_out_labels_and_confidence():
    shares, confidence = np.array([0.5, 0.3, 0.2]), 0.7
    recalls, places = [8.5 / 11, 3.5 / 4, 0.5], [4, 2, 1]  # a class without a place has one draw
    held = sum(pi * r for pi, r in zip(shares, recalls, strict=True))
    variance = sum(pi**2 * r * (1 - r) / g for pi, r, g in zip(shares, recalls, places, strict=True)) / 4
    half = 1.645 * math.sqrt(variance + (held - confidence) ** 2 / 4)
    found = KNOWN.expected(shares, confidence, basis="blocks")
    assert found.accuracy == pytest.approx((held + confidence) / 2, abs=1e-12)
    assert found.low == pytest.approx(found.accuracy - half, abs=1e-12)
    assert found.high == pytest.approx(found.accuracy + half, abs=1e-12)
    assert (found.coverage, found.basis, found.reason, found.advice) == (0.9, "blocks", None, None)


def test_no_interval_is_narrower_than_one_in_a_hundred():
    many = HeldOutRecalls(np.array([0.9]), np.array([10**9]), CODES[:0])
    found = many.expected(np.ones(1), 0.9, basis="")
    assert (found.low, found.high) == (pytest.approx(0.895), pytest.approx(0.905))


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.floats(0, 1), st.integers(0, 9))
def test_shares_are_shares(recalls, confidence, places):
    known = HeldOutRecalls(np.array(recalls), np.full(3, places), CODES[:0])
    found = known.expected(np.array([0.2, 0.3, 0.5]), confidence, basis="")
    assert 0 <= found.low <= found.accuracy + 1e-12
    assert found.accuracy - 1e-12 <= found.high <= 1
    assert AccuracyEstimate(**found.as_dict()) == found


def test_more_places_say_more():
    few, many = (
        HeldOutRecalls(np.full(2, 0.8), np.full(2, places), CODES[:0]).expected(
            np.full(2, 0.5), 0.8, basis=""
        )
        for places in (2, 50)
    )
    assert few.high - few.low > many.high - many.low


def test_sets_of_another_scan_by_brute_force():
    P = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    codes = np.arange(40) % 3
    known = HeldOutRecalls.of_probabilities(P, codes, PLACES)
    np.testing.assert_array_equal(
        known.recalls, HeldOutRecalls.of(P.argmax(axis=1) == codes, codes, PLACES).recalls
    )
    odds = P / (1 - P)
    np.testing.assert_allclose(known.odds, odds[np.arange(40), codes])
    rows = np.random.default_rng(1).dirichlet(np.ones(3), 25)
    expected = [[(odds[codes == c, c] > row[c] / (1 - row[c])).sum() for c in range(3)] for row in rows]
    np.testing.assert_array_equal(known.above(rows), expected)


def test_no_estimate():
    found = AccuracyEstimate.none("all is alike", "label more", basis="held out")
    assert (found.accuracy, found.low, found.high, found.basis) == (None, None, None, "held out")
    assert found.sentence() == "No estimate: all is alike. Label more."


def test_classes_that_are_told_apart_and_not():
    codes = np.repeat([0, 1], 50)
    assert told_apart(codes, codes, 2) == pytest.approx(1)
    same = np.tile([0, 0, 0, 0, 1], 20)  # four in five of either class are found as the first
    assert told_apart(same, codes, 2) == pytest.approx(0, abs=1e-12)
    shares = np.array([[0.9, 0.1], [0.4, 0.6]])
    found = np.concatenate([np.repeat([0, 1], [45, 5]), np.repeat([0, 1], [20, 30])])
    assert told_apart(found, codes, 2) == pytest.approx(np.sqrt(np.linalg.eigvalsh(shares @ shares.T)[0]))
