"""Shapley values of games with a known start and end: exactly over all subsets, or over drawn orders.

In a game of d players a set S of them is worth v(S). Player j is worth the mean of v(S ∪ j) − v(S) over all
orders in which the players may come, S being those who came before j. These d numbers have the sum
v(all) − v(none) in every single order, so also over some of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Protocol

import numpy as np


class Game(Protocol):
    """Which sets must be valued, and what follows for the players."""

    @property
    def sets(self) -> np.ndarray:
        """The sets as masks: (s, d)."""

    def shares(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Shapley values (d,) from the values (s,) of the sets, and their squared standard errors."""


@dataclass(frozen=True)
class AllSets:
    """φ_j = Σ_{S ∌ j} (v(S ∪ j) − v(S))/(d · C(d − 1, |S|)), over all 2^d sets."""

    players: int

    @property
    def sets(self) -> np.ndarray:
        return (np.arange(2**self.players)[:, None] >> np.arange(self.players)) % 2 == 1

    def shares(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d, sets = self.players, self.sets
        weights = np.array([1 / (d * comb(d - 1, size)) for size in range(d)])
        numbers, sizes = np.arange(len(sets)), sets.sum(axis=1)
        values = np.empty(d)
        for j in range(d):
            without = numbers[~sets[:, j]]
            values[j] = (weights[sizes[without]] * (v[without + 2**j] - v[without])).sum()
        return values, np.zeros(d)


@dataclass(frozen=True)
class DrawnOrders:
    """The mean over drawn orders, each beside its reverse: who comes early in one comes late in the other, so
    that their mean varies less. How pairs differ gives the standard error."""

    orders: np.ndarray  # (k, d)

    @classmethod
    def of(cls, players: int, pairs: int, rng: np.random.Generator) -> DrawnOrders:
        """``pairs`` of them."""
        return cls(np.stack([rng.permutation(players) for _ in range(pairs)]))

    @property
    def both(self) -> np.ndarray:
        """Orders and their reverses, one after the other: (2k, d)."""
        return np.stack([self.orders, self.orders[:, ::-1]], axis=1).reshape(-1, self.orders.shape[1])

    @property
    def sets(self) -> np.ndarray:
        """None, all, and after each arrival but the last those who are there: (2 + 2k(d − 1), d)."""
        orders = self.both
        d = orders.shape[1]
        arrival = np.argsort(orders, axis=1)  # (2k, d), of each player
        between = arrival[:, None, :] < np.arange(1, d)[:, None]
        return np.vstack([np.zeros(d, bool), np.ones(d, bool), between.reshape(-1, d)])

    def shares(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        orders = self.both
        n, d = orders.shape
        path = np.hstack([np.full((n, 1), v[0]), v[2:].reshape(n, d - 1), np.full((n, 1), v[1])])
        gains = np.empty((n, d))
        np.put_along_axis(gains, orders, np.diff(path, axis=1), axis=1)
        pairs = (gains[::2] + gains[1::2]) / 2
        k = len(pairs)
        return pairs.mean(axis=0), pairs.var(axis=0, ddof=1) / k if k > 1 else np.full(d, np.nan)


def game_of(players: int, pairs: int, rng: np.random.Generator) -> Game:
    """All sets where these are no more than those that so many pairs of orders would value."""
    if 2**players <= 2 + 2 * pairs * max(players - 1, 0):
        return AllSets(players)
    return DrawnOrders.of(players, pairs, rng)
