"""AccuracyEstimate: which share of the unlabelled points a model is expected to classify correctly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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

    def sentence(self) -> str:
        """One line for people."""
        if self.accuracy is None:
            advice = [] if self.advice is None else [_sentence(self.advice)]
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


def _sentence(text: str) -> str:
    return _stopped(text[:1].upper() + text[1:])
