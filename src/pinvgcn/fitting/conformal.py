"""Sets of classes that hold the true one as often as was asked for, class by class.

And such sets as a column of a file, in bits or in words, and how large they are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import softmax

from pinvgcn.checks import check_fraction
from pinvgcn.compute.parallel import ranges
from pinvgcn.errors import LabelError, PinvGCNWarning
from pinvgcn.experts.labels import RowLabels
from pinvgcn.features.averages import Averages
from pinvgcn.fitting.nodes import Nodes
from pinvgcn.fitting.smoothing import Smoothing

SAME = 1e-9  # odds that differ by less, of each other, are equal: a row seen again has the set that it had
BLOCK = 2**16  # rows at a time
ARRAYS = ("odds", "codes", "members", "above")  # the fields, in a file after "sets."
BETWEEN = "|"  # classes, in words
EMPTY = "{}"  # the set without a class, in words; no text is a row without a prediction
MOST = 64  # classes that have a bit


@dataclass(frozen=True)
class PredictionSets:
    """C(x) = {c : #{t : y_t = c, o_t > o_c(x; j_t)} < ⌈(n_c + 1) γ⌉} at coverage γ.

    j_t is the member that has not seen label t, o_c(x; j) = q_c/(1 − q_c) the odds of class c at x by that
    member alone, o_t those of the label's own class. To its member a held-out label is a row like any
    unlabelled one of its class, so the place of a row's odds among those of the n_c labels is drawn from
    all n_c + 1 places (docs/maths.md, 9.5).
    """

    odds: np.ndarray  # (t,) o_t
    codes: np.ndarray  # (t,) y_t
    members: np.ndarray  # (t,) j_t
    above: np.ndarray  # (n, classes), how many labels of the class have larger odds, at the rows of training
    around: Averages | None = None  # of the members' probabilities side by side, at this rank's points
    found: np.ndarray | None = None  # (t,) the class that member j_t gives label t; not kept in files
    rows: np.ndarray | None = None  # (t,) the rows of these labels among all; not kept in files
    separate: np.ndarray | None = None  # (classes,) places with labels, of a scan where these are few

    @classmethod
    def of(
        cls,
        scores: Sequence[np.ndarray],
        held: Sequence[RowLabels | None],
        smoothing: Smoothing,
        nodes: Nodes,
        *,
        separate: np.ndarray | None = None,
    ) -> PredictionSets | None:
        """From each member's scores (n, classes) at this rank's training rows, as sure as it may be alone;
        None where no label was held out."""
        some = [(number, labels) for number, labels in enumerate(held) if labels is not None]
        if not some:
            return None
        each, around = smoothing.of_members(scores, nodes)
        rows = np.concatenate([labels.rows for _, labels in some])
        codes = np.concatenate([labels.codes for _, labels in some])
        members = np.repeat([number for number, _ in some], [len(labels.rows) for _, labels in some])
        own, group = rows - nodes.start, nodes.group
        here = (own >= 0) & (own < each.shape[1])
        odds, place = np.zeros(len(rows)), np.arange(here.sum())
        odds[here] = odds_of(each[members[here], own[here]])[place, codes[here]]
        found = np.zeros(len(rows), dtype=np.int64)
        found[here] = each[members[here], own[here]].argmax(axis=1)
        odds, found = group.sum(odds), group.sum(found)  # each label is on one rank
        plain = cls(odds, codes, members, np.empty((0, 0)), around, found, rows, separate)
        return replace(plain, above=plain.count(each))

    def at(
        self, scores: Sequence[np.ndarray], smoothing: Smoothing, points: np.ndarray | None, among: str
    ) -> np.ndarray:
        """``above`` at rows with these scores of each member; averages as in ``Smoothing``: (m, classes)."""
        flat = smoothing.weighed(np.hstack([softmax(s, axis=1) for s in scores]))  # (m, members · classes)
        if points is not None:
            flat = smoothing.averaged(flat, points, self.around, among, rounds=smoothing.rounds_at(False))
        return self.from_averages(flat)

    def from_averages(self, flat: np.ndarray) -> np.ndarray:
        """``above`` from members' probabilities side by side (m, members · classes), averaged already."""
        return self.count(np.stack(np.split(flat, flat.shape[1] // self.above.shape[1], axis=1)))

    def count(self, each: np.ndarray) -> np.ndarray:
        """How many labels of each class have larger odds than a row, by members' probabilities ``each``
        (members, m, classes) at the rows: (m, classes)."""
        above = np.zeros(each.shape[1:], dtype=np.int32)
        for rows in ranges(len(above), BLOCK):
            odds = odds_of(each[:, rows])
            for number, code in set(zip(self.members.tolist(), self.codes.tolist(), strict=True)):
                known = self.odds[(self.members == number) & (self.codes == code)]
                above[rows, code] += larger(known, odds[number, :, code] * (1 + SAME))
        return above

    def places(self, coverage: float, classes: np.ndarray) -> np.ndarray:
        """⌈(n_c + 1) γ⌉, by the decimals of γ that print: (classes,). Warns where labels of a class lie in
        fewer places than they must be: those of one place are one draw."""
        needed, places = _needed(coverage), self.separate
        if places is not None and places.min() < needed:
            few = int(places.argmin())
            warnings.warn(
                f"Sets of coverage {coverage:g} need labels of each class in {needed} places, as those of "
                f"one place are alike. Got {places[few]} of {classes.tolist()[few]!r}: sets may hold the "
                "true class less often; label more places.",
                PinvGCNWarning,
                stacklevel=5,  # the caller of transduction_set
            )
        return places_among(np.bincount(self.codes, minlength=len(classes)), coverage, classes)

    def state(self) -> dict[str, np.ndarray]:
        """As arrays for a file."""
        sums = None if self.around is None else self.around.sums  # in the cells of the smoothing's averages
        arrays = {name: getattr(self, name) for name in ARRAYS} | {"separate": self.separate, "sums": sums}
        return {f"sets.{name}": array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], around: Averages | None) -> PredictionSets | None:
        """What ``state`` gave; None where a file has no sets."""
        if "sets.odds" not in arrays:
            return None
        odds, *whole = (arrays[f"sets.{name}"] for name in ARRAYS)
        codes, members, above = (array.astype(np.int64) for array in whole)
        separate = arrays.get("sets.separate")
        return cls(odds, codes, members, above, around, separate=separate)


def places_among(counts: np.ndarray, coverage: float, classes: np.ndarray) -> np.ndarray:
    """⌈(n_c + 1) γ⌉ for n_c held-out labels of each class; an error where a class has too few: (classes,)."""
    share, needed = _share(coverage), _needed(coverage)
    few = np.flatnonzero(counts < needed)
    if len(few):
        names = [f"{counts[c] or 1} of {classes.tolist()[c]!r}" for c in few]
        most = int(counts.min())
        advice = f" or ask for a coverage of at most {most}/{most + 1}" if most else ""
        raise LabelError(
            f"Sets of coverage {float(coverage):g} need at least {max(needed, 2)} labels of each class. "
            f"Got {' and '.join(names)}; label more rows{advice}."
        )
    return np.array([math.ceil((n + 1) * share) for n in counts.tolist()])


def _share(coverage: float) -> Fraction:
    return Fraction(repr(check_fraction("coverage", coverage)))


def _needed(coverage: float) -> int:
    """How many draws of a class tell a set of this coverage."""
    share = _share(coverage)
    return math.ceil(share / (1 - share))


def check_coverage(coverage: float, counts: np.ndarray, classes: Sequence[Any]) -> None:
    """Raise before a fit what sets of this coverage would raise after it, by the labels of each class."""
    # the only label of a class is kept from nobody
    places_among(np.where(counts > 1, counts, 0), coverage, np.array(classes, dtype=object))


def larger(known: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """How many of the odds that are ``known`` are larger than each of these ``odds``: (m,)."""
    return (len(known) - np.searchsorted(np.sort(known), odds, side="right")).astype(np.int32)


def odds_of(P: np.ndarray) -> np.ndarray:
    """q/(1 − q), with 1 − q as the sum of the others: where q rounds to 1, odds still differ."""
    others = np.zeros_like(P)
    others[..., 1:] = np.cumsum(P[..., :-1], axis=-1)
    others[..., :-1] += np.cumsum(P[..., :0:-1], axis=-1)[..., ::-1]
    with np.errstate(divide="ignore", over="ignore"):
        odds: np.ndarray = P / others
    return odds


@dataclass(frozen=True)
class SetSizes:
    """How many rows have a set of 0, 1, 2, … classes, at this coverage."""

    coverage: float
    counts: np.ndarray  # (classes + 1,)

    @classmethod
    def of(cls, coverage: float, mask: np.ndarray) -> SetSizes:
        """From sets (m, classes) as a mask."""
        return cls(coverage, np.bincount(mask.sum(axis=1), minlength=mask.shape[1] + 1))

    def __add__(self, other: SetSizes) -> SetSizes:
        return SetSizes(self.coverage, self.counts + other.counts)

    @property
    def mean(self) -> float:
        """The mean size."""
        return float(self.counts @ np.arange(len(self.counts)) / self._all)

    @property
    def empty(self) -> float:
        """The share of rows that are unlike the labels of every class."""
        return float(self.counts[0] / self._all)

    @property
    def several(self) -> float:
        """The share of rows that may be of two classes or more."""
        return float(self.counts[2:].sum() / self._all)

    @property
    def _all(self) -> int:
        return max(int(self.counts.sum()), 1)

    def line(self) -> str:
        """For people."""
        return (
            f"Prediction sets of coverage {self.coverage:g}: {self.mean:.2f} classes on average; "
            f"{100 * self.several:.1f} % have several, {100 * self.empty:.1f} % none."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "coverage": self.coverage,
            "mean_size": self.mean,
            "share_empty": self.empty,
            "share_several": self.several,
            "sizes": self.counts.tolist(),
        }


def as_bits(mask: np.ndarray) -> np.ndarray:
    """Σ_c 2^c over the classes c of each set of a mask (m, classes): (m,)"""
    return mask.astype(np.uint64) @ (np.uint64(1) << np.arange(mask.shape[1], dtype=np.uint64))


def from_bits(bits: np.ndarray, classes: int) -> np.ndarray:
    """The mask (m, classes) that ``as_bits`` has taken."""
    each = np.arange(classes, dtype=np.uint64)
    return (bits[:, None].astype(np.uint64) >> each & np.uint64(1)).astype(bool)


def as_words(mask: np.ndarray, classes: Sequence[Any]) -> np.ndarray:
    """The names of each set's classes with ``|`` between them, ``{}`` where there is none: (m,)"""
    names = list(map(str, classes))
    sets, place = np.unique(mask, axis=0, return_inverse=True)
    texts = [BETWEEN.join(name for name, here in zip(names, s, strict=True) if here) or EMPTY for s in sets]
    return np.array(texts, dtype=object)[place.ravel()]


def check_words(classes: Sequence[Any]) -> None:
    """That sets of these classes can be read again from their words."""
    wrong = next((name for name in map(str, classes) if BETWEEN in name or name == EMPTY), None)
    if wrong is not None:
        raise LabelError(
            f"Sets are written with {BETWEEN!r} between the names of classes and as {EMPTY!r} without any: "
            f"no class may have {BETWEEN!r} in its name. Got {wrong!r}; rename the class."
        )
