"""The results of ``pinvgcn classify``, in the terminal or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from pinvgcn.cli.console import note, out, say
from pinvgcn.cli.console import table as new_table
from pinvgcn.wording import counted, decimal, verb, words

if TYPE_CHECKING:
    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.tables import Classified, TablePlan
    from pinvgcn.tables.files import Copies

CLASSES = 20  # rows of the table of classes
COLUMNS = 5  # rows of the table of what columns are worth


def print_plan(plan: TablePlan, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and its cost."""
    from pinvgcn.report.held_out_tables import folds_of
    from pinvgcn.tables.cost import cost_of

    cost = cost_of(plan, folds_of(plan.labelled)[1])
    if as_json:
        told = {
            "dry_run": True,
            "rows": plan.rows,
            "labelled": plan.labelled,
            "unlabelled": plan.rows - plan.labelled,
            "target": plan.target.name,
            "classes": list(plan.target.classes),
            "labelled_per_class": plan.class_counts.tolist(),
            "columns": [{"name": c.name, "kind": c.kind, "becomes": c.becomes} for c in plan.recipe.plans],
            "estimated_bytes": int(cost.memory),
            "estimated_seconds": round(cost.seconds, 1),
            "notes": plan.notes(),
        }
        typer.echo(json.dumps(told, indent=1))
    elif not quiet:
        _show_plan(out(), plan)
        line = f"It would take {cost} (a guess: it depends on the machine). Nothing was written."
        say(line)
        note(*plan.notes())


def print_result(
    result: Classified,
    heldout: HeldOut | None,
    written: Mapping[str, Path | None],
    more: Mapping[str, int],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """What was found, and the files that were ``written``, by their names in JSON; ``more`` is for JSON."""
    from pinvgcn.report.held_out_tables import estimate_notes

    notes = [*result.notes, *estimate_notes(result, heldout)]
    files = {name: str(path) for name, path in written.items() if path is not None}
    if as_json:
        estimate = None if heldout is None else heldout.as_dict()
        told = {**result.as_dict(), "held_out": estimate, "notes": notes, **more, **files}
        typer.echo(json.dumps(told, indent=1, allow_nan=False))
    elif not quiet:
        _show_result(out(), result, heldout)
        for name, path in files.items():
            title = "Table" if name == "output" else name.capitalize()
            say(f"{title}: {path}")
        note(*notes)


def print_done(copies: Copies, folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    """That there is nothing left to do."""
    if as_json:
        typer.echo(json.dumps({**copies.as_dict(), "output": str(folder)}, indent=1))
    elif not quiet:
        say(f"All {len(copies.files)} parts are done, in {folder}; --force starts over.")


def _show_plan(console: Console, plan: TablePlan) -> None:
    """Rows, columns and classes, as they were read."""
    source = plan.source
    kind = source.format.upper() if source.format != "parquet" else "Parquet"
    say(
        f"{source.path}: {counted(plan.rows, 'row')} ({kind}), {plan.labelled:,} with a class in "
        f"{plan.target.name!r}, {plan.rows - plan.labelled:,} to predict"
    )
    table = new_table("Columns")
    for name in ("column", "kind", "becomes"):
        table.add_column(name, overflow="fold")
    table.add_column("missing", justify="right")
    for column in plan.recipe.plans:
        style = "dim" if column.kind == "left out" else ""
        missing = f"{column.missing:,}" if column.missing else ""
        table.add_row(Text(column.name), column.kind, Text(column.becomes), missing, style=style)
    console.print(table)
    counts = ", ".join(
        f"{name} {count:,}" for name, count in zip(plan.target.classes, plan.class_counts, strict=True)
    )
    say(f"Labelled rows of each class: {counts}")


def _show_result(console: Console, result: Classified, heldout: HeldOut | None) -> None:
    """What was predicted, and how well labels that were held out were found."""
    plan = result.plan
    names = plan.target.classes
    say(
        f"{counted(plan.rows, 'row')}, {plan.labelled:,} with a class in {plan.target.name!r}, "
        f"{plan.rows - plan.labelled:,} without; {len(plan.recipe.used)} of {len(plan.recipe.plans)} "
        "columns used"
    )
    left = [
        f"{c.name} ({c.reason})"
        for c in plan.recipe.plans
        if c.kind == "left out" and c.reason != "not chosen"
    ]
    if left:
        say(f"Left out: {', '.join(left)}")
    console.print()
    if heldout is not None:
        was = verb(heldout.ours.count, "was", "were")
        table = new_table(f"On {counted(heldout.ours.count, 'label')} that {was} held out")
        table.add_column("method", no_wrap=True)
        for name in ("accuracy", "95 % interval", "macro F1"):
            table.add_column(name, justify="right", no_wrap=True)
        best = max(score.accuracy for score in heldout.scores)
        for score in heldout.scores:
            low, high = score.interval
            table.add_row(
                score.title,
                f"{100 * score.accuracy:.1f} %",
                f"{100 * low:.1f} to {100 * high:.1f} %",
                f"{score.macro_f1:.3f}",
                style="bold" if score.accuracy == best else "",
            )
        console.print(table)
    table = new_table("Classes")
    table.add_column(plan.target.name, overflow="fold")
    for name in ("labelled", "predicted", "recall"):
        table.add_column(name, justify="right", no_wrap=True)
    recall = np.full(len(names), np.nan) if heldout is None else heldout.ours.recall
    for place in np.argsort(-plan.class_counts, kind="stable")[:CLASSES]:
        share = "" if np.isnan(recall[place]) else f"{100 * recall[place]:.1f} %"
        table.add_row(Text(names[place]), f"{plan.class_counts[place]:,}", f"{result.new[place]:,}", share)
    if len(names) > CLASSES:
        table.caption = f"and {len(names) - CLASSES} more"
    console.print(table)
    if result.set_sizes is not None:
        say(result.set_sizes.line())
    _print_why(console, result)


def _print_why(console: Console, result: Classified) -> None:
    """Which experts count how much, and which columns mattered."""
    shares = ", ".join(f"{words(name)} {100 * share:.0f} %" for name, share in result.experts.items())
    say(f"Weights of the experts: {shares}")
    found = result.importance
    if found is None:
        return
    console.print()
    table = new_table(f"What columns are worth, on {counted(found.labels, 'label')} held out of a member")
    table.add_column("column", overflow="fold")
    for name in ("log-likelihood lost", "accuracy lost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("effect")
    for column in found.columns[:COLUMNS]:
        table.add_row(
            Text(column.column),
            f"{decimal(column.log_likelihood, 3)} ± {column.error:.3f}",
            f"{decimal(100 * column.accuracy, 1)} ± {100 * column.accuracy_spread:.1f} %",
            "clear" if column.clear else "unclear",
            style="" if column.clear else "dim",
        )
    more = len(found.columns) - COLUMNS
    clear = sum(column.clear for column in found.columns[COLUMNS:])
    others = f"and {more} more, {clear or 'none'} of them clear. " if more > 0 else ""
    table.caption = (
        f"{others}Lost when the cells of a column are permuted among these labels. Unclear: not "
        "distinguishable from none."
    )
    console.print(table)
