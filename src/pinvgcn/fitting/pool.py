"""A logarithmic opinion pool: how the opinions of experts are weighed and added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from pinvgcn.experts import Seen

# names of experts: of a scan, trees that see fine shapes or wide ones, and trees that see what both of these
# say of the surroundings of a point
NETWORK, TREES, WALK, FINE_TREES, WIDE_TREES = "network", "trees", "walk", "fine_trees", "wide_trees"
CONTEXT_TREES = "context_trees"
PLACE_FREE = (FINE_TREES, WIDE_TREES)  # experts that know a point by its shape alone
HOTTEST = 10.0  # a temperature beyond this would say that nothing was learned
# exponents of experts' probabilities beside trees, found on Oakland 1; labels may change them.
# A walk counts as a network does, and so does any other expert.
USUAL = {
    NETWORK: 0.25, TREES: 1.25, WALK: 0.25, FINE_TREES: 0.6, WIDE_TREES: 0.6, CONTEXT_TREES: 1.25,
}  # fmt: skip
# where trees look twice: what surrounds a point says much of what its place would
TWICE = {**USUAL, NETWORK: 0.1}
# where whole places are held out: what is close to a point says more than its place and its surroundings
GROUPED = {**USUAL, NETWORK: 0.05, FINE_TREES: 1.1, WIDE_TREES: 0.15}
# in another scan: what surrounds a point says more than where labels lie in few places
AWAY = {**USUAL, FINE_TREES: 0.4, WIDE_TREES: 0.75}
DOUBT = 10.0  # how much a change by a factor e must gain in log-likelihood
SURER = 1.4  # how much surer than one member the mean of several may be


class Expert(Protocol):
    """Has an opinion of any row, one a member of the ensemble."""

    def opinions(self, seen: Seen) -> Iterable[np.ndarray]:
        """Scores or log p of each member: (m, classes)."""

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""


@dataclass(frozen=True)
class Ensemble:
    """s(x) = Σ_j s_j(x)/k with s_j = Σ_o w_o o_j: k members j, each with opinions o of experts, weighed by w.

    Each member is trained without one fold of the labels. Where the place of a row counts with φ < 1, an
    expert that knows the place has φ w, and the place-free ones share the rest of its weight; where it does
    not count, φ = 0, place-free experts are weighed by ``away`` (docs/maths.md, 9.7).
    """

    members: int  # k
    experts: Mapping[str, Expert]  # by name; their order is that of the opinions
    weights: Mapping[str, float]  # w, by the name of the expert
    away: Mapping[str, float] | None = None  # of place-free experts, elsewhere; None where there are none

    @property
    def names(self) -> tuple[str, ...]:
        """The experts, in the order of their opinions."""
        return tuple(self.experts)

    @property
    def exponents(self) -> np.ndarray:
        """w in the order of the opinions: (experts,)."""
        return np.array([self.weights[name] for name in self.experts])

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """Of each member, the opinions of all experts: (experts, m, classes)."""
        for own in zip(*(expert.opinions(seen) for expert in self.experts.values()), strict=True):
            yield np.stack(own)

    def each(self, seen: Seen) -> Iterator[np.ndarray]:
        """s_j of each member: (m, classes)."""
        if seen.trust is None or self.away is None:
            for opinions in self.opinions(seen):
                yield np.tensordot(self.exponents, opinions, axes=1)
        elif not seen.trust.any():
            yield from self._elsewhere(seen)
        else:
            free = np.array([name in self.away for name in self.names])
            w, phi = self.exponents, seen.trust[:, None]
            lost = (1 - phi) * w[~free].sum() / w[free].sum()
            nowhere = seen.trust == 0
            away = np.array([self.away.get(name, 0.0) for name in self.names])[free]
            for opinions in self.opinions(seen):
                known = np.tensordot(w[~free], opinions[~free], axes=1)
                known[nowhere] = 0.0  # there a network may say anything
                scores: np.ndarray = phi * known + (1 + lost) * np.tensordot(w[free], opinions[free], axes=1)
                scores[nowhere] = np.tensordot(away, opinions[free][:, nowhere], axes=1)
                yield scores

    def _elsewhere(self, seen: Seen) -> Iterator[np.ndarray]:
        assert self.away is not None
        experts = [self.experts[name] for name in self.away]
        for opinions in zip(*(expert.opinions(seen) for expert in experts), strict=True):
            yield np.tensordot(np.array(list(self.away.values())), np.stack(opinions), axes=1)

    def joint(self, seen: Seen) -> np.ndarray:
        """s: (m, classes)"""
        return self.mean(self.each(seen))

    def mean(self, each: Iterable[np.ndarray]) -> np.ndarray:
        """s from s_j of each member: (m, classes)."""
        total: Any = sum(each)
        mean: np.ndarray = total / self.members
        return mean

    @property
    def alone(self) -> float:
        """The factor of s_j where member j is asked alone, which should be less sure than all of them:
        T^(−1/2) once more, or 1/1.4."""
        return 1 / SURER if _with_trees(self.experts) else float(self.exponents.sum())


def _with_trees(names: Iterable[str]) -> bool:
    return any(name in (TREES, *PLACE_FREE, CONTEXT_TREES) for name in names)


def weights_of(
    names: Sequence[str],
    unseen: Sequence[tuple[np.ndarray, np.ndarray]] = (),
    *,
    usual: Mapping[str, float] = USUAL,
) -> dict[str, float]:
    """w of an ``Ensemble`` of these experts, by name.

    ``unseen`` are pairs of a member's opinions (experts, m, classes) at labels that were held out of its
    training, and their class codes (m,).

    Without trees all experts have the same weight, of sum T^(−1/2), where T ≥ 1 maximises
    Σ log softmax(s_i/T)_{y_i} over these labels i: half of the correction, on the scale of log T, since the
    mean of several members is already less sure where they differ. With trees w = 1.4 e^v, where v maximises
    Σ log softmax(Σ_o e^(v_o) s_oi)_{y_i} − 10 |v − log u|² with the ``usual`` weights u
    (docs/maths.md, 9.3, 9.4, 9.6 and 9.7).
    """
    given = np.array([usual.get(name, usual[NETWORK]) for name in names])
    return dict(zip(names, _weights(given, _with_trees(names), unseen).tolist(), strict=True))


def _weights(given: np.ndarray, trees: bool, unseen: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    usual: np.ndarray = given if trees else np.full(len(given), 1 / len(given))
    scores = np.concatenate([opinions for opinions, _ in unseen], axis=1) if unseen else np.empty(0)
    if not unseen or not np.isfinite(scores).all():  # nothing to learn from; or their sum will be refused
        return usual
    codes = np.concatenate([codes for _, codes in unseen])

    def loss(weights: np.ndarray) -> float:
        logs = log_softmax(np.tensordot(weights, scores, axes=1), axis=1)
        return -float(logs[np.arange(len(codes)), codes].sum())

    if not trees:
        lowest = -np.log(HOTTEST)
        found = minimize_scalar(lambda v: loss(np.exp(v) * usual), bounds=(lowest, 0.0), method="bounded")
        halved: np.ndarray = np.exp(found.x / 2) * usual
        return halved
    center = np.log(usual)
    best = minimize(lambda v: loss(np.exp(v)) + DOUBT * ((v - center) ** 2).sum(), center).x
    weights: np.ndarray = SURER * np.exp(best)
    return weights
