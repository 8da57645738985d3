"""Doubts: where a model is unsure of a scan, and what it asks for; the same for one scan and for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.scans.confidence_map import ConfidenceMap
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.labels import LAS
from pinvgcn.scans.places import choose
from pinvgcn.scans.questions import Question, questions, write_questions
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.seen import Parts


@dataclass(frozen=True)
class Doubts:
    """Questions, best first, the file that they were written to, and a map where a report shows it."""

    questions: list[Question]
    path: Path | None
    map: ConfidenceMap | None


def wanted(request: SegmentRequest | PredictRequest) -> bool:
    """Whether anybody has asked where the model is unsure."""
    return request.questions is not None or getattr(request, "report", None) is not None


def look(
    request: SegmentRequest | PredictRequest,
    parts: Parts,
    frame: Frame,
    classes: list[Any],
    format: str,
    files: Sequence[tuple[str, int]],
    *,
    group: Group = ALONE,
) -> Doubts | None:
    """Find the questions and write them; ``files`` are the names of the cloud's files and their points."""
    if not wanted(request):
        return None
    starts = np.cumsum([0, *(count for _, count in files)])[:-1]
    names = [name for name, _ in files]
    found = questions(choose(parts, group=group), frame, names, starts, classes, asprs=format in LAS)
    if request.questions is not None:
        with together(group):
            if group.rank == 0:
                write_questions(found, request.questions)
    report = getattr(request, "report", None)
    return Doubts(found, request.questions, None if report is None else ConfidenceMap.of(parts, frame))
