"""The points that a model is fitted to, and the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.jobs import Progress
from pinvgcn.scans.requests import SegmentRequest
from pinvgcn.scans.sets import with_members


@dataclass(frozen=True)
class Sample:
    """The points that a model was fitted to, with what it saw of them."""

    index: np.ndarray  # (m,)
    points: np.ndarray  # (m, 3)
    columns: np.ndarray | None  # (m, c)
    local: LocalShapes | None  # in the whole scan; None where the points are all of it
    codes: np.ndarray  # (m,) labels, or -1
    scans: np.ndarray | None = None  # (m,) the number of the scan of each, where there are several


def fitted(
    request: SegmentRequest, classes: list[Any], sample: Sample, tell: Progress, *, group: Group = ALONE
) -> PinvGCNClassifier:
    """A model of these points, those of all ranks of a group."""
    tell("Preparing", 0, 1)
    settings = request.settings if request.sets is None else with_members(request.settings)
    model = PinvGCNClassifier("gaussian", **{"random_state": request.random_state, **settings})
    model.verbose = lambda done, total: tell("Fitting", done, total)
    y = labels_of(sample.codes, classes)
    with stopped_by_interrupts():
        model.fit(
            sample.points,
            y,
            features=sample.columns,
            shapes=sample.local,
            groups=sample.scans,
            process_group=group,
        )
    return model.set_params(verbose=False)


def labels_of(codes: np.ndarray, classes: list[Any]) -> np.ndarray:
    """What the classifier takes: classes, and -1 or None where there is none."""
    if any(isinstance(value, str) for value in classes):
        words: list[Any] = [*(str(value) for value in classes), None]
        return np.array(words, dtype=object)[np.where(codes >= 0, codes, -1)]
    return np.array([*classes, -1])[np.where(codes >= 0, codes, -1)]
