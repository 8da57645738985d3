"""Trees look twice: at the shape of a point, and then at what they first said of all that surrounds it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from pinvgcn.experts import Seen
from pinvgcn.features.averages import Averages, context_width
from pinvgcn.features.exchange import averages_of_all
from pinvgcn.features.lattice import Lattice
from pinvgcn.fitting.pool import Ensemble
from pinvgcn.fitting.scan import Scan

STEPS = 4_096  # from 0 to 1, in which trees see a context


@dataclass(frozen=True)
class FirstLook:
    """p¹ = softmax Σ_j Σ_o w_o o_j/k, the opinions o of trees that know a point by its shape alone.

    The context of a point are the means of p¹ over the cells around it, of every size of the ``lattice``, and
    over whole columns of them. Trees of a second look see it beside the shape (auto-context, Tu and Bai,
    2010; docs/maths.md, 9.8).
    """

    trees: Ensemble
    lattice: Lattice
    around: Averages  # of p¹ at this rank's points of training

    @classmethod
    def of(cls, trees: Ensemble, scan: Scan, seen: Seen, labelled: Seen) -> tuple[FirstLook, Seen, Seen]:
        """And what a second look sees of this rank's points and of all labels.

        The context of a label is that by the member that has not seen it, as an unlabelled point is seen by
        none.
        """
        lattice, points, group = scan.nodes.lattice, scan.nodes.points, scan.nodes.group
        assert lattice is not None
        each = list(trees.each(seen))
        P = np.hstack([softmax(scores, axis=1) for scores in (trees.mean(each), *each)])
        own = Averages.of(points, P, lattice.cell, levels=lattice.levels)
        every = averages_of_all(own, points, group, columns=True)
        classes = P.shape[1] // (1 + trees.members)
        joint = replace(every, sums=np.ascontiguousarray(every.sums[:, :classes]))
        context = joint.context(points, P[:, :classes])
        labels, start = scan.labels, scan.nodes.start
        here = labels.are_within(start, len(points))
        rows, member = labels.rows[here] - start, scan.folds.number[here]
        # of the joint opinion and of each member's, one after the other at every size of cells; the only
        # label of a class, number −1, is seen by all members and has the context of the joint opinion
        shape = (len(rows), context_width(lattice.levels), 1 + trees.members, classes)
        apart = every.context(points[rows], P[rows]).reshape(shape)
        unseen = apart[np.arange(len(rows)), :, 1 + member].reshape(len(rows), shape[1] * classes)
        first = cls(trees, lattice, replace(own, sums=np.ascontiguousarray(own.sums[:, :classes])))
        return first, beside(seen, context), beside(labelled, group.rows(unseen))

    def probabilities(self, seen: Seen) -> np.ndarray:
        """p¹: (m, classes)"""
        return softmax(self.trees.joint(seen), axis=1)

    def second(self, seen: Seen, points: np.ndarray, among: str) -> Seen:
        """What a second look sees of points, which those of "training" surround, or their "own"."""
        P, around = self.probabilities(seen), self.around
        if among == "own":
            around = Averages.of(points, P, self.lattice.cell, levels=self.lattice.levels)
        return beside(seen, around.context(points, P))


def beside(seen: Seen, context: np.ndarray) -> Seen:
    """With the context (m, …) beside what trees see already, in single precision, in which they see.

    It is told in steps: what differs by less is rounding, which no tree should ask for.
    """
    return seen._replace(values=np.hstack([seen.values, np.rint(context * STEPS) / STEPS], dtype=np.float32))
