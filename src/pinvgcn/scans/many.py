"""segment and predict over several scans that are one cloud, by one process or by many.

Each rank reads its own files and sorts their points into tiles that all ranks see; each works on its own
tiles, with exact neighbourhoods across their borders and those of files; each writes the copies of its own
files. Every step leaves its result in the work folder, from which the same command goes on after a fault.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.checks import check_count
from pinvgcn.errors import ParameterError, PeerError, PinvGCNError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.shared_tiles import FILE, for_rank, saved_tiles, shared_tiles
from pinvgcn.features.tiles import Tiles
from pinvgcn.group import ALONE, Group
from pinvgcn.io import open_scan
from pinvgcn.scans.everywhere import answers
from pinvgcn.scans.files import Files, is_pattern
from pinvgcn.scans.jobs import PredictRequest, Result, SegmentRequest, frame_of, load_scan_model, silent
from pinvgcn.scans.jobs import _Clock as Clock
from pinvgcn.scans.labels import LAS
from pinvgcn.scans.output import Copy, Outcomes, check_target, default_field
from pinvgcn.scans.results_of_many import Totals, keep_answers, tiles_of_files, write_copies
from pinvgcn.scans.sample_of_many import fit_and_save, sample_over_ranks
from pinvgcn.scans.sets import check_members, explained
from pinvgcn.scans.survey import Tell
from pinvgcn.scans.survey_of_many import Overview, Reading, pieces_of, survey_of_many
from pinvgcn.scans.thinning import Drawn
from pinvgcn.scans.work import NAME, Work, begin, fingerprint, work_folder
from pinvgcn.set_columns import SetSizes
from pinvgcn.sets import check_coverage

OVERVIEW, MODEL = "overview.json", "model"


def work_place(paths: Sequence[Path], out: Path) -> Path:
    """Where a job keeps what is done: in the folder of the copies, or beside the one copy of one scan."""
    return out.with_name(f".{out.name}{NAME}") if _single(paths, out) else out / NAME


def segment_many(
    request: SegmentRequest, paths: Sequence[Path], *, group: Group = ALONE, tell: Tell = silent
) -> Result:
    """Fit a model to the labels of several scans and classify all of their points."""
    check_count("fit_points", request.fit_points)
    if request.report is not None:
        raise ParameterError(
            "--report is about one scan, fitted by one process. Got several; leave it out, or ask for it "
            "with one of them."
        )
    job = _Job.of("segment", request, paths, group, tell)

    def survey() -> Reading:
        return survey_of_many(
            job.files,
            request.labels,
            unlabelled=request.unlabelled,
            features=request.features,
            group=group,
            tell=tell,
        )

    overview, tiles = job.read(survey)
    if request.sets is not None:
        check_members(request.settings)
        check_coverage(
            request.sets, np.repeat(np.arange(len(overview.classes)), overview.counts), overview.classes
        )
    if not job.work.has(MODEL):
        drawn = Drawn.of(
            overview.counts, overview.unlabelled, request.fit_points, random_state=request.random_state
        )
        sample = sample_over_ranks(tiles, drawn, tell)
        job.clock.stop("local shapes")
        facts = {
            "kind": "scan",
            **overview.frame.about(),
            "source": job.files.path.name,
            "format": job.files.format,
            "points": job.files.count,
            "fitted": group.sum(len(sample.index)),
            "labels": overview.counts.tolist(),
            "field": job.field,
        }
        place = job.work.path(MODEL)
        fit_and_save(request, overview, sample, place, about=facts, group=group, tell=tell)
        job.clock.stop("fitting")
    model = PinvGCNClassifier.load(job.work.path(MODEL))
    if request.save_model is not None and group.rank == 0:
        _copied(job.work.path(MODEL), request.save_model)
    totals = job.classify(model, tiles, relabel=request.relabel)
    return job.result(model, totals, overview, tiles)


def predict_many(
    request: PredictRequest, paths: Sequence[Path], *, group: Group = ALONE, tell: Tell = silent
) -> Result:
    """Classify the points of several scans with a saved model."""
    model = load_scan_model(request.model)
    if request.sets is not None:
        model._sets_or_raise().places(request.sets, model.classes_)
    job = _Job.of("predict", request, paths, group, tell)
    frame = frame_of(model, request.model, job.files.metres)

    def survey() -> Reading:
        for at in job.files.mine:
            frame.fields(open_scan(job.files.paths[at]))
        reading = survey_of_many(job.files, None, group=group, tell=tell)
        classes = model.classes_.tolist()
        reading.overview = dataclasses.replace(
            reading.overview,
            frame=frame,
            fields=list(frame.columns),
            classes=classes,
            counts=np.zeros(len(classes), dtype=np.int64),
        )
        return reading

    overview, tiles = job.read(survey)
    totals = job.classify(model, tiles, relabel=True)
    return job.result(model, totals, overview, tiles)


@dataclass
class _Job:
    """One command, on one rank."""

    request: SegmentRequest | PredictRequest
    files: Files
    out: list[Path]  # of each file
    work: Work
    command: str
    clock: Clock
    group: Group
    tell: Tell

    @classmethod
    def of(
        cls,
        name: str,
        request: SegmentRequest | PredictRequest,
        paths: Sequence[Path],
        group: Group,
        tell: Tell,
    ) -> _Job:
        """All that can be refused before files are read is."""
        check_count("tile_points", request.tile_points)
        clock = Clock()
        files = Files.of(paths, group, metres=request.metres)
        out = _targets(files, paths, request.out)
        asked = {**dataclasses.asdict(request), "force": None, "command": name, "version": version("pinvgcn")}
        others = [
            Path(asked[key]) for key in ("model", "labels") if key in asked and Path(asked[key]).is_file()
        ]
        command = group.values(fingerprint(asked, [*files.paths, *others]) if group.rank == 0 else None)[0]
        work = work_folder(work_place(paths, request.out), command, force=request.force, group=group)
        save_model = getattr(request, "save_model", None)
        _check_files(files, out, save_model, there=work.resumed or request.force)
        return cls(request, files, out, work, command, clock, group, tell)

    def read(self, survey: Callable[[], Reading]) -> tuple[Overview, Tiles]:
        """Tiles of all files, now or before the job was interrupted."""
        if self.work.has(FILE):
            begin(self.work, self.command)
            return Overview.from_dict(self.work.noted(OVERVIEW)), saved_tiles(self.work.folder, self.group)
        made = [folder for folder in (self.work.folder, self.work.folder.parent) if not folder.exists()]
        try:
            reading = survey()
            overview = reading.overview
            begin(self.work, self.command)
            for at in self.files.mine:
                self.copy(at, overview.classes)
            self.clock.stop("reading")
            if self.group.rank == 0:
                self.work.note(OVERVIEW, overview.as_dict())
            tiles = shared_tiles(
                pieces_of(self.files, overview.frame, reading.codes, self.tell),
                reading.cut(self.request.tile_points),
                self.work.folder,
                group=self.group,
                columns=len(overview.fields) + 1,
                beside=1,
                size=self.request.tile_points,
            )
        except PinvGCNError as error:
            if not isinstance(error, PeerError):  # refused: there is nothing to go on from
                for folder in made:
                    shutil.rmtree(folder, ignore_errors=True)
            raise
        self.clock.stop("tiles")
        return overview, tiles

    @property
    def field(self) -> str:
        """Where classes go."""
        return self.request.field or default_field(open_scan(self.files.paths[0]))

    def copy(self, file: int, classes: list[Any]) -> Copy:
        """The writer of a file's copy; raises what can be known to fail."""
        source = open_scan(self.files.paths[file])
        sets = self.request.sets is not None
        return Copy(source, self.out[file], self.request.field, classes, force=True, sets=sets)

    def classify(self, model: PinvGCNClassifier, tiles: Tiles, *, relabel: bool) -> Totals:
        """Answers at all points, and the copies of own files."""
        classes = model.classes_.tolist()
        answered = self.work.numbers("answer")
        todo = [tile for tile in range(len(tiles)) if tile not in answered]
        own = for_rank(tiles, todo, self.work.numbers("proba"))
        coverage = self.request.sets
        for tile, some in zip(own.mine, answers(model, own, self.tell, coverage=coverage), strict=True):
            outcomes = Outcomes.empty(len(some.index), None, sets=coverage is not None)
            given = None if relabel else own.load(tile).columns[:, -1].astype(np.int16)
            outcomes.put(np.arange(len(some.index)), some.proba, some.flags, given, some.sets)
            keep_answers(self.work, tile, some.index, outcomes)
        self.group.wait()
        self.clock.stop("classifying")
        where = tiles_of_files(self.work, len(tiles), self.files)
        totals = write_copies(
            self.work, self.files, where, lambda file: self.copy(file, classes), len(classes), self.tell
        )
        self.clock.stop("writing")
        return totals

    def result(self, model: PinvGCNClassifier, totals: Totals, overview: Overview, tiles: Tiles) -> Result:
        """The same on all ranks; the work folder is not needed any more."""
        self.work.remove()
        files: Any = self.files
        sizes = None if self.request.sets is None else SetSizes(self.request.sets, totals.sizes)
        return Result(
            files,
            self.request.out,
            self.field,
            overview.classes,
            self.files.format in LAS,
            overview.counts,
            totals.counts,
            mean_confidence=totals.sure / max(totals.predicted, 1),
            noise=overview.omitted,
            outside=totals.outside,
            alone=totals.alone,
            metres=self.files.metres,
            fields=overview.fields,
            left_out=overview.left_out,
            fitted=model.spectrum_.n_nodes,
            tiles=len(tiles),
            seconds=self.clock.seconds,
            model=model,
            sets=sizes,
            set_column=None if sizes is None else explained(overview.classes, self.files.format),
        )


