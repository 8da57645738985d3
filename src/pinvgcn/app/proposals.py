"""Where a label would help most: the places that a person reviews, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pinvgcn.app.head import Head, Reply

DOUBTFUL = 300  # points, by whose gain the next is chosen
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

    Of the ``DOUBTFUL`` points with the largest doubt the one with the largest gain is taken: its answer may
    change, and that of many like it. Points that are like it go, so that proposals are spread over the scan
    and over its shapes, and the next is chosen in the same way.
    """
    candidates, doubt = head.doubt(reply)
    left = candidates[np.argsort(-doubt, kind="stable")]
    gains = np.full(len(head.surroundings), np.nan)
    chosen: list[int] = []
    while len(left) and len(chosen) < count:
        top = left[:DOUBTFUL]
        new = top[np.isnan(gains[top])]
        if len(new):
            gains[new] = head.gain(reply, new)
        best = int(top[gains[top].argmax()])
        chosen.append(best)
        alike = head.surroundings.kernel(np.array([best]), left)[0] / np.sqrt(head.own[left] * head.own[best])
        left = left[(alike < ALIKE) & (left != best)]
    return np.array(chosen, dtype=np.int64)
