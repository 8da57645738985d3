"""The live answer: what labels mean for the sample, at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pinvgcn.app.cloud import Cloud
from pinvgcn.app.head import Head, Reply
from pinvgcn.app.labels import NONE, Category
from pinvgcn.app.preparation import PreparedScan
from pinvgcn.app.refining import FitQuestion
from pinvgcn.app.tools import SIZE, Regions

FEW = 2  # classes, from which on there is something to predict
BESIDE, SURE = 200, 0.9  # points of each class that a model stays the teacher of, where it is so sure


@dataclass(frozen=True)
class Base:
    """The answer of a model that was fitted elsewhere, before the first click."""

    numbers: np.ndarray  # (n,) classes of the page, NONE where it has none
    confidence: np.ndarray  # (n,)


@dataclass(frozen=True)
class LiveAnswer:
    """At the sample of the scan."""

    numbers: np.ndarray  # (s,) classes
    sureness: np.ndarray  # (s,)
    held_out: float | None = None  # share of labels that the others would have given
    contradicted: np.ndarray | None = None  # rows of the sample whose label the others would not give
    reply: Reply | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class ReviewPlace:
    """A connected piece of like points around the one that is most in doubt there."""

    seed: int  # a point of the scan
    points: np.ndarray  # of the scan, all with the same predicted class
    number: int  # that class
    sureness: float  # of it, in the mean


class Live:
    """Answers from a prepared scan; with a ``base`` labels correct what that says."""

    def __init__(self, cloud: Cloud, prepared: PreparedScan) -> None:
        self._cloud = cloud
        self._head = Head(prepared.surroundings)
        self.regions = Regions(prepared.forms, prepared.surroundings.around)
        self.above_ground = prepared.above_ground
        self.base: Base | None = None

    def answer(
        self, labelled: np.ndarray, numbers: np.ndarray, classes: tuple[Category, ...]
    ) -> LiveAnswer | None:
        """To labels of points of the scan; None where there is nothing to tell classes apart by."""
        sample = self._cloud.sample
        told = None if self.base is None else self.base.numbers[sample]
        seen = {*numbers.tolist(), *(() if told is None else np.unique(told).tolist())} - {NONE}
        present = np.sort([c.number for c in classes if c.number in seen]).astype(np.int64)
        rows, first = np.unique(self._cloud.rows(labelled), return_index=True)
        if len(present) < FEW:
            return None
        codes = np.searchsorted(present, numbers[first])
        reply = self._head.reply(rows, codes, len(present), self._told(told, present))
        found, sureness = present[reply.proba.argmax(axis=1)], reply.sureness
        if told is not None and self.base is not None and len(rows) == 0:  # nothing corrects it yet
            found, sureness = told, self.base.confidence[sample]
        several = np.bincount(reply.codes, minlength=len(present))[reply.codes] > 1
        same = reply.left_out.argmax(axis=1) == reply.codes  # the only label of a class cannot be told
        return LiveAnswer(
            found,
            sureness,
            float(same[several].mean()) if several.any() else None,
            reply.points[several & ~same],
            reply,
        )

    def places(
        self, answer: LiveAnswer, count: int, stop: Callable[[], bool] = lambda: False
    ) -> tuple[ReviewPlace, ...]:
        """The places to review: pieces of like points around the ones most in doubt, the first first; none
        where it is time to ``stop``."""
        found: list[ReviewPlace] = []
        if answer.reply is None:
            return ()
        for seed in self._head.proposals(answer.reply, count=count).tolist():
            if stop():
                return ()
            rows = self.regions.around(seed, SIZE, answer.numbers)
            found.append(
                ReviewPlace(
                    int(self._cloud.sample[seed]),
                    self._cloud.sample[rows],
                    int(answer.numbers[seed]),
                    float(answer.sureness[rows].mean()),
                )
            )
        return tuple(found)

    def with_base(self, question: FitQuestion, answer: LiveAnswer) -> FitQuestion:
        """The question with some of the base's answers as labels, where it is sure and no click has changed
        it: the full model then knows what the base knew."""
        if self.base is None:
            return question
        sample = self._cloud.sample
        kept = (self.base.confidence[sample] >= SURE) & (self.base.numbers[sample] == answer.numbers)
        kept &= ~np.isin(sample, question.points)
        points, numbers = [question.points], [question.numbers]
        for number in np.unique(answer.numbers[kept]).tolist():
            own = sample[kept & (answer.numbers == number)]
            own = own[np.argsort(self._cloud.turn[own])[:BESIDE]]
            points.append(own)
            numbers.append(np.full(len(own), number))
        every, order = np.concatenate(points), np.argsort(np.concatenate(points))
        return FitQuestion(every[order], np.concatenate(numbers)[order], question.classes)

    def _told(self, told: np.ndarray | None, present: np.ndarray) -> np.ndarray | None:
        """The base's probabilities of the present classes: (s, classes)"""
        if told is None or self.base is None:
            return None
        sure = self.base.confidence[self._cloud.sample].astype(np.float64)
        c = len(present)
        found = np.repeat(((1 - sure) / max(c - 1, 1))[:, None], c, axis=1)
        known = np.flatnonzero(told != NONE)
        found[known, np.searchsorted(present, told[known])] = sure[known]
        found[told == NONE] = 1 / c
        return found
