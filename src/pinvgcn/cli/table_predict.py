"""The part of ``pinvgcn predict`` that is about tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pinvgcn.wording import counted, verb

if TYPE_CHECKING:
    from pinvgcn.jobs import Cost
    from pinvgcn.tables.files import TableFiles
    from pinvgcn.tables.predict import Predicted, PredictJob, TableModel

NEVER_SEEN = ("value that the model has never seen was", "values that the model has never seen were")
UNREAD = ("cell is no number or date, where one belongs", "cells are no number or date, where one belongs")


def predict_tables(
    model: TableModel, saved: Path, files: TableFiles, wanted: Any, *, as_json: bool, quiet: bool
) -> None:
    """The whole command, with a model that was ``saved`` by ``pinvgcn classify``."""
    from pinvgcn.cli.progress import shown
    from pinvgcn.cli.table_results import print_done
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
    """In the terminal."""
    from pinvgcn.cli.console import note, say

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
    """What would be done, and its cost."""
    from pinvgcn.cli.console import say

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
