"""ScanJob: one command over scans, and all that is refused before there is work to lose.

A dry run comes this far and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from pinvgcn.checks import check_count
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ModelFileError, ParameterError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.tiles import Piece
from pinvgcn.fitting.conformal import check_coverage
from pinvgcn.io.scan import format_of
from pinvgcn.jobs import Output, Progress, WorkFolder, check_outputs, fingerprint
from pinvgcn.jobs.work_folder import NAME
from pinvgcn.scans.copies import ScanCopy, default_field
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.labels import CLASSIFICATION, has_noise, noise_in
from pinvgcn.scans.protection import Protection, protect
from pinvgcn.scans.requests import PIECE, PredictRequest, ScanFiles, ScanRequest, SegmentRequest
from pinvgcn.scans.subsample import Subsample
from pinvgcn.scans.survey import Survey, survey

SAVED = "saved.json"  # where the model was saved
# may change between two starts of one job: tiles and answers do not depend on them
FREE_TO_CHANGE = ("scans", "out", "save_model", "report", "questions", "force")


@dataclass(frozen=True)
class ScanJob:
    """What is asked for, by the headers of the files; on one of the processes that share the job."""

    request: ScanRequest
    files: ScanFiles
    model: PinvGCNClassifier | None  # that predicts; None where one is fitted
    command: str  # the fingerprint

    @classmethod
    def of(cls, request: ScanRequest, group: Group) -> ScanJob:
        """Refuses settings that cannot be used."""
        check_count("tile_points", request.tile_points)
        if request.only is not None and request.keep is not None:
            raise ParameterError(
                "--only and --keep must not stand together: --only alone keeps the classes of all other "
                f"points. Got --only {','.join(request.only)} and --keep {','.join(request.keep)}; leave one "
                "out."
            )
        request.check_place()
        model = None
        if isinstance(request, SegmentRequest):
            check_count("fit_points", request.fit_points)
            if request.report is not None and not group.alone:
                raise ParameterError(
                    "--report shows all points, which no process has. Got it with several processes; start "
                    "the command without torchrun."
                )
        else:
            model = scan_model(request.model)
            if request.sets is not None:
                model.fitted_.thresholds(request.sets)
        files = ScanFiles.of(
            request.paths, metres=request.metres, out=request.folder, bounds=request.bounds, group=group
        )
        command = ""
        with together(group):
            if group.rank == 0:
                command = _fingerprint(request, files)
        return cls(request, files, model, group.values(command)[0])

    @property
    def group(self) -> Group:
        return self.files.group

    @property
    def field(self) -> str:
        return self.request.field or default_field(self.files.open(0))

    def check_outputs(self, work: WorkFolder) -> None:
        """Refuse, on all processes alike, files that are there already or that are read."""
        request, scans = self.request, self.files.paths
        with together(self.group):
            for at in self.files.mine:
                format_of(self.files.open(at), request.copy(scans[at]))
            if self.group.rank > 0:
                return
            outputs = [Output("-o", request.copy(scan), work.resumed) for scan in scans]
            if isinstance(request, SegmentRequest) and request.save_model is not None:
                own = work.resumed and work.noted(SAVED) == str(request.save_model.resolve())
                outputs.append(Output("--save-model", request.save_model, own))
            if request.report is not None:
                outputs.append(Output("--report", request.report))
            if request.questions is not None:
                outputs.append(Output("--questions", request.questions, work.resumed))
            inputs = [*request.paths, *scans, _beside(request)]
            check_outputs(outputs, inputs=inputs, force=request.force, folder=request.folder)

    def survey(self, progress: Progress, *, dry: bool = False) -> tuple[Survey, dict[int, np.ndarray]]:
        """What is known of the cloud; and for each own file what goes with its points, not for the model
        (n, w): the codes that are kept, if any are, and those of labels, if there are any."""
        request, first = self.request, self.files.open(0)
        rule = Protection.of(request, first, self.field)
        codes: dict[int, np.ndarray] = {}
        if isinstance(request, SegmentRequest):
            seen, codes = survey(self.files, request, progress)
            if request.sets is not None:
                self._check_sets(request, request.sets, seen, codes)
        else:
            seen = self._known(request)
        columns = {at: [codes[at]] if at in codes else [] for at in self.files.mine}
        if rule is not None:
            given = codes if isinstance(request, SegmentRequest) and not request.relabel else None
            kept, protected = protect(rule, self.files, given, seen.classes)
            seen = replace(seen, protected=protected)
            for at in self.files.mine:
                columns[at].insert(0, kept[at])
        with together(self.group):
            for at in self.files.mine:
                self.copy(at, seen, dry=dry)
        return seen, {at: np.column_stack(some) for at, some in columns.items() if some}

    def _known(self, request: PredictRequest) -> Survey:
        """By the model alone."""
        assert self.model is not None
        frame = Frame.of_model(self.model, request.model, self.files.metres)
        with together(self.group):
            for at in self.files.mine:
                frame.fields(self.files.open(at))
        classes = self.model.classes_.tolist()
        return Survey(frame, {}, classes, np.zeros(len(classes), dtype=np.int64), self.files.count)

    def _check_sets(
        self, request: SegmentRequest, coverage: float, seen: Survey, codes: dict[int, np.ndarray]
    ) -> None:
        """Raise what prediction sets would raise after the fit."""
        if request.settings.get("members") == 1:
            raise ParameterError(
                "Prediction sets need labels that some network has not seen: members must be 2 or more. "
                "Got members=1; leave it 'auto'."
            )
        drawn, counts = self.drawn(seen), np.zeros(len(seen.classes), dtype=np.int64)
        for at, own in codes.items():
            fitted = own[drawn(self.files.starts[at] + np.arange(len(own)), own)]
            counts += np.bincount(fitted[fitted >= 0], minlength=len(counts))
        check_coverage(coverage, self.group.sum(counts), seen.classes)

    def drawn(self, seen: Survey) -> Subsample:
        request = self.request
        assert isinstance(request, SegmentRequest)
        return Subsample.of(
            seen.counts, seen.unlabelled, request.fit_points, random_state=request.random_state
        )

    def pieces(self, seen: Survey, beside: dict[int, np.ndarray], progress: Progress) -> Iterator[Piece]:
        """The points of own files but noise, as the model sees them, with what goes ``beside`` them."""
        stage, done = "Reading" if self.model is not None else "Sorting", 0
        for at in self.files.mine:
            source = self.files.open(at)
            fields, noisy = seen.frame.fields(source), has_noise(source)
            for piece in source.chunks(PIECE, fields={*fields, *([CLASSIFICATION] if noisy else [])}):
                rows = np.flatnonzero(~noise_in(piece)) if noisy else np.arange(len(piece))
                columns = seen.frame.beside(piece, fields, source)
                if at in beside:
                    columns = np.hstack([columns, beside[at][piece.start : piece.start + len(piece)]])
                index = int(self.files.starts[at]) + piece.start + rows
                yield Piece(index, seen.frame.points(piece.points[rows]), columns[rows])
                done += len(piece)
                progress(stage, done, self.files.own_count)

    def copy(self, file: int, seen: Survey, *, dry: bool = False) -> ScanCopy:
        """The writer of a file's copy; raises what can be known to fail."""
        out = self.request.copy(self.files.paths[file])
        if dry and not out.parent.exists():  # a folder that will be made can be checked by the one above it
            above = next(path for path in out.parents if path.exists())
            out = above / f"{NAME}-{out.name}"
        sets = self.request.sets is not None
        return ScanCopy(
            self.files.open(file), out, self.request.field, seen.classes, sets=sets, kept=seen.protected
        )


def scan_model(path: Path) -> PinvGCNClassifier:
    """A saved model, which must be one of points in space."""
    model = PinvGCNClassifier.load(path)
    if model.graph_kind_ != "gaussian" or model.n_features_in_ != 3:
        raise ModelFileError(f"{path} must be a model of a scan. Got one of a table or a graph instead.")
    return model


def _beside(request: ScanRequest) -> Path:
    """What is read beside the scans: labels, which may be a field of the scans instead, or a model."""
    return Path(request.labels) if isinstance(request, SegmentRequest) else request.model


def _fingerprint(request: ScanRequest, files: ScanFiles) -> str:
    asked = {name: value for name, value in asdict(request).items() if name not in FREE_TO_CHANGE}
    asked |= {"command": type(request).__name__, "second": request.ranks_classes}
    others = [_beside(request)] if _beside(request).is_file() else []
    if others:  # by what it is, not by how it was named
        asked = {name: value for name, value in asked.items() if name not in ("labels", "model")}
    return fingerprint(asked, [*files.paths, *others])
