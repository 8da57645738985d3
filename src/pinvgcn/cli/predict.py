"""``pinvgcn predict``: a saved model classifies a file that it has never seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinvgcn.cli import options
from pinvgcn.cli.classify import print_done
from pinvgcn.cli.console import loading, note, say
from pinvgcn.cli.failure import job
from pinvgcn.cli.segment import KEPT, run_scans
from pinvgcn.errors import ModelFileError, ParameterError, ScanFileError, TableFileError
from pinvgcn.wording import counted, verb

if TYPE_CHECKING:
    from pinvgcn import PinvGCNClassifier
    from pinvgcn.jobs import Cost
    from pinvgcn.tables.files import TableFiles
    from pinvgcn.tables.predict import Predicted, PredictJob, TableModel

NEVER_SEEN = ("value that the model has never seen was", "values that the model has never seen were")
UNREAD = ("cell is no number or date, where one belongs", "cells are no number or date, where one belongs")
ORDER = {"predict": "MODEL INPUT", "explain": "MODEL TABLE"}  # of the arguments of commands

EXAMPLES = """
pinvgcn predict street.model next-street.laz -o classified.laz
pinvgcn predict street.model half-classified.laz --only 0,1 -o classified.laz
pinvgcn predict customers.model new-customers.csv -o classified.csv --sets 0.9
"""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that --save-model has written.")],
    file: Annotated[
        list[Path],
        typer.Argument(metavar="INPUT", help="Scans, which are one cloud, or tables, parts of one."),
    ],
    out: options.Copy,
    sets: options.Sets = None,
    probabilities: Annotated[
        bool, options.option("--probabilities", help="Tables: a column with the probability of each class.")
    ] = False,
    questions: options.Places = None,
    only: options.Only = None,
    keep: options.Keep = None,
    field: options.Field = None,
    bounds: options.Box = None,
    metres: options.Metres = None,
    tile_points: options.TilePoints = None,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a file with a model that was saved.

    A scan for a model of `pinvgcn segment`, a table for one of `pinvgcn classify`,
    also larger than memory. A scan's copy has `confidence` and `outside` as that
    of `segment`; one that overlaps the model's must be in its coordinate system.
    """
    with loading():
        from pinvgcn.features.tiles import SIZE
        from pinvgcn.io.tables import ENDINGS
        from pinvgcn.jobs import input_files
        from pinvgcn.scans import PredictRequest
        from pinvgcn.tables import TableFiles, TableModel
    with job(kept="" if dry_run else KEPT) as group:
        fitted = check_pair(model, input_files(file, endings=ENDINGS)[0])
        for_scans = {
            "--field": field, "--metres": metres, "--tile-points": tile_points, "--bounds": bounds,
            "--only": only, "--keep": keep, "--questions": questions,
        }  # fmt: skip
        for_tables = {"--probabilities": probabilities or None}
        what, others = ("scan", for_tables) if fitted is None else ("table", for_scans)
        for option in (name for name, value in others.items() if value is not None):
            raise ParameterError(f"{option} is not for a {what}, which this model classifies. Leave it out.")
        if fitted is not None:
            files = TableFiles(tuple(file), out, force=force, dry_run=dry_run, group=group)
            wanted = {"probabilities": probabilities, "sets": sets}
            predict_tables(TableModel.of(fitted), model, files, wanted, as_json=as_json, quiet=quiet)
            return
        request = PredictRequest(
            model=model,
            scans=tuple(file),
            out=out,
            field=field,
            metres=metres,
            tile_points=SIZE if tile_points is None else tile_points,
            force=force,
            sets=sets,
            only=options.words(only),
            keep=options.words(keep),
            questions=questions,
            bounds=options.box(bounds),
        )
        run_scans(request, group, dry_run=dry_run, as_json=as_json, quiet=quiet)


def check_pair(model: Path, file: Path, command: str = "predict") -> PinvGCNClassifier | None:
    """The model, if it is one of a table; None if it is one of a scan. What does not fit is one line, which
    names the ``command`` that was asked for."""
    from pinvgcn import PinvGCNClassifier
    from pinvgcn.io import open_scan, open_table
    from pinvgcn.tables import is_table_model

    try:
        fitted = PinvGCNClassifier.load(model)
    except ModelFileError as error:
        if model.is_file() and not is_safetensors(model):
            raise ModelFileError(_no_model(model, file, command)) from error
        raise
    if file.is_file() and is_safetensors(file):
        raise ParameterError(
            f"The file to classify must be a scan or a table. Got {file}, which looks like a saved model; "
            f"the order is: pinvgcn {command} {ORDER[command]}."
        )
    table = is_table_model(fitted)
    if not table and fitted.graph_kind_ != "gaussian":
        raise ModelFileError(
            f"{model} must be a model that `pinvgcn segment` or `pinvgcn classify` has saved. Got one of "
            f"{'a table' if fitted.graph_kind_ == 'categorical' else 'a graph'} from Python instead; "
            f"{command} in Python."
        )
    kind, other, maker = ("table", "scan", "segment") if table else ("scan", "table", "classify")
    openers: list[Callable[[Path], Any]] = [open_table, open_scan] if table else [open_scan, open_table]
    try:
        openers[0](file)
    except (TableFileError, ScanFileError) as error:
        with suppress(TableFileError, ScanFileError):
            openers[1](file)
            raise ParameterError(
                f"{model} is a model of a {kind} and {file} is a {other}. Use a model that `pinvgcn {maker} "
                f"--save-model` has written ({' '.join(str(error).split())})"
            ) from None
        raise
    return fitted if table else None


