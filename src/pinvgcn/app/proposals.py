"""Where a label would help most: the places that a person reviews, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.app.head import Head, Reply

ALIKE = 0.5  # of k(x, x): points whose kernel is larger would teach the same


@dataclass(frozen=True)
class ReviewPlace:
    """A connected piece of like points around the one that is most in doubt there."""

    seed: int  # a point of the scan
    points: np.ndarray  # of the scan, all with the same predicted class
    number: int  # that class
    sureness: float  # of it, in the mean


def proposals(head: Head, reply: Reply, *, count: int = 5) -> np.ndarray:
    """The points whose label would help most, best first: (count,) or fewer.

    The best has the largest doubt; the next is the largest of those that are not like the ones before, so
    that proposals are spread over the scan and over its shapes.
    """
    candidates, doubt = head.doubt(reply)
    left = candidates[np.argsort(-doubt, kind="stable")]
    own = head.own
    chosen: list[int] = []
    for _ in range(count):
        if len(left) == 0:
            break
        best = int(left[0])
        chosen.append(best)
        alike = head.surroundings.kernel(np.array([best]), left)[0] / np.sqrt(own[left] * own[best])
        left = left[alike < ALIKE]
    return np.array(chosen, dtype=np.int64)