def _single(paths: Sequence[Path], out: Path) -> bool:
    return len(paths) == 1 and not is_pattern(paths[0]) and not out.is_dir()


def _targets(files: Files, paths: Sequence[Path], out: Path) -> list[Path]:
    if _single(paths, out):
        return [out]
    if out.exists() and not out.is_dir():
        raise ParameterError(f"The copies of several scans need a folder. Got the file {out} as -o instead.")
    return [out / path.name for path in files.paths]


def _check_files(files: Files, out: list[Path], save_model: Path | None, *, there: bool) -> None:
    """Refuse files that are there already or that are the scans themselves, on all ranks alike."""
    places = {path.resolve() for path in files.paths}
    for path in [*out, *([] if save_model is None else [save_model])]:
        if path.resolve() in places:
            raise ParameterError(f"A scan must not be written over: its labels would be lost. Got {path}.")
        if path.exists() and not there:
            raise ParameterError(f"{path} is there already. Choose another place, or add --force.")
    if save_model is not None:
        if save_model.resolve() in {path.resolve() for path in out}:
            raise ParameterError(f"-o and --save-model must be different files. Got {save_model} twice.")
        check_target(save_model, True)


def _copied(source: Path, target: Path) -> None:
    from pinvgcn.io.unfinished import unfinished

    with unfinished(target) as path:
        shutil.copyfile(source, path)
