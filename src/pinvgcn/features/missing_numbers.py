"""Missing numbers of a row, from the numbers that it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import ModelFileError
from pinvgcn.features.normal_scores import NormalScores

KNOTS = 64  # values that are kept of a column
FEW = 10  # rows that two columns have in common count as if so many others said that they are unrelated
NOISE = 0.1  # least eigenvalue of the correlations, and what is added to all: columns that say the same
DIGITS = 6  # of correlations and scores: rows that say the same get the same number, on any process rank


@dataclass(frozen=True)
class MissingNumbers:
    """E[z_m | z_o] = R_mo R_oo⁻¹ z_o of the missing scores z_m of a row, given those that it has, z_o.

    Scores are normal scores of mean 0 and spread 1 among the known cells of training, R are their
    correlations, found from the rows in which both columns are known: a Gaussian copula. A row that has no
    number has the median of each. The more is missing, or the less columns say of each other, the nearer to
    the median a number is: docs/maths.md, 9.6d.
    """

    knots: tuple[np.ndarray, ...]  # of each column, rising
    scores: tuple[np.ndarray, ...]
    correlations: np.ndarray  # R (q, q)

    @classmethod
    def of(cls, numbers: np.ndarray, group: Group = ALONE) -> MissingNumbers | None:
        """From the training rows (n, q) of all ranks, NaN where missing; None where nothing is missing."""
        known = np.isfinite(numbers)
        if not group.sum(int((~known).sum())):
            return None
        start, total = group.offset(len(numbers))
        some = in_subsample(start, len(numbers), total)
        numbers, known = numbers[some], known[some]
        knots, scores = [], []
        for own, there in zip(numbers.T, known.T, strict=True):
            if group.sum(int(there.sum())):
                found = NormalScores.of(own[there][:, None], group)
                place = np.unique(np.linspace(0, len(found.knots) - 1, KNOTS).round().astype(int))
                knots.append(found.knots[place, 0])
                scores.append(found.scores[place, 0])
            else:  # known in no row
                knots.append(np.zeros(1))
                scores.append(np.zeros(1))
        Z = _scores(numbers, knots, scores)
        counts = np.maximum(group.sum(known.sum(axis=0)), 1)
        means = group.sum(Z.sum(axis=0)) / counts
        spreads = np.sqrt(group.sum(((Z - means) ** 2 * known).sum(axis=0)) / counts)
        spreads[spreads <= 0] = 1.0
        scores = [np.round((own - m) / s, DIGITS) for own, m, s in zip(scores, means, spreads, strict=True)]
        Z = (Z - means) / spreads * known
        common = group.sum(known.T.astype(np.float64) @ known)
        R = group.sum(Z.T @ Z) / (common + FEW)
        unit = np.sqrt(np.diag(R))
        unit[unit <= 0] = 1.0
        values, vectors = np.linalg.eigh(R / np.outer(unit, unit))
        R = (vectors * np.maximum(values, NOISE)) @ vectors.T + NOISE * np.eye(len(R))
        return cls(tuple(knots), tuple(scores), group.first(np.round((R + R.T) / 2, DIGITS)))

    def filled(self, numbers: np.ndarray) -> np.ndarray:
        """Any rows (m, q), NaN where missing, with all their numbers."""
        known = np.isfinite(numbers)
        rows = np.flatnonzero(~known.all(axis=1))
        found = numbers.copy()
        if not len(rows):
            return found
        Z = _scores(numbers[rows], self.knots, self.scores)
        bits = np.packbits(known[rows], axis=1)
        order = np.lexsort(bits.T)
        starts = np.flatnonzero(np.append(True, (np.diff(bits[order].astype(int), axis=0) != 0).any(axis=1)))
        for same in np.split(order, starts[1:]):  # rows that lack the same columns
            there = known[rows[same[0]]]
            R = self.correlations[there]
            lost = Z[np.ix_(same, there)] @ np.linalg.solve(R[:, there], R[:, ~there])
            Z[np.ix_(same, ~there)] = np.round(lost, DIGITS)
        for column in range(numbers.shape[1]):
            lacks = ~known[rows, column]
            halves = np.interp(Z[lacks, column], self.scores[column], self.knots[column] / 2)
            found[rows[lacks], column] = 2 * halves  # a whole range may overflow
        return found

    def to_dict(self) -> dict[str, Any]:
        """In types that JSON keeps exactly."""
        return {
            "knots": [own.tolist() for own in self.knots],
            "scores": [own.tolist() for own in self.scores],
            "correlations": self.correlations.tolist(),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any], columns: int) -> MissingNumbers:
        """What ``to_dict`` described, of so many columns."""
        knots, scores = (
            tuple(np.array(own, dtype=np.float64) for own in state[name]) for name in ("knots", "scores")
        )
        R = np.array(state["correlations"], dtype=np.float64)
        sound = len(knots) == len(scores) == columns and R.shape == (columns, columns)
        pairs = zip(knots, scores, strict=sound)
        sound &= all(k.shape == s.shape and k.ndim == 1 and len(k) > 0 for k, s in pairs)
        sound &= all(bool(np.isfinite(own).all()) for own in (*knots, *scores, R))
        if not (sound and (R == R.T).all() and np.linalg.eigvalsh(R)[0] > 0):
            raise ModelFileError("missing numbers of a table must fit its columns")
        return cls(knots, scores, R)


def _scores(numbers: np.ndarray, knots: Any, scores: Any) -> np.ndarray:
    """0 where missing: (m, q)."""
    Z = np.empty(numbers.shape)
    for column, (known, own) in enumerate(zip(knots, scores, strict=True)):
        Z[:, column] = np.interp(numbers[:, column] / 2, known / 2, own)
    return np.nan_to_num(Z, copy=False, nan=0.0)
