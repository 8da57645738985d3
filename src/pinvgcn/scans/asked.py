"""What a job over several scans is asked for, and all that is refused before there is work to lose.

A dry run refuses the same: it comes this far, and writes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.checks import check_count
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.io import open_scan
from pinvgcn.io.scan_writer import ENDINGS
from pinvgcn.jobs import Progress, fingerprint
from pinvgcn.jobs.input_files import stands_for_several
from pinvgcn.jobs.work_folder import NAME
from pinvgcn.scans.files import Files
from pinvgcn.scans.jobs import frame_of
from pinvgcn.scans.output import Copy, default_field
from pinvgcn.scans.outputs import check_scan_outputs
from pinvgcn.scans.protection import Protected, Protection, check_options, protect
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.sets import check_labels
from pinvgcn.scans.survey_of_many import Overview, Reading, survey_of_many
from pinvgcn.scans.thinning import Drawn

Request = SegmentRequest | PredictRequest
SAME = ("scan", "out", "save_model", "force")  # may change: tiles and answers do not


def work_place(paths: Sequence[Path], out: Path) -> Path:
    """Where a job keeps what is done: in the folder of the copies, or beside the one copy of one scan."""
    return out.with_name(f".{out.name}{NAME}") if _single(paths, out) else out / NAME


@dataclass(frozen=True)
class Asked:
    """One command, on one rank."""

    request: Request
    files: Files
    out: list[Path]  # of each file
    folder: Path  # in which what is done is kept
    command: str  # its fingerprint
    group: Group

    @classmethod
    def of(cls, request: Request, paths: Sequence[Path], group: Group) -> Asked:
        """By the headers of the files."""
        check_count("tile_points", request.tile_points)
        check_options(request)
        if isinstance(request, SegmentRequest):
            check_count("fit_points", request.fit_points)
            if request.report is not None:
                raise ParameterError(
                    "--report is about one scan, fitted by one process. Got several; leave it out, or ask "
                    "for it with one of them."
                )
            _check_lists(request, paths)
        folder = None if _single(paths, request.out) else request.out
        files = Files.of(paths, group, metres=request.metres, besides=folder)
        out = [request.out] if folder is None else _inside(folder, files)
        command = ""
        with together(group):
            if group.rank == 0:
                command = _fingerprint(request, files)
        command = group.values(command)[0]
        return cls(request, files, out, work_place(paths, request.out), command, group)

    def check_files(self, *, there: bool, saved: str | None = None) -> None:
        """Refuse files that are there already or that are the scans themselves, on all ranks alike.

        ``there`` says that copies and questions may be, those of this job; ``saved`` is where it has saved
        the model.
        """
        with together(self.group):
            if self.group.rank == 0:
                folder = None if self.out == [self.request.out] else self.request.out
                check_scan_outputs(
                    self.request, self.files.paths, self.out, folder=folder, resumed=there, saved=saved
                )

    def survey(self, model: PinvGCNClassifier | None, tell: Progress, *, dry: bool = False) -> Reading:
        """Read the files; with the labels or the ``model``, what cannot be done is known and refused."""
        rule = self.protection
        reading = self._labels(tell) if model is None else self._new(model, tell)
        if rule is not None:
            self._protect(rule, reading)
        with together(self.group):
            for at in self.files.mine:
                self.copy(at, reading.overview.classes, reading.overview.protected, dry=dry)
        return reading

    @property
    def protection(self) -> Protection | None:
        """By the first of the scans; the others must have the same field."""
        first = open_scan(self.files.paths[0])
        return Protection.of(self.request, first, self.request.field or default_field(first))

    def _protect(self, rule: Protection, reading: Reading) -> None:
        sources = {at: open_scan(self.files.paths[at]) for at in self.files.mine}
        labelled = isinstance(self.request, SegmentRequest) and not self.request.relabel
        reading.kept, protected = protect(
            rule,
            sources,
            reading.codes if labelled else None,
            reading.overview.classes,
            of=self.files.given,
            group=self.group,
        )
        reading.overview = dataclasses.replace(reading.overview, protected=protected)

    def _labels(self, tell: Progress) -> Reading:
        request = self.request
        assert isinstance(request, SegmentRequest)
        reading = survey_of_many(
            self.files,
            request.labels,
            unlabelled=request.unlabelled,
            features=request.features,
            group=self.group,
            tell=tell,
        )
        if request.sets is not None:
            seen, drawn = reading.overview, self.drawn(reading.overview)
            counts = np.zeros(len(seen.classes), dtype=np.int64)
            for at, codes in reading.codes.items():
                fitted = codes[drawn(self.files.starts[at] + np.arange(len(codes)), codes)]
                counts += np.bincount(fitted[fitted >= 0], minlength=len(counts))
            check_labels(request.sets, self.group.sum(counts), seen.classes, settings=request.settings)
        return reading

    def _new(self, model: PinvGCNClassifier, tell: Progress) -> Reading:
        assert isinstance(self.request, PredictRequest)
        frame = frame_of(model, self.request.model, self.files.metres)
        with together(self.group):
            for at in self.files.mine:
                frame.fields(open_scan(self.files.paths[at]))
        reading = survey_of_many(self.files, None, group=self.group, tell=tell)
        classes = model.classes_.tolist()
        counts = np.zeros(len(classes), dtype=np.int64)
        reading.overview = dataclasses.replace(
            reading.overview, frame=frame, fields=list(frame.columns), classes=classes, counts=counts
        )
        return reading

    def drawn(self, overview: Overview) -> Drawn:
        """The points that a model is fitted to."""
        request = self.request
        assert isinstance(request, SegmentRequest)
        return Drawn.of(
            overview.counts, overview.unlabelled, request.fit_points, random_state=request.random_state
        )

    def copy(self, file: int, classes: list[Any], kept: Protected | None, *, dry: bool = False) -> Copy:
        """The writer of a file's copy; raises what can be known to fail."""
        source, out = open_scan(self.files.paths[file]), self.out[file]
        if dry and not out.parent.exists():  # a folder that will be made can be asked by the one above it
            above = next(path for path in out.parents if path.exists())
            out = above / f"{NAME}-{out.name}"
        sets = self.request.sets is not None
        return Copy(source, out, self.request.field, classes, force=True, sets=sets, kept=kept)


def _fingerprint(request: Request, files: Files) -> str:
    name = "segment" if isinstance(request, SegmentRequest) else "predict"
    asked = {**dataclasses.asdict(request), "command": name}
    others = []
    for key in ("model", "labels"):
        if key in asked and Path(asked[key]).is_file():
            others.append(Path(asked.pop(key)))
    return fingerprint({key: asked[key] for key in asked if key not in SAME}, [*files.paths, *others])


def _check_lists(request: SegmentRequest, paths: Sequence[Path]) -> None:
    model = request.save_model
    if model is not None and model.resolve() in {path.resolve() for path in paths}:
        raise ParameterError(f"--save-model must not write over a file that is read. Got {model}.")


def _single(paths: Sequence[Path], out: Path) -> bool:
    return not stands_for_several(paths) and not out.is_dir()


def _inside(folder: Path, files: Files) -> list[Path]:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(
            f"The copies of several scans need a folder. Got the file {folder} as -o instead."
        )
    if not folder.exists() and folder.suffix.lower() in ENDINGS:
        raise ParameterError(
            f"The copies of several scans go into a folder, which is made. Got {folder} as -o, the name of a "
            "scan."
        )
    return [folder / path.name for path in files.paths]
