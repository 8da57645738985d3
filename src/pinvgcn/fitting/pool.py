"""A logarithmic opinion pool: how the opinions of experts are weighed and added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.experts import Seen

# names of experts
NETWORK, TREES, FOREST, LINEAR, KERNEL, DIFFUSION = (
    "network", "trees", "forest", "linear", "kernel", "diffusion",
)  # fmt: skip
OF_TABLES = (NETWORK, FOREST, TREES, LINEAR, KERNEL, DIFFUSION)
# of a scan, trees that see fine shapes or wide ones, and trees that see what both of these say of the
# surroundings of a point
FINE_TREES, WIDE_TREES, CONTEXT_TREES = "fine_trees", "wide_trees", "context_trees"
PLACE_FREE = (FINE_TREES, WIDE_TREES)  # experts that know a point by its shape alone
# of a table: m labels that were held out decide as m^0.7 would by Bayes' rule
DECIDE_AS = 0.7
# and how experts count before: few held-out labels do not tell how well a diffusion follows unlabelled rows
BEFORE = {NETWORK: 0.5, DIFFUSION: 2.0}
COLDEST, HOTTEST = 1 / 3, 10.0  # temperatures; a higher one would say that nothing was learned
# exponents of the experts of a scan, found on Oakland 1; labels may change them
USUAL = {NETWORK: 0.25, FINE_TREES: 0.6, WIDE_TREES: 0.6}
# where trees look twice: what surrounds a point says much of what its place would
TWICE = {NETWORK: 0.1, FINE_TREES: 0.05, WIDE_TREES: 0.05, CONTEXT_TREES: 1.2}
# where whole places are held out: what is close to a point says more than its place and its surroundings
GROUPED = {NETWORK: 0.05, FINE_TREES: 1.1, WIDE_TREES: 0.15}
# where wide trees have learned from the rest of the scan, too
SELF_TRAINED = {NETWORK: 0.03, FINE_TREES: 0.5, WIDE_TREES: 0.9}
# in another scan: what surrounds a point says more than where labels lie in few places
AWAY = {FINE_TREES: 0.4, WIDE_TREES: 0.75}
DOUBT = 10.0  # how much a change by a factor e must gain in log-likelihood
NEGLIGIBLE = 1e-3  # of the weight of all experts of a table: an expert with less is not asked
BLOCK = 2**13  # rows of a table whose opinions are in memory together, for each core
SURER = 1.4  # how much surer than one member the mean of several may be, at home


class SomeRows(Protocol):
    """Rows of which experts see some at a time."""

    def at(self, rows: np.ndarray) -> Seen:
        """What they see of these."""


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

    def of_many(self, seen: SomeRows, rows: int) -> list[np.ndarray]:
        """s_j of each member at so many rows, some at a time, so that all opinions of all of them need not be
        in memory: (rows, classes)."""
        parts = ranges(rows, BLOCK) or [slice(0, 0)]  # a process may have no row
        errors = np.geterr()  # of the caller: other threads do not have it

        def of_some(some: slice) -> list[np.ndarray]:
            with np.errstate(**errors):
                return list(self.each(seen.at(np.arange(some.start, some.stop))))

        return [np.concatenate(own) for own in zip(*share_out(of_some, parts), strict=True)]

    def each(self, seen: Seen) -> Iterator[np.ndarray]:
        """s_j of each member: (m, classes)."""
        if seen.trust is None or self.away is None:
            yield from self._weighed(seen, {name: w for name, w in self.weights.items() if w > 0})
        elif not seen.trust.any():
            yield from self._weighed(seen, self.away)
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

    def _weighed(self, seen: Seen, weights: Mapping[str, float]) -> Iterator[np.ndarray]:
        """Of each member, the sum of opinions of these experts: (m, classes)."""
        experts = [self.experts[name] for name in weights]
        for opinions in zip(*(expert.opinions(seen) for expert in experts), strict=True):
            yield np.tensordot(np.array(list(weights.values())), np.stack(opinions), axes=1)

    def joint(self, seen: Seen) -> np.ndarray:
        """s: (m, classes)"""
        return self.mean(self.each(seen))

    def mean(self, each: Iterable[np.ndarray]) -> np.ndarray:
        """s from s_j of each member: (m, classes)."""
        total: Any = sum(each)
        return total / self.members

    @property
    def alone(self) -> float:
        """The factor of s_j where member j of a scan is asked alone, which should be less sure than all of
        them: 1/1.4."""
        return 1.0 if self.away is None else 1 / SURER


def weights_of(
    names: Sequence[str],
    unseen: Sequence[tuple[np.ndarray, np.ndarray]] = (),
    *,
    usual: Mapping[str, float] | None = None,
    counts: np.ndarray | None = None,
    surer: float = 1.0,
) -> dict[str, float]:
    """w of an ``Ensemble`` of these experts, by name.

    ``unseen`` are pairs of a member's opinions (experts, m, classes) at labels that were held out of its
    training, and their class codes (m,). ``counts`` are the weights of all these labels, one after the
    other; without ``usual`` they count in the likelihoods, with the mean 1.

    With ``usual`` weights u, those of a scan, w = ``surer`` · e^v, where v maximises
    Σ log softmax(Σ_o e^(v_o) o_i)_{y_i} − 10 |v − log u|² over these labels i. Without, each expert has a
    temperature T_o, which maximises m ℓ_o = Σ log softmax(o_i/T_o)_{y_i} less (log T_o)², and so has their
    sum: w_o = softmax(m^0.7 ℓ + log b)_o/(T T_o), so that an expert that does badly counts for nothing; b is
    ½ for a network, 2 for a diffusion and 1 for others. One whose part in the softmax is below 0.001 has
    w_o = 0 (docs/maths.md, 9.3, 9.4, 9.6 and 9.7).
    """
    before = np.array([(BEFORE if usual is None else usual).get(name, 1.0) for name in names])
    known = [before / before.sum() if usual is None else before]
    scores = np.concatenate([opinions for opinions, _ in unseen], axis=1) if unseen else np.empty(0)
    if unseen and np.isfinite(scores).all():  # else there is nothing to learn from, or their sum is refused
        codes = np.concatenate([codes for _, codes in unseen])
        counts = np.ones(len(codes)) if counts is None else counts / counts.mean()
        near = usual is not None
        known.append(
            surer * _near(known[0], scores, codes) if near else _by_likelihood(names, scores, codes, counts)
        )
    return dict(zip(names, known[-1].tolist(), strict=True))


def _loss(scores: np.ndarray, codes: np.ndarray, counts: np.ndarray | float = 1.0) -> float:
    """− Σ c_i log softmax(s_i)_{y_i}"""
    return -float((counts * log_softmax(scores, axis=1)[np.arange(len(codes)), codes]).sum())


def _by_likelihood(
    names: Sequence[str], scores: np.ndarray, codes: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """From opinions (experts, m, classes) at held-out labels: (experts,)."""
    cooler = np.array([_inverse_temperature(own, codes, counts) for own in scores])
    logs = log_softmax(cooler[:, None, None] * scores, axis=2)
    before = np.log([BEFORE.get(name, 1.0) for name in names])
    losses = np.array([_loss(own, codes, counts) for own in logs]) / len(codes)
    weights = softmax(before - len(codes) ** DECIDE_AS * losses)
    weights = np.where(weights < NEGLIGIBLE, 0.0, weights)
    weights /= weights.sum()
    joint = _inverse_temperature(np.tensordot(weights, logs, axes=1), codes, counts)
    return joint * cooler * weights


def _inverse_temperature(scores: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> float:
    """1/T of scores (m, classes)."""
    bounds = (-np.log(HOTTEST), -np.log(COLDEST))
    found = minimize_scalar(
        lambda v: _loss(np.exp(v) * scores, codes, counts) + v**2, bounds=bounds, method="bounded"
    )
    return float(np.exp(found.x))


def _near(usual: np.ndarray, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Not far from the ``usual`` weights (experts,)."""
    center = np.log(usual)

    def loss(v: np.ndarray) -> float:
        return _loss(np.tensordot(np.exp(v), scores, axes=1), codes) + DOUBT * float(
            ((v - center) ** 2).sum()
        )

    return np.exp(minimize(loss, center).x)
