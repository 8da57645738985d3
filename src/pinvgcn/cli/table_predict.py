"""The part of ``pinvgcn predict`` that is about tables."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pinvgcn import PinvGCNClassifier


def predict_if_table(
    model: Path,
    table: Path,
    *,
    out: Path,
    probabilities: bool = False,
    force: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> bool:
    """Do the whole command if ``model`` is one that ``pinvgcn classify`` has saved; else say False."""
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.working import working
    from pinvgcn.io.unfinished import check_output

    with loading():
        from pinvgcn import PinvGCNClassifier
        from pinvgcn.experiments.tables import is_table_model, predict_table
        from pinvgcn.io import open_table
    fitted = PinvGCNClassifier.load(model)
    if not is_table_model(fitted):
        return False
    check_output(out, force=force)
    source = open_table(table)
    if dry_run:
        _say_plan(fitted, source, as_json=as_json, quiet=quiet)
        return True
    started = time.perf_counter()
    with working(show=not quiet) as tell:

        def progress(rows: int, share: float | None) -> None:
            speed = rows / max(time.perf_counter() - started, 1e-9)
            tell(f"{rows:,} rows, {speed:,.0f} a second", share=share)

        result = predict_table(
            fitted, source, out, force=force, probabilities=probabilities, progress=progress
        )
    if as_json:
        typer.echo(json.dumps({**result.as_dict(), "output": str(out)}, indent=1, allow_nan=False))
    elif not quiet:
        say_result(result, out)
    return True


def say_result(result: Any, out: Path) -> None:
    """In the terminal."""
    from pinvgcn.cli.console import err
    from pinvgcn.cli.console import out as stdout

    def line(text: str) -> None:
        stdout().print(text, markup=False, soft_wrap=True)

    counts = ", ".join(f"{name} {count:,}" for name, count in zip(result.classes, result.counts, strict=True))
    line(f"{result.rows:,} rows in {result.seconds['all']:.1f} s: {counts}")
    if result.checked:
        share = 100 * result.right / result.checked
        line(f"Of {result.checked:,} rows whose class is filled in, {share:.1f} % are predicted as such")
    line(f"Table: {out}")
    notes = list(result.notes)
    if result.without:
        notes.append(f"{result.without:,} rows have no value that the model knows: no prediction for them")
    for what, columns in (
        ("values that the model has never seen were ignored", result.unseen),
        ("cells are no number or date, where one belongs", result.unread),
    ):
        if columns:
            shown = ", ".join(f"{name} ({count:,})" for name, count in list(columns.items())[:10])
            notes.append(f"{sum(columns.values()):,} {what}: {shown}")
    for note in notes:
        err().print(f"note: {note}", markup=False, soft_wrap=True)


def _say_plan(model: PinvGCNClassifier, source: Any, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and its cost."""
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.experiments.tables.cost import cost_of_prediction

    assert model.about_ is not None
    recipe, target = model.about_["recipe"], model.about_["target"]
    needed = [plan["name"] for plan in recipe["plans"] if plan["kind"] != "left out"]
    for name in needed:
        source.column(name)
    cost = cost_of_prediction(source, len(needed))
    rows = "rows" if source.count is None else f"{source.count:,} rows"
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
            f"{len(target['classes'])} classes of {target['name']!r} from {len(needed)} columns. "
            f"It would take {cost} (roughly, on one core). Nothing was written.",
            markup=False,
            soft_wrap=True,
        )
