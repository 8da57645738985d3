"""The part of ``pinvgcn predict`` that is about tables."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pinvgcn.wording import counted, verb

if TYPE_CHECKING:
    from pinvgcn import PinvGCNClassifier


@dataclass(frozen=True)
class TableRequest:
    """What is asked for beside the table itself."""

    model: Path
    out: Path
    probabilities: bool
    sets: float | None
    force: bool
    dry_run: bool
    as_json: bool
    quiet: bool


def predict_table_file(fitted: PinvGCNClassifier, table: Path, asked: TableRequest) -> None:
    """The whole command, for a model that ``pinvgcn classify`` has saved."""
    from pinvgcn.cli.working import working
    from pinvgcn.io import open_table
    from pinvgcn.tables import predict_table
    from pinvgcn.tables.predict import check_prediction

    source, out = open_table(table), asked.out
    wanted: dict[str, Any] = {"probabilities": asked.probabilities, "sets": asked.sets, "force": asked.force}
    check_prediction(fitted, source, out, **wanted)
    if asked.dry_run:
        _say_plan(fitted, source, as_json=asked.as_json, quiet=asked.quiet)
        return
    started = time.perf_counter()
    with working(show=not asked.quiet) as tell:

        def progress(rows: int, share: float | None) -> None:
            speed = rows / max(time.perf_counter() - started, 1e-9)
            tell(f"{rows:,} rows, {speed:,.0f} a second", share=share)

        result = predict_table(fitted, source, out, progress=progress, **wanted)
    if asked.as_json:
        typer.echo(json.dumps({**result.as_dict(), "output": str(out)}, indent=1, allow_nan=False))
    elif not asked.quiet:
        say_result(result, out)


def say_result(result: Any, out: Path) -> None:
    """In the terminal."""
    from pinvgcn.cli.console import err
    from pinvgcn.cli.console import out as stdout

    def line(text: str) -> None:
        stdout().print(text, markup=False, soft_wrap=True)

    counts = ", ".join(f"{name} {count:,}" for name, count in zip(result.classes, result.counts, strict=True))
    line(f"{counted(result.rows, 'row')} in {result.seconds['all']:.1f} s: {counts}")
    if result.checked:
        share = 100 * result.right / result.checked
        checked = counted(result.checked, "row")
        line(f"Of {checked} whose class is filled in, {share:.1f} % are predicted as such")
    if result.sets is not None:
        line(result.sets.line())
    line(f"Table: {out}")
    notes = list(result.notes)
    if result.without:
        have, them = verb(result.without, "has", "have"), verb(result.without, "it", "them")
        notes.append(
            f"{counted(result.without, 'row')} {have} no value that the model knows: no prediction for {them}"
        )
    for columns, one, many in (
        (
            result.unseen,
            "value that the model has never seen was ignored",
            "values that the model has never seen were ignored",
        ),
        (
            result.unread,
            "cell is no number or date, where one belongs",
            "cells are no number or date, where one belongs",
        ),
    ):
        if columns:
            total = sum(columns.values())
            shown = ", ".join(f"{name} ({count:,})" for name, count in list(columns.items())[:10])
            notes.append(f"{total:,} {verb(total, one, many)}: {shown}")
    for note in notes:
        err().print(f"note: {note}", markup=False, soft_wrap=True)


def _say_plan(model: PinvGCNClassifier, source: Any, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and its cost."""
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.tables.cost import cost_of_prediction

    assert model.about_ is not None
    recipe, target = model.about_["recipe"], model.about_["target"]
    needed = [plan["name"] for plan in recipe["plans"] if plan["kind"] != "left out"]
    cost = cost_of_prediction(source, len(needed))
    rows = "rows" if source.count is None else counted(source.count, "row")
    if as_json:
        plan = {
            "dry_run": True,
            "rows": source.count,
            "target": target["name"],
            "classes": target["classes"],
            "columns": needed,
            "estimated_bytes": int(cost.memory),
            "estimated_seconds": round(cost.seconds, 1),
        }
        typer.echo(json.dumps(plan, indent=1))
    elif not quiet:
        stdout().print(
            f"{source.path}: the {rows} of this {source.format} file would get one of "
            f"{len(target['classes'])} classes of {target['name']!r} from {counted(len(needed), 'column')}. "
            f"It would take {cost} (a guess: it depends on the machine). Nothing was written.",
            markup=False,
            soft_wrap=True,
        )
