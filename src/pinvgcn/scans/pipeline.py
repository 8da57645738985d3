"""segment and predict: scans in, copies with classes out, by one process or several that share the work.

::

    survey     what is labelled and where the cloud is            job.ScanJob.survey
    sort       the points of all files into tiles on disk         features.tiles
    fit        a model to a subsample (segment alone)             subsample.fitted_points
    stream     probabilities at all points, tile by tile          streaming.answers
    write      a copy of each file, from the tiles' answers       copies.ScanCopy

One file is a job with one part. Each process reads its own files, works on its own tiles, which see all that
surrounds them, and writes the copies of its own files. Every step leaves its result in the work folder, from
which the same command goes on after an interruption.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ScanFileError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.tiles import FILE, Tiles, for_rank, saved_tiles, share_out, shared_tiles
from pinvgcn.fitting.conformal import SetSizes
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.settings import MEMBERS
from pinvgcn.io.atomic import atomic_file, remove_leftovers
from pinvgcn.jobs import Progress, WorkFolder, silent, work_folder
from pinvgcn.scans.copies import ClassifiedPoints, Outcomes, Totals, explained
from pinvgcn.scans.job import SAVED, ScanJob
from pinvgcn.scans.questions import ConfidenceMap, Question, choose, questions, write_questions
from pinvgcn.scans.requests import PredictRequest, ScanRequest, SegmentRequest
from pinvgcn.scans.result import Clock, ScanResult
from pinvgcn.scans.streaming import PREDICTED, TileAnswers, answers
from pinvgcn.scans.subsample import FittedPoints, fitted_points
from pinvgcn.scans.survey import Survey

SURVEY, MODEL = "survey.json", "model"


def segment(request: SegmentRequest, progress: Progress = silent, *, group: Group = ALONE) -> ScanResult:
    """Fit a model to the labels of scans and classify all of their points."""
    return _run(request, progress, group)


def predict(request: PredictRequest, progress: Progress = silent, *, group: Group = ALONE) -> ScanResult:
    """Classify the points of scans with a saved model."""
    return _run(request, progress, group)


def _run(request: ScanRequest, progress: Progress, group: Group) -> ScanResult:
    clock = Clock()
    job = ScanJob.of(request, group)
    with work_folder(request.work_place, job.command, force=request.force, group=group) as work:
        job.check_outputs(work)
        return _Pipeline(job, work, clock, progress).result()


@dataclass(frozen=True)
class _Pipeline:
    """One job, on one process, while it has the work folder."""

    job: ScanJob
    work: WorkFolder
    clock: Clock
    progress: Progress

    def result(self) -> ScanResult:
        job, files, request = self.job, self.job.files, self.job.request
        seen, tiles = self._read()
        sample, unit = None, None
        if job.model is None:
            model, sample = self._fitted(seen, tiles)
        else:
            model = job.model
            nodes = model.fitted_.nodes
            assert isinstance(nodes, CloudNodes)
            unit = nodes.other_unit(tiles.load(0).points) if len(tiles) else None
        self._classify(model, sample, tiles, seen)
        self._write(tiles, seen)
        totals = self._totals(tiles, seen)
        asked, shown = self._questions(tiles, seen)
        self.work.remove()
        first = job.copy(0, seen)
        sizes = None if request.sets is None else SetSizes(request.sets, totals.sizes)
        return ScanResult(
            files,
            request.out,
            first.field,
            seen.classes,
            seen.counts,
            totals.counts,
            mean_confidence=totals.mean_confidence,
            noise=files.count - tiles.count,
            outside=totals.outside,
            alone=totals.alone,
            fields=seen.frame.fields(files.open(0)),
            left_out=seen.left_out,
            tiles=len(tiles),
            seconds=self.clock.seconds,
            model=model,
            sample=sample,
            sets=sizes,
            set_column=None if sizes is None else explained(seen.classes, first.format),
            unit=unit,
            protected=seen.protected,
            questions=asked,
            question_file=request.questions,
            confidence_map=shown,
        )

    def _read(self) -> tuple[Survey, Tiles]:
        """The tiles of all files, made now or before the job was interrupted."""
        job, work = self.job, self.work
        if work.has(FILE):
            work.begin(job.command)
            return Survey.from_dict(work.noted(SURVEY)), saved_tiles(work.folder, job.group)
        seen, beside = job.survey(self.progress)
        work.begin(job.command)
        self.clock.stop("reading")
        if job.group.rank == 0:
            work.note(SURVEY, seen.as_dict())
        width = (seen.protected is not None) + (job.model is None)
        tiles = shared_tiles(
            job.pieces(seen, beside, self.progress),
            work.folder,
            total=job.files.count,
            group=job.group,
            columns=len(seen.frame.columns) + width,
            beside=width,
            size=job.request.tile_points,
        )
        self.clock.stop("tiles")
        return seen, tiles

    def _fitted(self, seen: Survey, tiles: Tiles) -> tuple[PinvGCNClassifier, FittedPoints | None]:
        """The model, and the points that it was fitted to, if that was now. A report needs the fit itself."""
        job, work, request = self.job, self.work, self.job.request
        assert isinstance(request, SegmentRequest)
        sample = None
        if work.has(MODEL) and request.report is None:
            model = PinvGCNClassifier.load(work.path(MODEL))
        else:
            sample = fitted_points(tiles, job.drawn(seen), self.progress)
            self.clock.stop("local shapes")
            scans = None  # several: whole ones are held out to estimate the accuracy in others
            if len(job.files.paths) > 1:
                scans = np.searchsorted(job.files.starts, sample.index, side="right") - 1
            model = _fit(request, seen.classes, sample, scans, self.progress)
            about = {
                "kind": "scan",
                **seen.frame.about(),
                "source": job.files.path.name,
                "format": job.files.format,
                "points": job.files.count,
                "fitted": job.group.sum(len(sample.index)),
                "labels": seen.counts.tolist(),
                "field": job.field,
            }
            model.save(work.path(MODEL), about=about)
            job.group.wait()
            if not job.group.alone:  # one that answers without the other processes
                model = PinvGCNClassifier.load(work.path(MODEL))
            self.clock.stop("fitting")
        if request.save_model is not None and job.group.rank == 0:
            work.note(SAVED, str(request.save_model.resolve()))
            with atomic_file(request.save_model, error=ScanFileError) as path:
                shutil.copyfile(work.path(MODEL), path)
        return model, sample

    def _classify(
        self, model: PinvGCNClassifier, sample: FittedPoints | None, tiles: Tiles, seen: Survey
    ) -> None:
        """Keep the outcomes of each tile."""
        request, work = self.job.request, self.work
        answered = work.numbers("answer")
        todo = [tile for tile in range(len(tiles)) if tile not in answered]
        own = for_rank(tiles, todo, work.numbers("proba"))
        here = isinstance(request, SegmentRequest)
        if sample is not None and tiles.group.alone and len(sample.index) == tiles.count:
            found = _transduction(model, sample, own, request.sets)
        else:
            found = answers(model.fitted_, own, self.progress, coverage=request.sets, fitted_here=here)
        for tile, some in zip(own.mine, found if tiles.count else (), strict=True):
            beside = own.load(tile).columns.astype(np.int16)
            given = beside[:, -1] if isinstance(request, SegmentRequest) and not request.relabel else None
            kept = None if seen.protected is None else beside[:, -own.beside]
            outcomes = Outcomes.of(some, given=given, kept=kept, second=request.ranks_classes)
            outcomes.save(self._answer(tile), some.index)
        self.job.group.wait()
        self.clock.stop("classifying")

    def _write(self, tiles: Tiles, seen: Survey) -> None:
        """The copies of own files, but for those that were written before."""
        job, work, files = self.job, self.work, self.job.files
        where, before = self._tiles_of_files(tiles), 0
        for file in files.mine:
            name, copy = f"written-{file}", job.copy(file, seen)
            if not (work.has(name) and copy.writer.out.exists()):
                remove_leftovers(copy.writer.out)
                folder = work.path(f"part-copy-{file}")
                folder.mkdir()
                paths = [self._answer(tile) for tile in where[file]]
                outcomes = Outcomes.gathered(
                    paths, files.starts[file], files.counts[file], folder, sets=bool(copy.sets)
                )
                copy.write(outcomes, _after(before, files.own_count, self.progress))
                work.note(name)
                del outcomes
                shutil.rmtree(folder)
            before += files.counts[file]
        job.group.wait()
        self.clock.stop("writing")

    def _answer(self, tile: int) -> Path:
        return self.work.path(f"answer-{tile}")

    def _own_share(self, tiles: Tiles) -> list[int]:
        """Of all tiles, whoever has worked on them."""
        return share_out(tiles.counts, self.job.group.size)[self.job.group.rank]

    def _totals(self, tiles: Tiles, seen: Survey) -> Totals:
        parts = (Outcomes.load(self._answer(tile))[1] for tile in self._own_share(tiles))
        return Totals.of(parts, len(seen.classes), self.job.group)

    def _tiles_of_files(self, tiles: Tiles) -> dict[int, list[int]]:
        """The tiles in which points of each file are, the same on all processes."""
        files, group = self.job.files, self.job.group
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for tile in self._own_share(tiles):
            index = tiles.load(tile).index
            at = np.unique(np.searchsorted(files.starts, index, side="right") - 1)
            pairs.append(np.column_stack([at, np.full(len(at), tile)]))
        where: dict[int, list[int]] = {file: [] for file in range(len(files.paths))}
        for file, tile in group.rows(np.concatenate(pairs)).tolist():
            where[file].append(tile)
        return where

    def _questions(self, tiles: Tiles, seen: Survey) -> tuple[list[Question], ConfidenceMap | None]:
        """Where the model is unsure, from the outcomes that are kept: what to ask, and a map for a report."""
        job, request = self.job, self.job.request
        if not request.ranks_classes:
            return [], None

        def parts() -> Iterator[ClassifiedPoints]:
            for tile in self._own_share(tiles):
                piece = tiles.load(tile)
                codes = piece.columns[:, -1] if isinstance(request, SegmentRequest) else None
                _, outcomes = Outcomes.load(self._answer(tile))
                yield ClassifiedPoints.of(piece.index, piece.points, outcomes, codes)

        found = questions(choose(parts, group=job.group), seen.frame, job.files, seen.classes)
        if request.questions is not None:
            with together(job.group):
                if job.group.rank == 0:
                    write_questions(found, request.questions)
        shown = None if request.report is None else ConfidenceMap.of(parts, seen.frame)
        self.clock.stop("questions")
        return found, shown


def _fit(
    request: SegmentRequest,
    classes: list[Any],
    sample: FittedPoints,
    scans: np.ndarray | None,
    progress: Progress,
) -> PinvGCNClassifier:
    progress("Preparing", 0, 1)
    settings = {"random_state": request.random_state, **request.settings}
    if request.sets is not None and settings.get("members", "auto") == "auto":
        settings["members"] = MEMBERS  # "auto" is one network for scans without local shapes
    model = PinvGCNClassifier("gaussian", **settings)
    model.verbose = lambda done, total: progress("Fitting", done, total)
    words = any(isinstance(value, str) for value in classes)
    values = np.array([*map(str, classes), None], dtype=object) if words else np.array([*classes, -1])
    with stopped_by_interrupts():
        model.fit(
            sample.points,
            values[np.where(sample.codes >= 0, sample.codes, -1)],
            features=sample.columns,
            shapes=sample.local,
            groups=scans,
            process_group=sample.group,
        )
    return model.set_params(verbose=False)


def _transduction(
    model: PinvGCNClassifier, sample: FittedPoints, tiles: Tiles, coverage: float | None
) -> Iterator[TileAnswers]:
    """The answers of a model that one process has just fitted to all points: the fit has found them."""
    sets = None if coverage is None else model.transduction_set(coverage=coverage)
    for tile in tiles.mine:
        index = tiles.load(tile).index
        rows = np.searchsorted(sample.index, index)
        flags = np.full(len(rows), PREDICTED, dtype=np.uint8)
        proba = model.transduction_proba_[rows]
        yield TileAnswers(index, proba, flags, None if sets is None else sets[rows])


def _after(before: int, all_points: int, progress: Progress) -> Progress:

    def report(stage: str, done: int = 0, total: int = 0) -> None:
        progress(stage, before + done, all_points)

    return report
