"""What ``segment`` and ``predict`` have done, for people and for JSON."""

from __future__ import annotations

import time
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.lattice import Lattice
from pinvgcn.fitting.conformal import SetSizes
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.fitted_model import ELSEWHERE
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.scans.labels import name_of
from pinvgcn.scans.protection import Protected
from pinvgcn.scans.questions import ConfidenceMap, Question
from pinvgcn.scans.requests import ScanFiles
from pinvgcn.scans.subsample import FittedPoints
from pinvgcn.wording import counted, verb

MISPLACED = 0.9  # of the points far from all of training: it is not the model that is wrong
AFTERWARDS = ("holding out labels", "report")  # stages of the report


@dataclass(frozen=True)
class ScanResult:
    source: ScanFiles
    out: Path  # a file, or a folder for several
    field: str
    classes: list[Any]
    given: np.ndarray  # (classes,) labels
    counts: np.ndarray  # (classes,) points that have the class now, but for protected ones
    mean_confidence: float  # over the points that were predicted
    noise: int
    outside: int
    alone: int
    fields: list[str]  # that became features
    left_out: dict[str, str]
    tiles: int
    seconds: dict[str, float]
    model: PinvGCNClassifier = attribute(repr=False)
    sample: FittedPoints | None = attribute(default=None, repr=False)
    sets: SetSizes | None = None
    set_column: str | None = None  # how to read it
    unit: str | None = None  # what speaks for another unit than that of training
    protected: Protected | None = None  # points that keep the class of their file
    questions: list[Question] = attribute(default_factory=list, repr=False)  # best first
    question_file: Path | None = None
    confidence_map: ConfidenceMap | None = attribute(default=None, repr=False)  # for a report

    @property
    def asprs(self) -> bool:
        return self.source.asprs

    @property
    def fitted(self) -> int:
        return self.model.spectrum_.n_nodes

    @property
    def estimate(self) -> AccuracyEstimate | None:
        """How well the model is expected to do: at the unlabelled points of the scan that it was fitted to,
        or in this one if it is another."""
        if not self.elsewhere:
            return self.model.accuracy_estimate_
        shares = self.counts / self.counts.sum()
        return self.model.fitted_.expected(shares, self.mean_confidence, elsewhere=True)

    @property
    def elsewhere(self) -> bool:
        """Whether this is another scan than the model was fitted to."""
        other = self.outside > ELSEWHERE * max(int(self.counts.sum()), 1)
        return bool(other and self.counts.any() and not self.given.any())

    @property
    def weights(self) -> str | None:
        """How the experts are weighed, for people."""
        ensemble = self.model.fitted_.ensemble
        if ensemble.away is None:
            return None
        used = ensemble.away if self.elsewhere else ensemble.weights
        words = ", ".join(f"{name.replace('_', ' ')} {weight:.2f}" for name, weight in used.items())
        where = "; the network fades with the distance to the labels" if not self.elsewhere else ""
        return f"Experts by weight: {words}{where}."

    @property
    def expectation(self) -> str | None:
        """The estimate as a line for people, which tells whether it is about this scan."""
        if self.estimate is None:
            return None
        here = self.given.any() or self.elsewhere
        where = "" if here else "On the scan that the model was fitted to: "
        return where + self.estimate.sentence()

    @property
    def work_seconds(self) -> float:
        """Of all that was done to the scan; a report comes after it."""
        return sum(spent for stage, spent in self.seconds.items() if stage not in AFTERWARDS)

    @property
    def points_per_second(self) -> float:
        return self.source.count / max(self.work_seconds, 1e-9)

    @property
    def features(self) -> list[str]:
        """What the model sees of a point."""
        lattice = self.lattice
        local = []
        if lattice is not None:
            coarsest = lattice.cell * 2 ** (lattice.levels - 1)
            local = [f"local shape (cells of {lattice.cell:g} to {coarsest:g} m)"]
        return ["position", *local, *self.fields]

    @property
    def lattice(self) -> Lattice | None:
        """The cells by which local shapes are measured."""
        nodes = self.model.fitted_.nodes
        return nodes.lattice if isinstance(nodes, CloudNodes) else None

    @property
    def classified(self) -> int:
        """Points that are not protected."""
        return self.source.count - (0 if self.protected is None else self.protected.points)

    @property
    def protected_line(self) -> str | None:
        """How many points keep which class of their file, if some are to."""
        return None if self.protected is None else self.protected.line(asprs=self.asprs)

    def notes(self) -> list[str]:
        """What somebody should know before they rely on it."""
        lines = [] if self.unit is None else [self.unit]
        if self.outside:
            lie = verb(self.outside, "lies", "lie")
            is_ = verb(self.outside, "is", "are")
            place = verb(self.outside, "its place", "their place")
            free = self.model.fitted_.places is not None
            how = f"classified without {place}" if free else "classified by a guess"
            lines.append(
                f"{counted(self.outside, 'point')} {lie} outside the cloud that the model was fitted to and "
                f"{is_} {how} (outside = 1)"
            )
            if self.elsewhere and free:
                lines.append("this is another scan: shapes decide, class shares are estimated from it")
            elif self.elsewhere:
                lines.append(
                    "the model was fitted elsewhere, and knows nothing but places; fit with labels from here"
                )
        if self.sets is not None and self.outside:
            lines.append("outside the fitted cloud sets may hold the true class less often than asked for")
        if self.alone:
            far = verb(self.alone, "is", "are")
            lines.append(
                f"{counted(self.alone, 'point')} {far} far from all of training: no prediction (outside = 2)"
            )
            if self.alone > MISPLACED * self.classified:
                lines.append("is the scan in another coordinate system, or in another unit (--metres)?")
        if self.noise:
            keep = verb(self.noise, "keeps its", "keep their")
            lines.append(f"{counted(self.noise, 'point')} of noise took no part and {keep} class")
        if self.protected is not None:
            lines += self.protected.notes()
        return lines

    def as_dict(self) -> dict[str, Any]:
        away = self.model.fitted_.ensemble.away
        return {
            "input": str(self.source.path),
            "format": self.source.format,
            "output": str(self.out),
            "field": self.field,
            "points": self.source.count,
            "metres_per_unit": self.source.metres,
            "cell": None if self.lattice is None else self.lattice.cell,
            "classes": [
                {
                    "class": value,
                    "name": name_of(value, asprs=self.asprs),
                    "labels": int(labels),
                    "points": int(count),
                }
                for value, labels, count in zip(self.classes, self.given, self.counts, strict=True)
            ],
            "mean_confidence": self.mean_confidence,
            "noise": self.noise,
            "outside": self.outside,
            "not_predicted": self.alone,
            "protected": None if self.protected is None else self.protected.as_dict(asprs=self.asprs),
            "features": self.features,
            "left_out": self.left_out,
            "fitted_points": self.fitted,
            "tiles": self.tiles,
            "seconds": self.seconds,
            "points_per_second": self.points_per_second,
            "estimate": None
            if self.estimate is None
            else {
                **self.estimate.as_dict(),
                "of": "this scan" if self.given.any() or self.elsewhere else "the fitted scan",
            },
            "weights": dict(self.model.fitted_.ensemble.weights),
            "weights_elsewhere": None if away is None else dict(away),
            "questions": None if self.question_file is None else str(self.question_file),
            "sets": None if self.sets is None else {**self.sets.as_dict(), "written_as": self.set_column},
        }


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stop(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now
