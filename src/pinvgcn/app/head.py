"""The answer to a handful of labels at once: kernel ridge regression on shapes, places and eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

RIDGE = 0.01  # ρ
REACH = 0.5  # of a label in space, where the cloud has a spread of 1
NEAR, SMOOTH = 0.15, 0.1  # the weights of places and of eigenvectors beside shapes
EIGENVECTORS = 20
PROBES = 2_000  # points at which a gain is summed, about
DOUBTFUL = 300  # points, by whose gain the next proposal is chosen
ALIKE = 0.5  # of k(x, x): points whose kernel is larger would teach the same
COLDEST = 10.0  # scores are multiplied by at most so much
KEPT, CONSIDERED = 600, 2_000  # labels that the kernel knows at most; labels of a class that are looked at
MANY, NEW = 100, 0.2  # single clicks; the share of k(x, x) that a label has to add where there are more
HELD, HELD_RIDGE = 600, 0.03  # points at which a model that answered first is held, and their smallest ρ


@dataclass(frozen=True)
class Surroundings:
    """What the kernel sees of n points."""

    shapes: np.ndarray  # (n, f) of what surrounds each point, with squared distances of about 2
    places: np.ndarray  # (n, 3) centred, of a common spread of 1
    waves: np.ndarray  # (n, q) √(n λ₁/(q λ_i)) u_i
    around: sp.csr_array  # (n, n) averages a point's own value and those of its neighbours

    def __len__(self) -> int:
        return len(self.places)

    def kernel(self, rows: np.ndarray, at: Any = slice(None)) -> np.ndarray:
        """k(x_t, x) for points t in ``rows`` and points x, all of them or those ``at`` some places: (t, n)::

        exp(−|s − s_t|²/2) + 0.15 exp(−|p − p_t|²/(6 · 0.5²)) + 0.1 Σ_i (n λ₁/q λ_i) u_i u_i(t)

        shapes s, places p, and the pseudoinverse part of the filters on the first q eigenvectors.
        """
        K = _gaussian(self.shapes, self._lengths[0], rows, at)
        place = _gaussian(self._scaled_places, self._lengths[1], rows, at)
        K += np.multiply(place, NEAR, out=place)
        K += (SMOOTH * self.waves[rows]) @ self.waves[at].T
        return K

    def own(self) -> np.ndarray:
        """k(x, x): (n,)"""
        total: np.ndarray = 1 + NEAR + SMOOTH * (self.waves**2).sum(axis=1)
        return total

    @cached_property
    def _scaled_places(self) -> np.ndarray:
        return self.places / self.places.dtype.type(REACH * np.sqrt(self.places.shape[1]))

    @cached_property
    def _lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """|s|²/2 and that of the scaled places: (n,) each"""
        shapes, places = self.shapes, self._scaled_places
        return np.einsum("nf,nf->n", shapes, shapes) / 2, np.einsum("nf,nf->n", places, places) / 2


def _gaussian(values: np.ndarray, lengths: np.ndarray, rows: np.ndarray, at: Any) -> np.ndarray:
    """exp(−|v_t − v|²/2), with |v|²/2 as ``lengths``: (t, n)"""
    D = values[rows] @ values[at].T
    D -= lengths[at]
    D -= lengths[rows, None]
    return np.exp(np.minimum(D, 0, out=D), out=D)


@dataclass(frozen=True)
class Reply:
    """What the labels make of all points."""

    proba: np.ndarray  # (n, classes)
    left_out: np.ndarray  # (t, classes) of each label's point, had it not been labelled
    points: np.ndarray  # (t,) the labelled points,
    codes: np.ndarray  # (t,) and their labels
    scores: np.ndarray  # (n, classes)
    inverse: np.ndarray  # (t, t) (K + ρI)⁻¹ of these,
    every: np.ndarray  # (t,) the labelled points and those at which a base is held

    @property
    def sureness(self) -> np.ndarray:
        """The probability of each point's class: (n,)"""
        best: np.ndarray = self.proba.max(axis=1)
        return best


