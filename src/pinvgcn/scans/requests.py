"""What is asked of ``segment`` and ``predict``, and the scans that it is asked of.

The scans of a job are one cloud: point i of file f is number start_f + i of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinvgcn.checks import check_positive
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import DataError
from pinvgcn.features.tiles import SIZE, share_out
from pinvgcn.io import Bounds, ScanSource, open_scan
from pinvgcn.io.atomic import check_output
from pinvgcn.io.scan import ENDINGS
from pinvgcn.jobs.files import check_folder, input_files, stands_for_several
from pinvgcn.jobs.work_folder import work_place
from pinvgcn.scans.labels import LAS

PIECE = 500_000  # points read at a time
FIT_POINTS = 200_000  # a larger scan is fitted to about this number of its points; about 1.5 GB


@dataclass(frozen=True, kw_only=True)
class _Options:
    """What may be asked of ``segment`` and ``predict`` alike."""

    if TYPE_CHECKING:  # each request has these first, by position
        scans: Path | Sequence[Path]  # several are one cloud
        out: Path
    report: Path | None = None  # written by others, from the result of segment
    field: str | None = None  # that the class goes to
    metres: float | None = None  # per unit; None: what the file says, or 1
    tile_points: int = SIZE
    force: bool = False
    sets: float | None = None  # coverage of prediction sets; None for no sets
    only: tuple[str, ...] | None = None  # classes of the file whose points are changed, and no others
    keep: tuple[str, ...] | None = None  # classes of the file whose points keep theirs
    questions: Path | None = None  # where to list the places that labels would help most
    bounds: Bounds | None = None  # only what lies inside is read, classified and written

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
        else:
            check_folder(self.out, [], tuple(ENDINGS))

    def copy(self, scan: Path) -> Path:
        return self.out if self.folder is None else self.folder / scan.name

    @property
    def work_place(self) -> Path:
        return work_place(self.out, several=self.folder is not None)

    @property
    def ranks_classes(self) -> bool:
        """Whether the second most probable class is needed, too."""
        return self.questions is not None or self.report is not None


@dataclass(frozen=True)
class SegmentRequest(_Options):
    """What ``segment`` is to do."""

    scans: Path | Sequence[Path]
    labels: str
    out: Path
    unlabelled: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None  # None: what is useful
    relabel: bool = False
    save_model: Path | None = None
    fit_points: int = FIT_POINTS
    random_state: int = 0
    settings: Mapping[str, Any] = attribute(default_factory=dict)  # of the classifier


@dataclass(frozen=True)
class PredictRequest(_Options):
    """What ``predict`` is to do."""

    model: Path
    scans: Path | Sequence[Path]
    out: Path


ScanRequest = SegmentRequest | PredictRequest


@dataclass(frozen=True)
class ScanFiles:
    """What the headers say, the same on all processes; ``mine`` are the files that this one reads."""

    given: str  # as it was typed
    paths: list[Path]
    counts: list[int]
    format: str
    metres: float
    fields: list[list[str]]  # of each file
    mine: list[int]
    group: Group
    bounds: Bounds | None = None  # of what is read of each

    @classmethod
    def of(
        cls,
        paths: Sequence[Path],
        *,
        metres: float | None = None,
        out: Path | None = None,
        bounds: Bounds | None = None,
        group: Group = ALONE,
    ) -> ScanFiles:
        """Each process opens some; all must have one unit and one coordinate system. Those without a point
        inside ``bounds`` are left out."""
        files = input_files(paths, out=out, group=group)
        with together(group):
            headers = [_header(open_scan(path, bounds=bounds)) for path in files[group.rank :: group.size]]
        parts = group.values(headers)
        told: list[Any] = [parts[at % group.size][at // group.size] for at in range(len(files))]
        for what, key in (("unit (metres)", "metres"), ("coordinate system", "system"), ("kind", "kind")):
            if key == "metres" and metres is not None:
                continue
            for path, header in zip(files, told, strict=True):
                if header[key] != told[0][key]:
                    raise DataError(
                        f"Scans that are one cloud must agree in their {what}. Got {told[0][key]} in "
                        f"{files[0]} and {header[key]} in {path}."
                    )
        if metres is None:
            metres = 1.0 if told[0]["metres"] is None else told[0]["metres"]
        if bounds is not None:
            pairs = [(path, header) for path, header in zip(files, told, strict=True) if header["count"]]
            if not pairs:
                raise DataError(f"{' '.join(map(str, paths))} has no point within the bounds {bounds}.")
            files, told = [path for path, _ in pairs], [header for _, header in pairs]
        counts = [header["count"] for header in told]
        fields = [header["fields"] for header in told]
        mine = share_out(counts, group.size)[group.rank]
        metres = check_positive("metres", metres)
        given = " ".join(map(str, paths))
        return cls(given, files, counts, told[0]["format"], metres, fields, mine, group, bounds)

    def open(self, file: int) -> ScanSource:
        return open_scan(self.paths[file], bounds=self.bounds, inside=self.counts[file])

    @property
    def path(self) -> Path:
        """What messages call all of them."""
        return Path(self.given)

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def own_count(self) -> int:
        """Points of the files that this process reads."""
        return sum(self.counts[file] for file in self.mine)

    @property
    def starts(self) -> np.ndarray:
        """The number of each file's first point, and at the end that of all."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @property
    def asprs(self) -> bool:
        """Whether the numbers of classes have a standard meaning."""
        return self.format in LAS


def _header(source: ScanSource) -> dict[str, Any]:
    names = ("count", "format", "metres", "system")
    told = {name: getattr(source, name) for name in names} | {"fields": list(source.fields)}
    return told | {"kind": "LAS" if source.format in LAS else source.format}
