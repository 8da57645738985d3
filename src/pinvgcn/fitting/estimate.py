"""The accuracy that a model is expected to have: by held-out labels, and by its own confidence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pinvgcn.fitting.conformal import larger, odds_of

WIDTH = 1.645  # standard errors on each side, for 90 %
FLOOR = 0.005  # no interval is narrower than this on each side
APART = 0.2  # classes that are told apart less than this have no known shares
DOUBT = 0.5  # of a label, right and wrong, added to each class: none is known to be always right


@dataclass(frozen=True)
class AccuracyEstimate:
    """An accuracy with its interval, or the ``reason`` why none can be given. Shares are from 0 to 1."""

    accuracy: float | None
    low: float | None  # the ends of the interval
    high: float | None
    coverage: float = 0.9  # of the interval
    basis: str = ""  # what it was estimated from
    reason: str | None = None  # why there is none
    advice: str | None = None  # what to label next

    @classmethod
    def none(cls, reason: str, advice: str, *, basis: str) -> AccuracyEstimate:
        """No estimate, for this reason."""
        return cls(None, None, None, basis=basis, reason=reason, advice=advice)

    def sentence(self) -> str:
        """One line for people."""
        if self.accuracy is None:
            advice = [] if self.advice is None else [_stopped(self.advice[:1].upper() + self.advice[1:])]
            return " ".join([f"No estimate: {_stopped(self.reason or 'nothing could be held out')}", *advice])
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f" ({100 * self.coverage:g} % interval {100 * self.low:.1f} to {100 * self.high:.1f})"
        return f"Expected to be right at {100 * self.accuracy:.1f} % of the unlabelled points{interval}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; ``AccuracyEstimate(**values)`` is the estimate again."""
        return asdict(self)


def _stopped(text: str) -> str:
    """With a full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


@dataclass(frozen=True)
class HeldOutRecalls:
    """How often held-out labels of each class were right, and from how many places they come."""

    recalls: np.ndarray  # (classes,)
    places: np.ndarray  # (classes,)
    codes: np.ndarray  # (t,) the classes of these labels
    odds: np.ndarray | None = None  # (t,) of their own class

    @classmethod
    def of(cls, right: np.ndarray, codes: np.ndarray, places: np.ndarray) -> HeldOutRecalls:
        """From labels with class ``codes`` (t,), and in how many ``places`` (classes,) they lie."""
        classes = len(places)
        counts, hits = np.bincount(codes, minlength=classes), np.bincount(codes, right, minlength=classes)
        return cls((hits + DOUBT) / (counts + 2 * DOUBT), places, codes)

    @classmethod
    def of_probabilities(cls, P: np.ndarray, codes: np.ndarray, places: np.ndarray) -> HeldOutRecalls:
        """From the probabilities (t, classes) of these labels."""
        own = odds_of(P)[np.arange(len(codes)), codes]
        return replace(cls.of(P.argmax(axis=1) == codes, codes, places), odds=own)

    def above(self, P: np.ndarray) -> np.ndarray:
        """How many labels of each class have larger odds than rows with probabilities P: (m, classes)."""
        assert self.odds is not None
        known = [self.odds[self.codes == code] for code in range(P.shape[1])]
        return np.column_stack([larger(own, odds) for own, odds in zip(known, odds_of(P).T, strict=True)])

    def expected(self, shares: np.ndarray, confidence: float, *, basis: str) -> AccuracyEstimate:
        """For points of which the ``shares`` (classes,) have each class, and the mean ``confidence``.

        The mean of two: Σ_c π_c r_c by held-out labels, and the confidence. The variance is that of the
        recalls, with one draw a place, and a quarter of the squared difference of the two.
        """
        held = float(shares @ self.recalls)
        accuracy = (held + confidence) / 2
        spread = self.recalls * (1 - self.recalls) / np.maximum(self.places, 1)
        error = math.sqrt(float(shares**2 @ spread) / 4 + (held - confidence) ** 2 / 4)
        half = max(WIDTH * error, FLOOR)
        return AccuracyEstimate(accuracy, max(0.0, accuracy - half), min(1.0, accuracy + half), basis=basis)


def told_apart(found: np.ndarray, codes: np.ndarray, classes: int) -> float:
    """The smallest singular value of the shares of each class that are ``found`` as each class.

    It is 0 where held-out labels of a class are found as those of others are: the shares of classes, and so
    the accuracy, could then be anything.
    """
    counts = np.zeros((classes, classes))
    np.add.at(counts, (codes, found), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return float(np.linalg.svd(shares, compute_uv=False)[-1])