class Head:
    """s(x) = Σ_t k(x, x_t) α_t with α = (K + ρI)⁻¹ (Y − 1/c): scores of all points from labels t.

    Rows of the kernel are kept from one call to the next: a new label costs one more, and a system as
    large as there are labels.
    """

    def __init__(self, around: Surroundings, *, candidates: int = 20_000) -> None:
        self.surroundings = around
        self._held = np.empty(0, dtype=np.int64)  # the point of each row of the kernel that is kept
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
        on what the base leaves over, which is nothing at some points that hold it in place (``HELD``). They
        hold it less where the labels around are not what it told (`_trust`).
        """
        points, codes = self._distinct(points, codes)
        count, ridge = len(points), np.full(len(points), RIDGE)
        left = Y = np.eye(classes)[codes] - 1 / classes
        every = points
        if base is not None:
            held = np.setdiff1d(self._candidates[:: max(1, len(self._candidates) // HELD)], points)
            every = np.concatenate([points, held])
            left = np.concatenate([Y - (base[points] - 1 / classes), np.zeros((len(held), classes))])
        K, own = self._kernel(every)
        if base is not None:
            said = base.argmax(axis=1)
            alike = K[np.ix_(own[:count], held)] * (said[points][:, None] == said[held])
            trust = _trust(alike, said[points] == codes)
            ridge = np.append(ridge, HELD_RIDGE / trust**2)
        inverse = np.linalg.inv(K[np.ix_(own, every)].astype(np.float64) + np.diag(ridge))
        alpha = inverse @ left
        left_out = Y - (alpha / np.diag(inverse)[:, None])[:count]
        cold = _coldness(left_out, codes)
        scores = alpha[np.argsort(own)].T.astype(np.float32) @ K  # class by class, for fast sums
        around = self.surroundings.around
        if base is None:
            proba = np.ascontiguousarray((around @ _softmax(np.float32(cold) * scores).T).T)
        else:  # which is smooth already: what labels change is averaged alone
            proba = np.maximum(base.T + (around @ scores.T).T, 1e-6)
            scores += (base.T - 1 / classes).astype(np.float32)
        proba /= proba.sum(axis=0)
        return Reply(proba.T, softmax(cold * left_out, axis=1), points, codes, scores.T, inverse, every)

    def doubt(self, reply: Reply) -> tuple[np.ndarray, np.ndarray]:
        """Points without a label (m,), and −lead/√(k(x, x) − kᵀ(K + ρI)⁻¹k) there (m,): large where the best
        class leads by little and much is uncertain, so that the answer may change."""
        average = self.surroundings.around
        free = self._candidates[~np.isin(self._candidates, reply.points)]
        ordered = np.partition(average @ reply.scores, -2, axis=1)
        lead = average @ (average @ (ordered[:, -1] - ordered[:, -2]))  # of a place, not of one odd point
        K, own = self._kernel(reply.every)
        K = K[np.ix_(own, free)]
        spread = self.own[free] - np.einsum("tm,tm->m", reply.inverse.astype(np.float32) @ K, K)
        return free, -lead[free] / np.sqrt(np.maximum(spread, 1e-6))

    def gain(self, reply: Reply, points: np.ndarray) -> np.ndarray:
        """Σ_z (1 − p(z)) c(x, z)²/(c(x, x) + ρ) over some points z of the scan, for points x: (m,). It is
        what a label at x takes from the variance where the answer is unsure; c is the posterior covariance
        k(x, z) − k(x)ᵀ(K + ρI)⁻¹k(z), p the probability of the best class."""
        probes = self._candidates[:: max(1, len(self._candidates) // PROBES)]
        K, own = self._kernel(reply.every)
        here = K[np.ix_(own, points)]
        told = reply.inverse.astype(np.float32) @ here
        spread = self.own[points] - np.einsum("tm,tm->m", told, here)
        C = self.surroundings.kernel(points, probes) - told.T @ K[np.ix_(own, probes)]
        found: np.ndarray = C**2 @ (1 - reply.sureness[probes]) / (np.maximum(spread, 1e-6) + RIDGE)
        return found

    def proposals(self, reply: Reply, *, count: int = 5) -> np.ndarray:
        """The points whose label would help most, best first: (count,) or fewer.

        Of the ``DOUBTFUL`` points with the largest doubt the one with the largest gain is taken: its answer
        may change, and that of many like it. Points that are like it go, so that proposals are spread over
        the scan and over its shapes, and the next is chosen in the same way.
        """
        candidates, doubt = self.doubt(reply)
        left = candidates[np.argsort(-doubt, kind="stable")]
        gains = np.full(len(self.surroundings), np.nan)
        chosen: list[int] = []
        while len(left) and len(chosen) < count:
            top = left[:DOUBTFUL]
            new = top[np.isnan(gains[top])]
            if len(new):
                gains[new] = self.gain(reply, new)
            best = int(top[gains[top].argmax()])
            chosen.append(best)
            alike = self.surroundings.kernel(np.array([best]), left)[0]
            alike /= np.sqrt(self.own[left] * self.own[best])
            left = left[(alike < ALIKE) & (left != best)]
        return np.array(chosen, dtype=np.int64)

    def _distinct(self, points: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels that teach something of their own, with a fair share of ``KEPT`` for each class. The one
        that those before tell least of comes next, so that a small region counts beside a large one."""
        if len(points) <= MANY:  # single clicks: each of them was meant
            return points, codes
        order = np.argsort(self._order[points], kind="stable")
        present = np.unique(codes)
        chosen = []
        for code in present:
            own = order[codes[order] == code][:CONSIDERED]
            chosen.append(own[self._pivots(points[own], KEPT // len(present))])
        kept = np.sort(np.concatenate(chosen))
        return points[kept], codes[kept]

    def _pivots(self, points: np.ndarray, most: int) -> np.ndarray:
        """The first pivots of a Cholesky factorisation of K, until each point has a share of its k(x, x)
        below ``NEW`` left: places among ``points``."""
        own = self.own[points]
        left, factor = own.copy(), np.empty((most, len(points)), dtype=np.float32)
        kept: list[int] = []
        while len(kept) < most:
            best = int((left / own).argmax())
            if left[best] < NEW * own[best]:
                break
            row = self.surroundings.kernel(points[[best]], points)[0]
            before = factor[: len(kept)]
            factor[len(kept)] = (row - before[:, best] @ before) / np.sqrt(left[best])
            left -= factor[len(kept)] ** 2
            left[best] = 0.0
            kept.append(best)
        return np.array(kept)

    def _kernel(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the kernel, of all these points and no others (t, n), and the row of each point (t,). Rows
        stay where they are from one call to the next, as far as there is room."""
        count, before = len(points), self._held
        if count > len(self._K):
            larger = np.empty((2 * count, self._K.shape[1]), dtype=np.float32)
            larger[: len(before)] = self._K[: len(before)]
            self._K = larger
        stays = np.isin(before, points)
        held = np.full(count, -1)
        held[: len(before)] = np.where(stays, before, -1)[:count]
        free, late = np.flatnonzero(held < 0), count + np.flatnonzero(stays[count:])
        self._K[free[: len(late)]] = self._K[late]
        held[free[: len(late)]] = before[late]
        new, free = np.setdiff1d(points, held), free[len(late) :]
        if len(new):
            self._K[free] = self.surroundings.kernel(new)
            held[free] = new
        self._held = held
        order = np.argsort(held)
        return self._K[:count], order[np.searchsorted(held, points, sorter=order)]


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Of each column, in place: (classes, n)"""
    scores -= scores.max(axis=0)
    each: np.ndarray = np.exp(scores, out=scores)
    each /= each.sum(axis=0)
    return each


def _trust(K: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How often a base was right at labels like each point: (1 + Σ k of right ones)/(1 + Σ k), from the
    kernel (t, m) of labels and points, 0 where the base gives them different classes: (m,)"""
    near = np.maximum(K, 0)
    share: np.ndarray = (1 + near[right].sum(axis=0)) / (1 + near.sum(axis=0))
    return share


def _coldness(left_out: np.ndarray, codes: np.ndarray) -> float:
    """t ≥ 1 maximising Σ log softmax(t s_i)_{y_i} over labels, each with the scores of all others."""
    if len(codes) == 0:
        return 1.0

    def loss(log_t: float) -> float:
        logs = log_softmax(np.exp(log_t) * left_out, axis=1)
        return -float(logs[np.arange(len(codes)), codes].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, np.log(COLDEST)), method="bounded").x))
