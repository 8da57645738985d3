"""segment and predict: a scan in, a copy with classes out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.checks import check_count, check_positive
from pinvgcn.compute.parallel import ranges
from pinvgcn.errors import LabelError, ModelFileError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.features.tiles import Piece, Tiles
from pinvgcn.fitting.prediction_sets import SetSizes
from pinvgcn.io import ScanSource, open_scan
from pinvgcn.io.scan_writer import format_of
from pinvgcn.jobs import Progress, silent
from pinvgcn.scans.doubts import Doubts, look, wanted
from pinvgcn.scans.everywhere import answers
from pinvgcn.scans.fitting import Sample, fitted
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.labels import CLASSIFICATION, LAS, UNKNOWN, has_noise, noise_in
from pinvgcn.scans.output import Copy, Outcomes, default_field
from pinvgcn.scans.outputs import check_scan_outputs
from pinvgcn.scans.protection import Protection, protect
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.result import Clock, Result
from pinvgcn.scans.seen import Parts, Seen
from pinvgcn.scans.sets import check_labels, explained
from pinvgcn.scans.survey import PIECE, Survey, survey
from pinvgcn.scans.thinning import Drawn
from pinvgcn.scans.totals import Totals
from pinvgcn.scans.within import Within


def segment(request: SegmentRequest, tell: Progress = silent) -> Result:
    """Fit a model to the labels of a scan and classify all of its points."""
    clock = Clock()
    source, metres, seen, copy, kept = start_segment(request, tell)
    sets = request.sets is not None
    clock.stop("reading")
    given = None if request.relabel else seen.codes
    whole = source.count - seen.omitted <= request.fit_points
    with _workspace(request.out, needed=not whole) as folder:
        outcomes = Outcomes.empty(source.count, folder, sets=sets, second=wanted(request))
        if whole:
            sample = _everything(source, seen)
            parts = _parts(lambda: [sample], outcomes, seen.codes)
            model = fitted(request, seen.classes, sample, tell)
            clock.stop("fitting")
            flags = np.zeros(len(sample.index), dtype=np.uint8)
            found = None if request.sets is None else model.transduction_set(coverage=request.sets)
            outcomes.put(
                sample.index,
                model.transduction_proba_,
                flags,
                _at(given, sample.index),
                found,
                _at(kept, sample.index),
            )
            tiles = 1
        else:
            assert folder is not None
            pieces = _pieces(source, seen.frame, seen.fields)
            cloud = Tiles.of(pieces, folder, columns=len(seen.fields), size=request.tile_points)
            parts = _parts(lambda: map(cloud.load, range(len(cloud))), outcomes, seen.codes)
            clock.stop("tiles")
            sample = _part(cloud, seen, request, tell)
            clock.stop("local shapes")
            model = fitted(request, seen.classes, sample, tell)
            clock.stop("fitting")
            for some in answers(model, cloud, tell, coverage=request.sets, fitted_here=True):
                own, stay = _at(given, some.index), _at(kept, some.index)
                outcomes.put(some.index, some.proba, some.flags, own, some.sets, stay)
            clock.stop("classifying")
            tiles = len(cloud)
        copy.write(outcomes, tell)
        clock.stop("writing")
        doubts = _looked(request, source, parts, seen.frame, seen.classes, clock)
        if request.save_model is not None:
            model.save(request.save_model, about=_about(source, seen, sample, copy.field))
        return _result(
            source, copy, seen.classes, seen.counts, outcomes, clock, model,
            noise=seen.omitted, metres=metres, fields=seen.fields, left_out=seen.left_out,
            fitted=len(sample.index), tiles=tiles, sample=sample, coverage=request.sets,
            doubts=doubts,
        )  # fmt: skip


def predict(request: PredictRequest, tell: Progress = silent) -> Result:
    """Classify the points of a scan with a saved model."""
    clock = Clock()
    model, source, metres, frame, copy, kept = start_predict(request)
    classes, fields, sets = copy.classes, frame.fields(source), request.sets is not None
    with _workspace(request.out, needed=True) as folder:
        assert folder is not None
        outcomes = Outcomes.empty(source.count, folder, sets=sets, second=wanted(request))
        pieces = _pieces(source, frame, fields, tell)
        cloud = Tiles.of(pieces, folder, columns=len(fields), size=request.tile_points)
        clock.stop("reading")
        for some in answers(model, cloud, tell, coverage=request.sets) if cloud.count else ():
            outcomes.put(some.index, some.proba, some.flags, sets=some.sets, kept=_at(kept, some.index))
        clock.stop("classifying")
        copy.write(outcomes, tell)
        clock.stop("writing")
        parts = _parts(lambda: map(cloud.load, range(len(cloud))), outcomes, None)
        doubts = _looked(request, source, parts, frame, classes, clock)
        return _result(
            source, copy, classes, np.zeros(len(classes), dtype=int), outcomes, clock, model,
            noise=source.count - cloud.count, metres=metres, fields=fields, left_out={},
            fitted=model.spectrum_.n_nodes, tiles=len(cloud), sample=None, coverage=request.sets,
            unit=model.fitted_.nodes.other_unit(cloud.load(0).points) if len(cloud) else None,
            doubts=doubts,
        )  # fmt: skip


def start_segment(
    request: SegmentRequest, tell: Progress = silent
) -> tuple[ScanSource, float, Survey, Copy, np.ndarray | None]:
    """All that comes before the work: the scan is read, and what cannot be done is refused. The last array
    has the codes of the classes that points keep (n,), where some are protected."""
    check_count("fit_points", request.fit_points)
    check_count("tile_points", request.tile_points)
    source = open_scan(request.scan)
    check_scan_outputs(request, [request.scan], [request.out])
    metres = metres_of(source, request.metres)
    format_of(source, request.out)  # before the file is read
    rule = _protection(request, source)
    seen = survey(
        source,
        request.labels,
        unlabelled=request.unlabelled,
        features=request.features,
        metres=metres,
        tell=tell,
    )
    if -1 in seen.classes:
        raise LabelError("-1 means unlabelled and cannot be a class. Give that class another number.")
    sets = request.sets is not None
    kept, protected = None, None
    if rule is not None:
        given = None if request.relabel else {0: seen.codes}
        found, protected = protect(rule, {0: source}, given, seen.classes, of=str(source.path))
        kept = found[0]
    copy = Copy(
        source, request.out, request.field, seen.classes, force=request.force, sets=sets, kept=protected
    )
    if request.sets is not None:
        fitted = seen.codes[_drawn(seen, request)]
        counts = np.bincount(fitted[fitted >= 0], minlength=len(seen.classes))
        check_labels(request.sets, counts, seen.classes, settings=request.settings)
    return source, metres, seen, copy, kept


def start_predict(
    request: PredictRequest,
) -> tuple[Any, ScanSource, float, Frame, Copy, np.ndarray | None]:
    """The same for ``predict``: the model is loaded and the scan's header read; its classes too, where some
    are protected."""
    check_count("tile_points", request.tile_points)
    model = load_scan_model(request.model)
    source = open_scan(request.scan)
    check_scan_outputs(request, [request.scan], [request.out])
    metres = metres_of(source, request.metres)
    frame = frame_of(model, request.model, metres)
    frame.fields(source)
    sets, classes, rule = request.sets is not None, model.classes_.tolist(), _protection(request, source)
    if request.sets is not None:
        model.fitted_.thresholds(request.sets)
    kept, protected = None, None
    if rule is not None:
        found, protected = protect(rule, {0: source}, None, classes, of=str(source.path))
        kept = found[0]
    copy = Copy(source, request.out, request.field, classes, force=request.force, sets=sets, kept=protected)
    return model, source, metres, frame, copy, kept


def _protection(request: SegmentRequest | PredictRequest, source: ScanSource) -> Protection | None:
    return Protection.of(request, source, request.field or default_field(source))


@contextmanager
def _workspace(out: Path, *, needed: bool) -> Iterator[Path | None]:
    """A folder beside the output for what does not fit into memory, gone at the end whatever happens."""
    if not needed:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", suffix=".tiles", dir=out.parent) as folder:
        yield Path(folder)


def metres_of(source: ScanSource, given: float | None) -> float:
    if given is not None:
        return check_positive("metres", given)
    return 1.0 if source.metres is None else source.metres


def _pieces(source: ScanSource, frame: Frame, fields: list[str], tell: Progress = silent) -> Iterator[Piece]:
    """All points but noise, as the model sees them."""
    noisy = has_noise(source)
    for piece in source.chunks(PIECE, fields={*fields, *([CLASSIFICATION] if noisy else [])}):
        points, columns = piece.points, frame.beside(piece, fields, source)
        rows = np.flatnonzero(~noise_in(piece)) if noisy else np.arange(len(piece))
        if len(rows) < len(piece):
            points, columns = points.take(rows, axis=0), columns.take(rows, axis=0)
        yield Piece(piece.start + rows, frame.points(points), columns)
        tell("Reading", piece.start + len(piece), source.count)


def _everything(source: ScanSource, seen: Survey) -> Sample:
    pieces = list(_pieces(source, seen.frame, seen.fields))
    index = np.concatenate([piece.index for piece in pieces])
    columns = np.concatenate([piece.columns for piece in pieces]) if seen.fields else None
    points = np.concatenate([piece.points for piece in pieces])
    return Sample(index, points, columns, None, seen.codes[index])


def _drawn(seen: Survey, request: SegmentRequest) -> np.ndarray:
    """The points that the model is fitted to, whether one process or several fit it: a mask (n,)."""
    unlabelled = int((seen.codes == UNKNOWN).sum())
    drawn = Drawn.of(seen.counts, unlabelled, request.fit_points, random_state=request.random_state)
    return np.concatenate(
        [drawn(np.arange(rows.start, rows.stop), seen.codes[rows]) for rows in ranges(len(seen.codes), PIECE)]
    )


def _part(cloud: Tiles, seen: Survey, request: SegmentRequest, tell: Progress) -> Sample:
    """The points that a large scan is fitted to, with their local shapes in the whole of it."""
    wanted = _drawn(seen, request)
    lattice = Lattice(cloud.cell_size() / 2)
    index, points, columns, local = [], [], [], []
    progress = Within(tell, "Local shapes", int(wanted.sum()))
    for tile in range(len(cloud)):
        piece = cloud.load(tile)
        rows = np.flatnonzero(wanted[piece.index])
        progress.begin(len(rows))
        if len(rows):
            around = cloud.pyramid(tile, lattice)
            local.append(around.shapes(piece.points[rows], heard=progress.part()))
            index.append(piece.index[rows])
            points.append(piece.points[rows])
            columns.append(piece.columns[rows])
        progress.end()
    numbers = np.concatenate(index)
    order = np.argsort(numbers)
    return Sample(
        numbers[order],
        np.concatenate(points)[order],
        np.concatenate(columns)[order] if seen.fields else None,
        LocalShapes(np.concatenate(local)[order], lattice),
        seen.codes[numbers[order]],
    )


def _parts(
    pieces: Callable[[], Iterable[Piece | Sample]], outcomes: Outcomes, codes: np.ndarray | None
) -> Parts:
    """Points beside what was said of them; ``codes`` are the labels of all points, where there are any."""

    def seen(piece: Piece | Sample) -> Seen:
        return Seen.of(piece.index, piece.points, outcomes.at(piece.index), _at(codes, piece.index))

    return lambda: map(seen, pieces())


def _looked(
    request: SegmentRequest | PredictRequest,
    source: ScanSource,
    parts: Parts,
    frame: Frame,
    classes: list[Any],
    clock: Clock,
) -> Doubts | None:
    files = [(source.path.name, source.count)]
    doubts = look(request, parts, frame, classes, source.format, files)
    if doubts is not None:
        clock.stop("questions")
    return doubts


def _at(given: np.ndarray | None, index: np.ndarray) -> np.ndarray | None:
    return None if given is None else given[index]


def _about(source: ScanSource, seen: Survey, sample: Sample, field: str) -> dict[str, Any]:
    return {
        "kind": "scan",
        **seen.frame.about(),
        "source": source.path.name,
        "format": source.format,
        "points": source.count,
        "fitted": len(sample.index),
        "labels": seen.counts.tolist(),
        "field": field,
    }


def load_scan_model(path: Path) -> Any:
    """A saved model, which must be one of points in space."""
    model = PinvGCNClassifier.load(path)
    if model.graph_kind_ != "gaussian" or model.n_features_in_ != 3:
        raise ModelFileError(f"{path} must be a model of a scan. Got one of a table or a graph instead.")
    return model


def frame_of(model: PinvGCNClassifier, path: Path, metres: float) -> Frame:
    """Where a model was fitted, by what its file tells about it."""
    about = model.about_ or {}
    if about.get("kind") == "scan":
        x, y, z = about["origin"]
        return Frame(metres, (x, y, z), tuple(about["columns"]))
    if model.fitted_.scaling.n_extra:
        raise ModelFileError(
            f"{path} does not say which columns its {model.fitted_.scaling.n_extra} features are. "
            "Save it with `pinvgcn segment --save-model`, or predict in Python."
        )
    return Frame(1.0, (0.0, 0.0, 0.0), ())  # fitted in Python, to coordinates as they were


def _result(
    source: ScanSource,
    copy: Copy,
    classes: list[Any],
    given: np.ndarray,
    outcomes: Outcomes,
    clock: Clock,
    model: PinvGCNClassifier,
    *,
    coverage: float | None,
    **others: Any,
) -> Result:
    totals = Totals.of(outcomes, len(classes))
    sizes = None if coverage is None else SetSizes(coverage, totals.sizes)
    return Result(
        source, copy.writer.out, copy.field, classes, source.format in LAS, given, totals.counts,
        mean_confidence=totals.mean_confidence, outside=totals.outside, alone=totals.alone,
        seconds=clock.seconds, model=model, sets=sizes, protected=copy.kept,
        set_column=None if sizes is None else explained(classes, copy.format), **others,
    )  # fmt: skip
