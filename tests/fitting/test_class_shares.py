"""Class shares found from probabilities alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from pinvgcn.fitting.class_shares import corrected, estimated_shares


def two_bells(n: int, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes of N(±1, 1), and the exact probabilities of someone who holds them to be equally frequent."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(2.0 * y - 1)
    p = 1 / (1 + np.exp(-2 * x))
    return np.stack([1 - p, p], axis=1), y


NONE = np.zeros(0, dtype=int)
EQUAL = np.array([0.5, 0.5])


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_the_true_shares_are_found(share):
    P, y = two_bells(40_000, share)
    shares = estimated_shares(P, EQUAL, NONE, NONE)
    assert abs(shares[1] - y.mean()) < 0.015
    better = corrected(P, shares / EQUAL)
    assert np.mean(better.argmax(axis=1) == y) >= np.mean(P.argmax(axis=1) == y) - 1e-3
    np.testing.assert_allclose(better.sum(axis=1), 1)


def test_it_is_the_maximum_of_the_likelihood():
    P, y = two_bells(300, 0.2)
    trained, known = np.array([0.4, 0.6]), np.arange(20)

    def minus_log(pi: float) -> float:
        shares = np.array([1 - pi, pi])
        return -np.log((P[20:] * shares / trained).sum(axis=1)).sum() - np.log(shares[y[:20]]).sum()

    best = minimize(lambda v: minus_log(v[0]), [0.5], bounds=[(1e-4, 1 - 1e-4)]).x[0]
    assert estimated_shares(P, trained, known, y[:20])[1] == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("caution", [0.0, 0.5, 3.0, 100.0])
def test_caution_is_rows_of_the_shares_of_the_labels(caution):
    """The maximum with γ n log-likelihoods of rows that have the classes with shares τ."""
    P, y = two_bells(300, 0.2)
    trained, known = np.array([0.4, 0.6]), np.arange(20)

    def minus_log(pi: float) -> float:
        shares = np.array([1 - pi, pi])
        rows = np.log((P[20:] * shares / trained).sum(axis=1)).sum() + np.log(shares[y[:20]]).sum()
        return -rows - caution * 300 * (trained * np.log(shares)).sum()

    grid = np.linspace(1e-3, 1 - 1e-3, 20_001)
    best = grid[np.argmin([minus_log(pi) for pi in grid])]
    found = estimated_shares(P, trained, known, y[:20], caution=caution)
    assert found.sum() == pytest.approx(1)
    assert found[1] == pytest.approx(best, abs=1e-3)


def test_rows_that_are_certain_with_caution():
    """In closed form: π = (n_c + γ n τ_c)/(n (1 + γ))."""
    P = np.repeat(np.eye(2), [30, 10], axis=0)
    found = estimated_shares(P, EQUAL, NONE, NONE, caution=0.25)
    np.testing.assert_allclose(found, [(30 + 5) / 50, (10 + 5) / 50])
    np.testing.assert_allclose(estimated_shares(P, EQUAL, NONE, NONE, caution=1e9), EQUAL, atol=1e-6)


def test_a_class_with_a_label_never_vanishes():
    P = np.tile([0.9, 0.1], (100, 1))
    shares = estimated_shares(P, EQUAL, np.array([0, 1]), np.array([0, 1]))
    assert shares[1] >= 0.01
    assert shares.sum() == pytest.approx(1)
