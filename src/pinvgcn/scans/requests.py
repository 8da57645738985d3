"""What is asked of ``segment`` and ``predict``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import Any

from pinvgcn.features.tiles import SIZE

FIT_POINTS = 200_000  # up to which a scan is fitted whole, in about 1.5 GB; of a larger one, so many points


@dataclass(frozen=True)
class SegmentRequest:
    """What ``segment`` is to do."""

    scan: Path
    labels: str
    out: Path
    unlabelled: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None  # None: what is useful
    field: str | None = None
    relabel: bool = False
    metres: float | None = None  # per unit; None: what the file says, or 1
    save_model: Path | None = None
    report: Path | None = None  # whoever writes it, it must not be there
    fit_points: int = FIT_POINTS
    tile_points: int = SIZE
    random_state: int = 0
    force: bool = False
    sets: float | None = None  # coverage of prediction sets; None for no sets
    only: tuple[str, ...] | None = None  # classes of the file whose points are changed, and no others
    keep: tuple[str, ...] | None = None  # classes of the file whose points keep theirs
    questions: Path | None = None  # where to list the places that labels would help most
    settings: Mapping[str, Any] = attribute(default_factory=dict)  # of the classifier


@dataclass(frozen=True)
class PredictRequest:
    """What ``predict`` is to do."""

    model: Path
    scan: Path
    out: Path
    field: str | None = None
    metres: float | None = None
    tile_points: int = SIZE
    force: bool = False
    sets: float | None = None
    only: tuple[str, ...] | None = None
    keep: tuple[str, ...] | None = None
    questions: Path | None = None
