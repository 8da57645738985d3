"""Some points of a cloud beside what was said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pinvgcn.scans.output import Outcomes

ONE = 2**20  # a probability of 1, where probabilities are summed as whole numbers


@dataclass(frozen=True)
class Seen:
    """Part of a cloud; noise is in none."""

    index: np.ndarray  # (k,) numbers in the cloud
    points: np.ndarray  # (k, 3) as the model sees them, in metres
    outcomes: Outcomes
    labelled: np.ndarray  # (k,) a mask

    @property
    def confidence(self) -> np.ndarray:
        """In units of 1/ONE: (k,)."""
        return np.rint(self.outcomes.confidence.astype(float) * ONE).astype(np.int64)


Parts = Callable[[], Iterable[Seen]]  # of this process, as often as they are asked for
