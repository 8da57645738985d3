"""Several rounds of averages, and the shares of classes in another scan: closed forms and single rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from pinvgcn.datasets import generate_street
from pinvgcn.experts.labels import RowLabels
from pinvgcn.features.averages import Averages
from pinvgcn.fitting.class_shares import stepped_factors
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.smoothing import GROUPED_ROUNDS, SAFE, SCAN, SECOND_LOOK, THIN, Smoothing

RNG = np.random.default_rng(0)
POINTS = generate_street(2_500, random_state=0).X
SCORES = 2 * RNG.normal(size=(2_500, 3))
P = softmax(SCORES, axis=1)
NODES = CloudNodes(POINTS, sigma=2.0, loops=1.0)
LABELS = RowLabels(np.arange(3), np.arange(0, 2_500, 50), np.arange(50) % 3 % 2 + (np.arange(50) < 5), None)
K, CELL = 6, 1.0


def smoothing(rounds: int = 1, **others) -> Smoothing:
    return Smoothing(K, CELL, None, None, rounds, **others)


def once(values: np.ndarray, points: np.ndarray = POINTS) -> np.ndarray:
    """One round: q = (p + k p̄)/(k + 1)."""
    return (values + K * Averages.of(points, values, CELL).at(points, values)) / (K + 1)


def of(**settings) -> tuple[Smoothing, np.ndarray]:
    usual = {"neighbours": K, "cell": CELL, "priors": "estimated"}
    return Smoothing.of(SCORES, NODES, LABELS, **{**usual, **settings})


@pytest.mark.parametrize("rounds", [1, 2, 3])
class TestRounds:
    def test_own_is_one_round_after_the_other(self, rounds):
        expected = P
        for _ in range(rounds):
            expected = once(expected)
        found = smoothing().averaged(P, POINTS, None, "own", rounds=rounds)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(found.sum(axis=1), 1)

    def test_points_of_training_seen_again(self, rounds):
        """All of them and a few: with the sums of each round, they have what they had in training."""
        q, around = smoothing(rounds).among_all(P, NODES)
        assert around is not None
        assert around.sums.shape[1] == rounds * 3
        own = smoothing().averaged(P, POINTS, None, "own", rounds=rounds)
        np.testing.assert_allclose(q, own, rtol=0, atol=1e-12)
        again = smoothing(rounds).averaged(P, POINTS, around, "training", rounds=rounds)
        np.testing.assert_allclose(again, own, rtol=0, atol=1e-12)
        few = np.array([3, 77, 2_000])
        found = smoothing(rounds).averaged(P[few], POINTS[few], around, "training", rounds=rounds)
        np.testing.assert_allclose(found, own[few], rtol=0, atol=1e-12)

    def test_members_side_by_side(self, rounds):
        """Columns are averaged alone, however many there are."""
        both = np.hstack([P, P[:, ::-1]])
        found = smoothing().averaged(both, POINTS, None, "own", rounds=rounds)
        one = smoothing().averaged(P, POINTS, None, "own", rounds=rounds)
        np.testing.assert_allclose(found, np.hstack([one, one[:, ::-1]]), atol=1e-15)


class TestHowMany:
    def test_none_leaves_probabilities_alone(self):
        assert smoothing().averaged(P, POINTS, None, "own", rounds=0) is P

    @pytest.mark.parametrize(
        ("grouped", "away", "cell", "expected"),
        [
            (False, False, 1.0, (1, 1)),
            (False, True, 1.0, (1, GROUPED_ROUNDS)),
            (True, True, 1.0, (GROUPED_ROUNDS, GROUPED_ROUNDS)),
            (True, True, 2.0, (1, 0)),  # points too far apart
            (False, True, 2.0, (1, 0)),
        ],
    )
    def test_rounds(self, grouped, away, cell, expected):
        assert 1.0 < THIN < 2.0
        found, _ = of(grouped=grouped, away=away, cell=cell)
        assert (found.rounds, found.away_rounds) == expected
        assert (found.rounds_at(False), found.rounds_at(True)) == expected
        assert found.cell == (2 * cell if expected[0] > 1 else cell)  # a wider average takes fewer rounds

    @pytest.mark.parametrize(("neighbours", "expected"), [(K, 1), (3 * SECOND_LOOK, 3), (1, 1), (None, None)])
    def test_fewer_neighbours_count_after_a_second_look(self, neighbours, expected):
        found, _ = of(context=True, away=True, neighbours=neighbours)
        assert (found.neighbours, found.away_rounds) == (expected, 1)

    def test_without_neighbours_there_are_none(self):
        found, Q = of(neighbours=None, cell=None, priors=None, away=True, grouped=True)
        assert (found.rounds_at(False), found.rounds_at(True)) == (0, 0)
        np.testing.assert_array_equal(Q, P)


class TestShares:
    """Of classes where labels do not lie as the points do."""

    def test_stepped_factors(self):
        total, trained = np.array([2.0, 6.0, 8.0]), np.array([0.5, 0.25, 0.25])
        found = stepped_factors(total, trained, 0.5)
        np.testing.assert_allclose(found, np.sqrt([0.125 / 0.5, 0.375 / 0.25, 0.5 / 0.25]))
        np.testing.assert_allclose(stepped_factors(5 * total, trained, 0.5), found)
        np.testing.assert_allclose(stepped_factors(trained, trained, 0.5), 1)

    def test_here_with_grouped_labels(self):
        """Mean probabilities of all points, labels counted for their class."""
        found, proba = of(grouped=True, away=True)
        counted = P.copy()
        counted[LABELS.rows] = np.eye(3)[LABELS.codes]
        factors = (counted.mean(axis=0) / LABELS.shares) ** SAFE
        np.testing.assert_allclose(found.factors, factors, atol=1e-12)
        weighed = P * factors / (P * factors).sum(axis=1, keepdims=True)
        expected, _ = replace(smoothing(GROUPED_ROUNDS), cell=2 * CELL).among_all(weighed, NODES)
        np.testing.assert_allclose(proba, expected, atol=1e-12)

    def test_elsewhere(self):
        """Those of the other scan itself, before the averages."""
        model, _ = of(grouped=False, away=True)
        assert model.trained is not None
        found = model(SCORES, POINTS + 1024.0, "own", elsewhere=True)
        q = P * P.mean(axis=0) / LABELS.shares
        q /= q.sum(axis=1, keepdims=True)
        for _ in range(GROUPED_ROUNDS):
            q = once(q, POINTS + 1024.0)
        np.testing.assert_allclose(found, q, atol=1e-12)
        here = model(SCORES, POINTS, "own")
        corrected = P * model.factors / (P * model.factors).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(here, once(corrected), atol=1e-12)

    def test_few_points_elsewhere_do_not_tell_them(self):
        model, _ = of(away=True)
        few, enough = model.at(True, np.ones(3), SCAN - 1), model.at(True, np.ones(3), SCAN)
        assert few.factors is None
        np.testing.assert_allclose(enough.factors, 1 / 3 / LABELS.shares)
        some = slice(0, SCAN - 1)
        found = model(SCORES[some], POINTS[some], "own", elsewhere=True)
        np.testing.assert_array_equal(
            found, model.averaged(P[some], POINTS[some], None, "own", rounds=GROUPED_ROUNDS)
        )

    @pytest.mark.parametrize(
        "settings", [{"away": True, "priors": None}, {"away": True, "priors": {0: 1, 1: 2, 2: 3}}]
    )
    def test_where_they_are_not_asked_for(self, settings):
        model, _ = of(**settings)
        assert model.trained is None
        assert model.at(True, np.ones(3), 10 * SCAN) is model

    def test_elsewhere_in_a_thin_scan(self):
        """Square roots, and no averages."""
        model, _ = of(away=True, cell=2.0)
        q = P * np.sqrt(P.mean(axis=0) / LABELS.shares)
        found = model(SCORES, POINTS, "own", elsewhere=True)
        np.testing.assert_allclose(found, q / q.sum(axis=1, keepdims=True), atol=1e-12)

    def test_where_another_scan_has_none(self):
        """Those of the training scan do not count there, either."""
        model, _ = of(away=False)
        assert model.away_power == 0
        assert model.at(True, np.ones(3), 10 * SCAN).factors is None
        assert model.at(False, np.ones(3), 10 * SCAN) is model

    def test_many_labels_are_left_alone(self, monkeypatch):
        """Where every class has a thousand labels, their shares are known well enough."""
        monkeypatch.setattr("pinvgcn.fitting.smoothing.LABELS", np.bincount(LABELS.codes).min())
        assert of(away=True)[0].away_power == 0
        monkeypatch.setattr("pinvgcn.fitting.smoothing.LABELS", np.bincount(LABELS.codes).min() + 1)
        assert of(away=True)[0].away_power == 1

    def test_rows_without_points(self):
        model = Smoothing(None, None, None, np.array([1.0, 2.0, 3.0]))
        expected = P * [1, 2, 3]
        np.testing.assert_allclose(model(SCORES, None, "training"), expected / expected.sum(axis=1)[:, None])
        assert replace(model, factors=None).weighed(P) is P
