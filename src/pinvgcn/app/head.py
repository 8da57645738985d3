"""The answer to a handful of labels at once: kernel ridge regression on shapes, places and eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

RIDGE = 0.01  # ρ
REACH = 0.3  # of a label in space, where the cloud has a spread of 1
NEAR, SMOOTH = 0.25, 0.25  # the weights of places and of eigenvectors beside shapes
EIGENVECTORS = 20
COLDEST = 10.0  # scores are multiplied by at most so much
KEPT, CONSIDERED = 600, 3  # labels that the kernel knows at most, and how many times as many are looked at
SAME, MANY = 0.8, 100  # likeness from which on two labels of a class teach the same, where there are many
HELD, HELD_RIDGE = 200, 0.3  # points at which a model that answered first is held, and their ρ


@dataclass(frozen=True)
class Surroundings:
    """What the kernel sees of n points."""

    shapes: np.ndarray  # (n, f) local shapes and other features, each of mean 0 and spread 1
    places: np.ndarray  # (n, 3) centred, of a common spread of 1
    waves: np.ndarray  # (n, q) √(n λ₁/(q λ_i)) u_i
    around: sp.csr_array  # (n, n) averages a point's own value and those of its neighbours

    def __len__(self) -> int:
        return len(self.places)

    def kernel(self, rows: np.ndarray, at: Any = slice(None)) -> np.ndarray:
        """k(x_t, x) for points t in ``rows`` and points x, all of them or those ``at`` some places: (t, n)::

        exp(−|s − s_t|²/2f) + ¼ exp(−|p − p_t|²/(6 · 0.3²)) + ¼ Σ_i (n λ₁/q λ_i) u_i u_i(t)

        shapes s, places p, and the pseudoinverse part of the filters on the first q eigenvectors.
        """
        K = np.exp(_squares(self.shapes, rows, at) / (-2 * self.shapes.shape[1]))
        K += NEAR * np.exp(_squares(self.places, rows, at) / (-2 * REACH**2 * self.places.shape[1]))
        K += SMOOTH * (self.waves[rows] @ self.waves[at].T)
        return K

    def own(self) -> np.ndarray:
        """k(x, x): (n,)"""
        total: np.ndarray = 1 + NEAR + SMOOTH * (self.waves**2).sum(axis=1)
        return total


def _squares(values: np.ndarray, rows: np.ndarray, at: Any) -> np.ndarray:
    """|v_t − v|²: (t, n)"""
    here, there = values[rows], values[at]
    D = -2 * (here @ there.T)
    D += (there**2).sum(axis=1)
    D += (here**2).sum(axis=1)[:, None]
    return np.maximum(D, 0, out=D)


@dataclass(frozen=True)
class Reply:
    """What the labels make of all points."""

    proba: np.ndarray  # (n, classes)
    left_out: np.ndarray  # (t, classes) of each label's point, had it not been labelled
    points: np.ndarray  # (t,) the labelled points,
    codes: np.ndarray  # (t,) and their labels
    lead: np.ndarray  # (n,) of the best class's score over the second, averaged over neighbours
    inverse: np.ndarray  # (t, t) (K + ρI)⁻¹ of these,
    every: np.ndarray  # (t,) the labelled points and those at which a base is held

    @property
    def sureness(self) -> np.ndarray:
        """The probability of each point's class: (n,)"""
        best: np.ndarray = self.proba.max(axis=1)
        return best

    @property
    def held_out_accuracy(self) -> float:
        """The share of labels that the other labels would have given."""
        return float((self.left_out.argmax(axis=1) == self.codes).mean())


