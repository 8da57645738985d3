"""What is asked of ``segment`` and ``predict``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import Any

from pinvgcn.errors import ParameterError
from pinvgcn.features.tiles import SIZE
from pinvgcn.io import Bounds
from pinvgcn.io.atomic import check_output
from pinvgcn.io.scan_writer import ENDINGS
from pinvgcn.jobs.files import stands_for_several
from pinvgcn.jobs.work_folder import work_place

FIT_POINTS = 200_000  # a larger scan is fitted to about this number of its points; about 1.5 GB


class _Places:
    """Where a job reads and writes, by what was asked for."""

    scans: Path | Sequence[Path]
    out: Path
    questions: Path | None = None
    report: Path | None = None

    @property
    def paths(self) -> list[Path]:
        """The scans as they were named: files, patterns or lists."""
        return [self.scans] if isinstance(self.scans, Path) else list(self.scans)

    @property
    def folder(self) -> Path | None:
        """The folder for the copies of several scans; None where ``out`` is the copy of one."""
        return self.out if stands_for_several(self.paths) else None

    def check_place(self) -> None:
        """That ``out`` can be written, or can be a folder where it must be one."""
        if self.folder is None:
            check_output(self.out, force=True)
            return
        if self.out.exists() and not self.out.is_dir():
            raise ParameterError(
                f"The copies of several scans need a folder. Got the file {self.out} as -o instead."
            )
        if not self.out.exists() and self.out.suffix.lower() in ENDINGS:
            raise ParameterError(
                "The copies of several scans go into a folder, which is made. "
                f"Got {self.out} as -o, the name of a scan."
            )

    def copy(self, scan: Path) -> Path:
        """Where the copy of a scan goes."""
        return self.out if self.folder is None else self.folder / scan.name

    @property
    def work_place(self) -> Path:
        """Where the job keeps what is done."""
        return work_place(self.out, several=self.folder is not None)

    @property
    def ranks_classes(self) -> bool:
        """Whether the second most probable class is needed, too."""
        return self.questions is not None or self.report is not None


@dataclass(frozen=True)
class SegmentRequest(_Places):
    """What ``segment`` is to do."""

    scans: Path | Sequence[Path]  # several are one cloud
    labels: str
    out: Path
    unlabelled: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None  # None: what is useful
    field: str | None = None
    relabel: bool = False
    metres: float | None = None  # per unit; None: what the file says, or 1
    save_model: Path | None = None
    report: Path | None = None  # written by others, from the result
    fit_points: int = FIT_POINTS
    tile_points: int = SIZE
    random_state: int = 0
    force: bool = False
    sets: float | None = None  # coverage of prediction sets; None for no sets
    only: tuple[str, ...] | None = None  # classes of the file whose points are changed, and no others
    keep: tuple[str, ...] | None = None  # classes of the file whose points keep theirs
    questions: Path | None = None  # where to list the places that labels would help most
    bounds: Bounds | None = None  # only what lies inside is read, classified and written
    settings: Mapping[str, Any] = attribute(default_factory=dict)  # of the classifier


@dataclass(frozen=True)
class PredictRequest(_Places):
    """What ``predict`` is to do."""

    model: Path
    scans: Path | Sequence[Path]
    out: Path
    field: str | None = None
    metres: float | None = None
    tile_points: int = SIZE
    force: bool = False
    sets: float | None = None
    only: tuple[str, ...] | None = None
    keep: tuple[str, ...] | None = None
    questions: Path | None = None
    bounds: Bounds | None = None


ScanRequest = SegmentRequest | PredictRequest
