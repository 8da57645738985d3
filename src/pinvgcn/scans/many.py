"""segment and predict over several scans that are one cloud, by one process or by many.

Each rank reads its own files and sorts their points into tiles that all ranks see; each works on its own
tiles, with exact neighbourhoods across their borders and those of files; each writes the copies of its own
files. Every step leaves its result in the work folder, from which the same command goes on after a fault.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ScanFileError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.shared_tiles import FILE, for_rank, saved_tiles, shared_tiles
from pinvgcn.features.tiles import Tiles, share_out
from pinvgcn.fitting.prediction_sets import SetSizes
from pinvgcn.io import open_scan
from pinvgcn.io.atomic import atomic_file
from pinvgcn.jobs import Progress, WorkFolder, silent, work_folder
from pinvgcn.scans.asked import Asked, Request
from pinvgcn.scans.doubts import Doubts, look, wanted
from pinvgcn.scans.everywhere import answers
from pinvgcn.scans.files import Files
from pinvgcn.scans.jobs import load_scan_model
from pinvgcn.scans.labels import LAS
from pinvgcn.scans.output import Outcomes, default_field
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.result import Clock, Result
from pinvgcn.scans.results_of_many import keep_answers, kept_answers, tiles_of_files, write_copies
from pinvgcn.scans.sample_of_many import fit_and_save, sample_over_ranks
from pinvgcn.scans.seen import Seen
from pinvgcn.scans.sets import explained
from pinvgcn.scans.survey_of_many import Overview, pieces_of
from pinvgcn.scans.totals import Totals

OVERVIEW, MODEL, SAVED = "overview.json", "model", "saved.json"


def segment_many(
    request: SegmentRequest, paths: Sequence[Path], *, group: Group = ALONE, tell: Progress = silent
) -> Result:
    """Fit a model to the labels of several scans and classify all of their points."""
    with _Job.of(request, paths, group, tell) as job:
        overview, tiles = job.read(None)
        if not job.work.has(MODEL):
            sample = sample_over_ranks(tiles, job.asked.drawn(overview), tell)
            scans = np.searchsorted(job.files.starts, sample.index, side="right") - 1
            sample = replace(sample, scans=scans)  # to hold out whole ones
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
            job.work.note(SAVED, str(request.save_model.resolve()))
            with atomic_file(request.save_model, error=ScanFileError) as path:
                shutil.copyfile(job.work.path(MODEL), path)
        totals = job.classify(model, tiles, overview, relabel=request.relabel)
        return job.result(model, totals, overview, tiles)


def predict_many(
    request: PredictRequest, paths: Sequence[Path], *, group: Group = ALONE, tell: Progress = silent
) -> Result:
    """Classify the points of several scans with a saved model."""
    model = model_for(request)
    with _Job.of(request, paths, group, tell) as job:
        overview, tiles = job.read(model)
        unit = model.fitted_.nodes.other_unit(tiles.load(0).points) if len(tiles) else None  # type: ignore[attr-defined]
        totals = job.classify(model, tiles, overview, relabel=True)
        return replace(job.result(model, totals, overview, tiles), unit=unit)


def model_for(request: PredictRequest) -> PinvGCNClassifier:
    """A model of scans, which can make the sets that are asked for."""
    model: PinvGCNClassifier = load_scan_model(request.model)
    if request.sets is not None:
        model.fitted_.thresholds(request.sets)
    return model


@dataclass
class _Job:
    """One command, on one rank, while it has the work folder."""

    asked: Asked
    work: WorkFolder
    clock: Clock
    tell: Progress

    @classmethod
    @contextmanager
    def of(cls, request: Request, paths: Sequence[Path], group: Group, tell: Progress) -> Iterator[_Job]:
        """All that can be refused before files are read is."""
        clock = Clock()
        asked = Asked.of(request, paths, group)
        with work_folder(asked.folder, asked.command, force=request.force, group=group) as work:
            asked.check_files(there=work.resumed, saved=work.noted(SAVED) if work.resumed else None)
            yield cls(asked, work, clock, tell)

    @property
    def request(self) -> Request:
        return self.asked.request

    @property
    def files(self) -> Files:
        return self.asked.files

    @property
    def group(self) -> Group:
        return self.asked.group

    def read(self, model: PinvGCNClassifier | None) -> tuple[Overview, Tiles]:
        """Tiles of all files, now or before the job was interrupted."""
        if self.work.has(FILE):
            self.work.begin(self.asked.command)
            return Overview.from_dict(self.work.noted(OVERVIEW)), saved_tiles(self.work.folder, self.group)
        reading = self.asked.survey(model, self.tell)
        overview = reading.overview
        self.work.begin(self.asked.command)
        self.clock.stop("reading")
        if self.group.rank == 0:
            self.work.note(OVERVIEW, overview.as_dict())
        tiles = shared_tiles(
            pieces_of(self.files, overview.frame, reading.beside, self.tell),
            reading.cut(self.request.tile_points),
            self.work.folder,
            group=self.group,
            columns=len(overview.fields) + reading.width,
            beside=reading.width,
            size=self.request.tile_points,
        )
        self.clock.stop("tiles")
        return overview, tiles

    @property
    def field(self) -> str:
        """Where classes go."""
        return self.request.field or default_field(open_scan(self.files.paths[0]))

    def classify(
        self, model: PinvGCNClassifier, tiles: Tiles, overview: Overview, *, relabel: bool
    ) -> Totals:
        """Answers at all points, and the copies of own files."""
        classes = model.classes_.tolist()
        answered = self.work.numbers("answer")
        todo = [tile for tile in range(len(tiles)) if tile not in answered]
        own = for_rank(tiles, todo, self.work.numbers("proba"))
        coverage = self.request.sets
        here = isinstance(self.request, SegmentRequest)
        found = answers(model, own, self.tell, coverage=coverage, fitted_here=here)
        for tile, some in zip(own.mine, found, strict=True):
            outcomes = Outcomes.empty(
                len(some.index), None, sets=coverage is not None, second=wanted(self.request)
            )
            beside = own.load(tile).columns[:, -own.beside :].astype(np.int16)
            given = None if relabel else beside[:, -1]
            kept = None if overview.protected is None else beside[:, 0]
            outcomes.put(np.arange(len(some.index)), some.proba, some.flags, given, some.sets, kept)
            keep_answers(self.work, tile, some.index, outcomes)
        self.group.wait()
        self.clock.stop("classifying")
        where = tiles_of_files(self.work, len(tiles), self.files)
        totals = write_copies(
            self.work,
            self.files,
            where,
            lambda file: self.asked.copy(file, classes, overview.protected),
            len(classes),
            self.tell,
        )
        self.clock.stop("writing")
        return totals

    def look(self, overview: Overview, tiles: Tiles) -> Doubts | None:
        """Where the model is unsure, from the answers that are kept."""

        def parts() -> Iterator[Seen]:
            for tile in share_out(tiles.counts, self.group.size)[self.group.rank]:
                piece = tiles.load(tile)
                codes = piece.columns[:, -1] if isinstance(self.request, SegmentRequest) else None
                yield Seen.of(piece.index, piece.points, kept_answers(self.work, tile), codes)

        files = [(path.name, count) for path, count in zip(self.files.paths, self.files.counts, strict=True)]
        doubts = look(
            self.request, parts, overview.frame, overview.classes, self.files.format, files, group=self.group
        )
        if doubts is not None:
            self.clock.stop("questions")
        return doubts

    def result(self, model: PinvGCNClassifier, totals: Totals, overview: Overview, tiles: Tiles) -> Result:
        """The same on all ranks; the work folder is not needed any more."""
        doubts = self.look(overview, tiles)
        self.work.remove()
        sizes = None if self.request.sets is None else SetSizes(self.request.sets, totals.sizes)
        return Result(
            self.files,
            self.request.out,
            self.field,
            overview.classes,
            self.files.format in LAS,
            overview.counts,
            totals.counts,
            mean_confidence=totals.mean_confidence,
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
            protected=overview.protected,
            doubts=doubts,
        )