class Head:
    """s(x) = Σ_t k(x, x_t) α_t with α = (K + ρI)⁻¹ (Y − 1/c): scores of all points from labels t.

    Rows of the kernel are kept from one call to the next: a new label costs one more, and a system as
    large as there are labels.
    """

    def __init__(self, around: Surroundings, *, candidates: int = 20_000) -> None:
        self.surroundings = around
        self._rows: dict[int, int] = {}  # point: its row of the kernel
        self._K = np.empty((64, len(around)), dtype=np.float32)
        step = max(1, len(around) // candidates)
        self._candidates = np.arange(0, len(around), step)
        self.own = around.own()  # k(x, x): (n,)
        self._order = np.random.default_rng(0).permutation(len(around))  # in which labels are considered

    def reply(
        self, points: np.ndarray, codes: np.ndarray, classes: int, base: np.ndarray | None = None
    ) -> Reply:
        """From labelled ``points`` (t,) and their classes 0 … classes − 1; those alike count once.

        ``base`` (n, classes) are probabilities that a model has told, which labels correct: the regression is
        on what the base leaves over, which is nothing at some points that hold it in place (``HELD``), with a
        larger ρ.
        """
        points, codes = self._distinct(points, codes)
        count, ridge = len(points), np.full(len(points), RIDGE)
        left = Y = np.eye(classes)[codes] - 1 / classes
        every = points
        if base is not None:
            held = np.setdiff1d(self._candidates[:: max(1, len(self._candidates) // HELD)], points)
            every = np.concatenate([points, held])
            left = np.concatenate([Y - (base[points] - 1 / classes), np.zeros((len(held), classes))])
            ridge = np.append(ridge, np.full(len(held), HELD_RIDGE))
        K = self._kernel(every)
        inverse = np.linalg.inv(K[:, every].astype(np.float64) + np.diag(ridge))
        alpha = inverse @ left
        left_out = Y - (alpha / np.diag(inverse)[:, None])[:count]
        cold = _coldness(left_out, codes)
        scores = K.T @ alpha.astype(np.float32)
        if base is not None:
            scores += (base - 1 / classes).astype(np.float32)
        average = self.surroundings.around
        both = average @ np.hstack([softmax(cold * scores, axis=1), scores])  # in one pass over neighbours
        proba, smooth = both[:, :classes], both[:, classes:]
        ordered = np.partition(smooth, -2, axis=1)
        return Reply(
            proba / proba.sum(axis=1, keepdims=True),
            softmax(cold * left_out, axis=1),
            points,
            codes,
            ordered[:, -1] - ordered[:, -2],
            inverse,
            every,
        )

    def doubt(self, reply: Reply) -> tuple[np.ndarray, np.ndarray]:
        """Points without a label (m,), and −lead/√(k(x, x) − kᵀ(K + ρI)⁻¹k) there (m,): large where the best
        class leads by little and much is uncertain, so that the answer may change."""
        average = self.surroundings.around
        free = self._candidates[~np.isin(self._candidates, reply.points)]
        lead = (average @ (average @ reply.lead))[free]  # of a place, not of a single odd point
        K = self._kernel(reply.every)[:, free]
        spread = self.own[free] - np.einsum("tm,tm->m", reply.inverse.astype(np.float32) @ K, K)
        return free, -lead / np.sqrt(np.maximum(spread, 1e-6))

    def _distinct(self, points: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels that teach something of their own: of those of a class that are alike, one; ``KEPT`` at
        most, with a fair share for each class. A label keeps its place in the order when others come, so that
        few rows of the kernel are new."""
        if len(points) <= MANY:  # single clicks: each of them was meant
            return points, codes
        order = np.argsort(self._order[points], kind="stable")
        present = np.unique(codes)
        fair = KEPT // max(len(present), 1)
        chosen: list[np.ndarray] = []
        for code in present:
            own = order[codes[order] == code][: CONSIDERED * fair]
            rows = points[own]
            scale = np.sqrt(self.own[rows])
            like = self.surroundings.kernel(rows, rows) / scale / scale[:, None]
            chosen.append(own[_apart(like, fair)])
        kept = np.sort(np.concatenate(chosen))
        return points[kept], codes[kept]

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        """Rows of the kernel, in the order of ``points``: (t, n); those of other points are forgotten."""
        wanted = {int(point): place for place, point in enumerate(points)}
        if len(points) > len(self._K):
            larger = np.empty((2 * len(points), self._K.shape[1]), dtype=np.float32)
            larger[: len(self._rows)] = self._K[: len(self._rows)]
            self._K = larger
        places = {point: row for point, row in self._rows.items() if point in wanted}
        kept = sorted(places.items(), key=lambda item: item[1])
        for target, (point, row) in enumerate(kept):  # close the gaps, keeping the order
            if target != row:
                self._K[target] = self._K[row]
            places[point] = target
        new = [point for point in wanted if point not in places]
        if new:
            end = len(kept) + len(new)
            self._K[len(kept) : end] = self.surroundings.kernel(np.array(new))
            places |= {point: len(kept) + i for i, point in enumerate(new)}
        self._rows = places
        order = np.array([places[int(point)] for point in points])
        if np.array_equal(order, np.arange(len(order))):
            return self._K[: len(order)]
        return self._K[order]


def _apart(like: np.ndarray, most: int) -> np.ndarray:
    """The first rows that are not like any of those before (t, t): ``most`` of them, rising."""
    left, kept = np.ones(len(like), dtype=bool), []
    for row in range(len(like)):
        if left[row]:
            kept.append(row)
            left &= like[row] < SAME
        if len(kept) == most:
            break
    return np.array(kept)


def _coldness(left_out: np.ndarray, codes: np.ndarray) -> float:
    """t ≥ 1 maximising Σ log softmax(t s_i)_{y_i} over labels, each with the scores of all others."""

    def loss(log_t: float) -> float:
        logs = log_softmax(np.exp(log_t) * left_out, axis=1)
        return -float(logs[np.arange(len(codes)), codes].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, np.log(COLDEST)), method="bounded").x))
