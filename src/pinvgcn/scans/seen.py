"""Some points of a cloud beside what was said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pinvgcn.scans.output import PROTECTED, Outcomes

ONE = 2**20  # a probability of 1, where probabilities are summed as whole numbers


@dataclass(frozen=True)
class Seen:
    """Part of a cloud; noise is in none."""

    index: np.ndarray  # (k,) numbers in the cloud
    points: np.ndarray  # (k, 3) as the model sees them, in metres
    outcomes: Outcomes
    labelled: np.ndarray  # (k,) a mask: points that have a label, or keep the class of their file
    protected: np.ndarray | None = None  # (k,) a mask: those of them without a label, where there are any

    @classmethod
    def of(cls, index: np.ndarray, points: np.ndarray, outcomes: Outcomes, codes: np.ndarray | None) -> Seen:
        """``codes`` are the labels of the points (k,), where they have any."""
        given = np.zeros(len(index), dtype=bool) if codes is None else codes >= 0
        protected = (outcomes.codes == PROTECTED) & ~given
        return cls(index, points, outcomes, given | protected, protected)

    @property
    def changeable(self) -> np.ndarray:
        """All but protected points: a mask (k,)."""
        return np.ones(len(self.index), dtype=bool) if self.protected is None else ~self.protected

    @property
    def confidence(self) -> np.ndarray:
        """In units of 1/ONE: (k,)."""
        return np.rint(self.outcomes.confidence.astype(float) * ONE).astype(np.int64)


Parts = Callable[[], Iterable[Seen]]  # of this process, as often as they are asked for
