"""The head against the formulas that it states."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pinvgcn.app import head as module
from pinvgcn.app.head import RIDGE, Head, Surroundings

N, CLASSES = 40, 3


def surroundings(seed: int, *, smooth: bool = False) -> Surroundings:
    rng = np.random.default_rng(seed)
    shapes, places, waves = (rng.normal(size=(N, d)) for d in (5, 3, 4))
    shapes /= np.sqrt(5)
    around = np.eye(N)
    if smooth:
        around = rng.uniform(size=(N, N))
        around /= around.sum(axis=1, keepdims=True)
    return Surroundings(shapes, places, waves, sp.csr_array(around))


def kernel(one: Surroundings, i: int, j: int) -> float:
    """The docstring's formula, for one pair."""
    shape = np.exp(-((one.shapes[i] - one.shapes[j]) ** 2).sum() / 2)
    place = np.exp(-((one.places[i] - one.places[j]) ** 2).sum() / (2 * 0.25 * 3))
    return shape + 0.15 * place + 0.1 * one.waves[i] @ one.waves[j]


def labels(seed: int, count: int = 9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.choice(N, count, replace=False), np.arange(count) % CLASSES


def test_the_kernel() -> None:
    one = surroundings(0)
    rows = np.array([3, 7])
    expected = [[kernel(one, i, j) for j in range(N)] for i in rows]
    assert one.kernel(rows) == pytest.approx(np.array(expected), abs=1e-12)
    assert one.kernel(rows, np.array([5, 1])) == pytest.approx(np.array(expected)[:, [5, 1]], abs=1e-12)
    assert one.own() == pytest.approx([kernel(one, i, i) for i in range(N)])


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_what_is_left_out_is_what_the_others_say(seed: int) -> None:
    """The closed form equals a fit without the label, for every label."""
    one = surroundings(seed)
    points, codes = labels(seed)
    reply = Head(one).reply(points, codes, CLASSES)
    K = np.array([[kernel(one, i, j) for j in points] for i in points])
    Y = np.eye(CLASSES)[codes] - 1 / CLASSES
    for t in range(len(points)):
        rest = np.arange(len(points)) != t
        alpha = np.linalg.solve(K[np.ix_(rest, rest)] + RIDGE * np.eye(rest.sum()), Y[rest])
        scores = K[t, rest] @ alpha
        # softmax of a multiple: differences of logarithms are proportional to differences of scores
        logs = np.log(reply.left_out[t])
        gaps, wanted = logs - logs[0], scores - scores[0]
        assert np.cross(np.append(gaps[1:], 0), np.append(wanted[1:], 0))[2] == pytest.approx(0, abs=1e-4)
        assert np.sign(gaps[1:]) == pytest.approx(np.sign(wanted[1:]))


def test_the_doubt_is_the_lead_over_the_posterior_spread() -> None:
    one = surroundings(1)
    points, codes = labels(1)
    head = Head(one)
    candidates, doubt = head.doubt(head.reply(points, codes, CLASSES))
    K = np.array([[kernel(one, i, j) for j in points] for i in range(N)])
    inverse = np.linalg.inv(K[points] + RIDGE * np.eye(len(points)))
    scores = np.sort(K @ inverse @ (np.eye(CLASSES)[codes] - 1 / CLASSES), axis=1)
    variance = one.own() - np.diag(K @ inverse @ K.T)
    expected = -(scores[:, -1] - scores[:, -2]) / np.sqrt(variance)
    assert not np.isin(points, candidates).any()
    assert doubt == pytest.approx(expected[candidates], rel=1e-3, abs=1e-4)


@given(st.integers(0, 10_000), st.lists(st.lists(st.integers(0, N - 1), min_size=3, unique=True), min_size=1))
@settings(max_examples=20, deadline=None)
def test_what_was_labelled_before_leaves_no_trace(seed: int, sets: list[list[int]]) -> None:
    one = surroundings(seed, smooth=True)
    head = Head(one)
    for points in sets:
        codes = np.arange(len(points)) % CLASSES
        other = Head(one)
        reply = head.reply(np.array(points), codes, CLASSES)
        fresh = other.reply(np.array(points), codes, CLASSES)
        assert reply.proba == pytest.approx(fresh.proba, abs=1e-5)
        assert head.doubt(reply)[1] == pytest.approx(other.doubt(fresh)[1], rel=1e-2, abs=1e-3)
        assert reply.proba.sum(axis=1) == pytest.approx(1, abs=1e-6)


def dense(one: Surroundings) -> np.ndarray:
    return np.array([[kernel(one, i, j) for j in range(len(one))] for i in range(len(one))])


def left_over(K: np.ndarray, kept: np.ndarray, ridge: float = 1e-9) -> np.ndarray:
    """The posterior covariance of all points, given some."""
    inside = K[np.ix_(kept, kept)] + ridge * np.eye(len(kept))
    return K - K[:, kept] @ np.linalg.solve(inside, K[kept])


def test_labels_that_are_alike_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 24)
    monkeypatch.setattr(module, "MANY", 12)
    one = surroundings(2)
    points, codes = np.arange(N), np.repeat([0, 1, 2], [30, 6, 4])
    kept = Head(one).reply(points, codes, CLASSES)
    assert np.bincount(kept.codes).max() == 8  # a fair share
    doubled = Surroundings(*(np.repeat(part, 2, axis=0) for part in (one.shapes, one.places, one.waves)),
        sp.csr_array(np.eye(2 * N)))  # fmt: skip
    twice = Head(doubled).reply(np.arange(2 * N), np.repeat(codes, 2), CLASSES)
    assert len(np.unique(twice.points // 2)) == len(twice.points)  # no twin of another
    K = dense(one)
    for code in range(CLASSES):
        own, all_own = kept.points[kept.codes == code], points[codes == code]
        if len(own) < 8:  # what is left out is told by what is kept
            rest = np.diag(left_over(K, own))[all_own]
            assert (rest < module.NEW * np.diag(K)[all_own]).all()
        for label in own:  # and each that is kept has something of its own
            others = own[own != label]
            assert left_over(K, others)[label, label] >= 0.05 * K[label, label]


def test_the_gain_is_variance_that_a_label_takes_where_the_answer_is_unsure() -> None:
    one = surroundings(4)
    points, codes = labels(4)
    head = Head(one)
    reply = head.reply(points, codes, CLASSES)
    free = np.setdiff1d(np.arange(N), points)
    C = left_over(dense(one), points, RIDGE)
    unsure = 1 - reply.proba.max(axis=1)
    for x, found in zip(free, head.gain(reply, free), strict=True):
        told = left_over(C, np.array([x]), RIDGE)  # what is left when x has a label, too
        assert found == pytest.approx(((np.diag(C) - np.diag(told)) * unsure).sum(), rel=1e-3)


def test_proposals_differ_from_each_other() -> None:
    one = surroundings(3)
    points, codes = labels(3)
    head = Head(one)
    reply = head.reply(points, codes, CLASSES)
    chosen = head.proposals(reply, count=4)
    free = np.setdiff1d(np.arange(N), points)
    assert chosen[0] == free[head.gain(reply, free).argmax()]
    assert not np.isin(chosen, points).any()
    for i in chosen:
        for j in chosen:
            likeness = kernel(one, i, j) / np.sqrt(kernel(one, i, i) * kernel(one, j, j))
            assert i == j or likeness < 0.5


def test_the_most_doubtful_points_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinvgcn.app.head.DOUBTFUL", 1)
    one = surroundings(3)
    head = Head(one)
    reply = head.reply(*labels(3), CLASSES)
    candidates, doubt = head.doubt(reply)
    assert head.proposals(reply, count=1).tolist() == [candidates[doubt.argmax()]]


def test_a_base_is_held_less_where_labels_say_otherwise() -> None:
    """The regression is on what the base leaves over; the labels around a held point give its ρ."""
    one = surroundings(5)
    points, codes = labels(5)
    base = np.full((N, CLASSES), 0.1)
    base[np.arange(N), np.where(np.isin(np.arange(N), points[::2]), 2, 0)] = 0.8
    reply = Head(one).reply(points, codes, CLASSES, base)
    K = dense(one)
    held = np.setdiff1d(np.arange(N), points)
    right = base[points].argmax(axis=1) == codes
    assert 0 < right.sum() < len(right)
    said = base.argmax(axis=1)
    near = np.maximum(K[points][:, held], 0) * (said[points][:, None] == said[held])
    trust = (1 + near[right].sum(axis=0)) / (1 + near.sum(axis=0))
    assert (trust > 0).all()
    assert (trust <= 1).all()
    every = np.concatenate([points, held])
    ridge = np.concatenate([np.full(len(points), RIDGE), module.HELD_RIDGE / trust**2])
    left = np.concatenate([np.eye(CLASSES)[codes] - base[points], np.zeros((len(held), CLASSES))])
    told = base + K[:, every] @ np.linalg.solve(K[np.ix_(every, every)] + np.diag(ridge), left)
    expected = np.maximum(told, 1e-6)
    assert reply.proba == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=1e-4)


def test_a_base_alone_is_the_answer() -> None:
    one = surroundings(6)
    base = np.random.default_rng(0).dirichlet(np.ones(CLASSES), N)
    reply = Head(one).reply(np.empty(0, int), np.empty(0, int), CLASSES, base)
    assert reply.proba == pytest.approx(base, abs=1e-5)
    assert len(Head(one).proposals(reply, count=3)) == 3
