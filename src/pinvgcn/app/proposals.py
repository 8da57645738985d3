"""Where to click next."""

from __future__ import annotations

import numpy as np

from pinvgcn.app.head import Reply, Surroundings

ALIKE = 0.5  # of k(x, x): points whose kernel is larger would teach the same


def proposals(reply: Reply, around: Surroundings, *, count: int = 5) -> np.ndarray:
    """The points whose label would help most, best first: (count,) or fewer.

    The best has the largest doubt; the next is the largest of those that are not like the ones before, so
    that proposals are spread over the scan and over its shapes.
    """
    order = np.argsort(-reply.doubt, kind="stable")
    left = reply.candidates[order]
    own = around.own()
    chosen: list[int] = []
    for _ in range(count):
        if len(left) == 0:
            break
        best = int(left[0])
        chosen.append(best)
        alike = around.kernel(np.array([best]))[0][left] / np.sqrt(own[left] * own[best])
        left = left[alike < ALIKE]
    return np.array(chosen, dtype=np.int64)
