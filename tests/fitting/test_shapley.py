"""Shapley values against their definition, and what they promise whatever the game is."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pinvgcn.fitting.explanation import AllSets, DrawnOrders, game_of


def by_definition(v, d):
    """The mean over all orders of what each player adds when it comes."""
    gains = np.zeros(d)
    orders = list(permutations(range(d)))
    for order in orders:
        there = frozenset()
        for player in order:
            gains[player] += v(there | {player}) - v(there)
            there |= {player}
    return gains / len(orders)


def random_game(d, seed):
    worth = dict(enumerate(np.random.default_rng(seed).normal(size=2**d)))
    return lambda players: worth[sum(2**player for player in players)]


def valued(game, v):
    return np.array([v(frozenset(np.flatnonzero(mask).tolist())) for mask in game.sets])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_all_sets_are_the_definition(d):
    v, game = random_game(d, d), AllSets(d)
    values, squared = game.shares(valued(game, v))
    np.testing.assert_allclose(values, by_definition(v, d), atol=1e-12)
    assert not squared.any()


def test_all_orders_are_the_definition():
    v = random_game(4, 0)
    game = DrawnOrders(np.array(list(permutations(range(4)))))
    values, _ = game.shares(valued(game, v))
    np.testing.assert_allclose(values, by_definition(v, 4), atol=1e-12)


@pytest.mark.parametrize("pairs", [1, 2, 7])
def test_drawn_orders_have_the_exact_sum_and_honest_errors(pairs):
    v, d = random_game(7, 1), 7
    game = DrawnOrders.of(d, pairs, np.random.default_rng(0))
    assert game.sets.shape == (2 + 2 * pairs * (d - 1), d)
    values, squared = game.shares(valued(game, v))
    np.testing.assert_allclose(values.sum(), v(frozenset(range(d))) - v(frozenset()), atol=1e-12)
    assert np.isnan(squared).all() if pairs == 1 else (squared > 0).all()


def test_drawn_orders_come_as_near_as_their_errors_say():
    v, d = random_game(5, 2), 5
    true = by_definition(v, d)
    far = []
    for seed in range(40):
        game = DrawnOrders.of(d, 30, np.random.default_rng(seed))
        values, squared = game.shares(valued(game, v))
        far.append((values - true) / np.sqrt(squared))
    assert 0.8 < np.sqrt(np.mean(np.square(far))) < 1.25


@pytest.mark.parametrize("pairs", [1, 20])
def test_nobody_and_equals(pairs):
    """Player 0 adds nothing to any set, players 1 and 2 the same."""

    def v(players):
        return np.sin(3.7 * ((1 in players) + (2 in players)) + 1.3 * (3 in players) * len(players - {0}))

    for game in (AllSets(4), DrawnOrders.of(4, pairs, np.random.default_rng(5))):
        values, squared = game.shares(valued(game, v))
        assert values[0] == 0  # to the last bit
        if isinstance(game, AllSets):
            assert values[1] == pytest.approx(values[2], abs=1e-14)
        elif pairs > 1:
            assert squared[0] == 0
            assert abs(values[1] - values[2]) < 4 * np.sqrt(squared[1] + squared[2])


def test_the_cheaper_way_is_taken():
    rng = np.random.default_rng(0)
    assert isinstance(game_of(0, 1, rng), AllSets)
    assert isinstance(game_of(1, 1, rng), AllSets)
    assert isinstance(game_of(4, 3, rng), AllSets)  # 16 sets, or 20
    assert isinstance(game_of(4, 2, rng), DrawnOrders)  # 16 sets, or 14
    assert isinstance(game_of(1000, 2, rng), DrawnOrders)
    assert game_of(0, 1, rng).shares(np.zeros(1))[0].shape == (0,)
