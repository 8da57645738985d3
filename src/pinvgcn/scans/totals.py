"""What the points of a copy add up to; protected ones are counted apart, where their classes are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pinvgcn.fitting.prediction_sets import SetSizes, from_bits
from pinvgcn.scans.everywhere import ALONE, OUTSIDE
from pinvgcn.scans.output import PROTECTED, Outcomes
from pinvgcn.scans.survey import PIECE


@dataclass
class Totals:
    """Over points."""

    counts: np.ndarray  # (classes,)
    sizes: np.ndarray  # (classes + 1,) points whose prediction set has 0, 1, … classes, where they have one
    sure: float = 0.0
    predicted: int = 0
    outside: int = 0
    alone: int = 0

    @classmethod
    def of(cls, outcomes: Outcomes, classes: int) -> Totals:
        """Of the points of one scan, some at a time: they may be on disk."""
        total = cls(np.zeros(classes, dtype=np.int64), np.zeros(classes + 1, dtype=np.int64))
        for start in range(0, len(outcomes.codes), PIECE):
            total._add(outcomes, slice(start, start + PIECE))
        return total

    def _add(self, outcomes: Outcomes, rows: slice) -> None:
        codes, flags = np.asarray(outcomes.codes[rows]), np.asarray(outcomes.flags[rows])
        has = codes >= 0
        self.counts += np.bincount(codes[has], minlength=len(self.counts))
        self.sure += float(outcomes.confidence[rows][has].sum(dtype=float))
        self.predicted += int(has.sum())
        self.outside += int(((flags == OUTSIDE) & (codes != PROTECTED)).sum())
        self.alone += int(((flags == ALONE) & (codes != PROTECTED)).sum())
        if outcomes.sets is not None:
            told = outcomes.sets[rows][has & (flags != ALONE)]
            self.sizes += SetSizes.of(0.0, from_bits(told, len(self.counts))).counts

    @property
    def mean_confidence(self) -> float:
        """Over the points that were predicted."""
        return self.sure / max(self.predicted, 1)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "counts": self.counts.tolist(), "sizes": self.sizes.tolist()}