def is_safetensors(path: Path) -> bool:
    """By its first bytes: the length of a header, and a brace."""
    with path.open("rb") as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 100_000_000


def _no_model(model: Path, file: Path, command: str) -> str:
    if file.is_file() and is_safetensors(file):
        return (
            f"The model must come first. Got {model}, which is no model, and then {file}, which looks like "
            f"one; try: pinvgcn {command} {file} {model}"
        )
    return (
        f"The first argument must be a model that --save-model has written. Got {model}, which is none; the "
        f"order is: pinvgcn {command} {ORDER[command]}."
    )


def predict_tables(
    model: TableModel, saved: Path, files: TableFiles, wanted: Any, *, as_json: bool, quiet: bool
) -> None:
    """The whole command, with a model that was ``saved`` by ``pinvgcn classify``."""
    from pinvgcn.cli.progress import shown
    from pinvgcn.tables.predict import predict_job

    first = files.group.rank == 0
    with predict_job(model, saved, files, **wanted) as job:
        if files.dry_run:
            cost, rows = job.cost(), job.rows()
            if first:
                _say_plan(job, cost, rows, files, as_json=as_json, quiet=quiet)
            return
        if job.copies.complete:
            if first:
                print_done(job.copies, files.out, as_json=as_json, quiet=quiet)
            return
        with shown(quiet=quiet or not first, unit="rows") as progress:
            result = job.run(progress)
    if not first:
        return
    if as_json:
        parts = {**job.copies.as_dict(), "ranks": files.group.size, "output": str(files.out)}
        typer.echo(json.dumps(result.as_dict() | parts, indent=1, allow_nan=False))
    elif not quiet:
        _say_result(result, files.out, job)


def _say_result(result: Predicted, out: Path | None, job: PredictJob) -> None:
    counts = ", ".join(f"{name} {count:,}" for name, count in zip(result.classes, result.counts, strict=True))
    lines = [f"{counted(result.rows, 'row')} in {result.seconds['all']:.1f} s: {counts}"]
    if result.checked:
        share, rows = 100 * result.right / result.checked, counted(result.checked, "row")
        lines.append(f"Of {rows} whose class is filled in, {share:.1f} % are predicted as such")
    if result.sets is not None:
        lines.append(result.sets.line())
    lines.append(f"Table: {out}")
    if job.copies.done:
        done, parts = len(job.copies.done), len(job.copies.files)
        lines.append(f"{done} of {parts} parts were done before, and are not counted.")
    notes = list(result.notes)
    if result.without:
        have, them = verb(result.without, "has", "have"), verb(result.without, "it", "them")
        notes.append(
            f"{counted(result.without, 'row')} {have} no value that the model knows: no prediction for {them}"
        )
    for columns, (one, many), more in ((result.unseen, NEVER_SEEN, " ignored"), (result.unread, UNREAD, "")):
        if columns:
            total = sum(columns.values())
            listed = ", ".join(f"{name} ({count:,})" for name, count in list(columns.items())[:10])
            notes.append(f"{total:,} {verb(total, one, many)}{more}: {listed}")
    say(*lines)
    note(*notes)


def _say_plan(
    job: PredictJob, cost: Cost, rows: int | None, files: TableFiles, *, as_json: bool, quiet: bool
) -> None:
    target, columns = job.model.target, [plan.name for plan in job.model.recipe.used]
    if as_json:
        plan = {
            "dry_run": True,
            "rows": rows,
            **job.copies.as_dict(),
            "ranks": files.group.size,
            "target": target.name,
            "classes": list(target.classes),
            "columns": columns,
            "estimated_bytes": int(cost.memory),
            "estimated_seconds": round(cost.seconds, 1),
        }
        typer.echo(json.dumps(plan, indent=1))
    elif not quiet:
        left, count = len(job.copies.left), len(job.copies.files)
        what = f"{left} of {count} parts" if files.several else str(files.tables[0])
        line = f"All {count} parts are done, in {files.out}."
        if left:
            line = (
                f"{what}: each row would get one of {len(target.classes)} classes of {target.name!r} from "
                f"{counted(len(columns), 'column')}. It would take {cost} (a guess: it depends on the "
                "machine)."
            )
        say(f"{line} Nothing was written.")
