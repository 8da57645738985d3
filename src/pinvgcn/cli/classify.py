"""``pinvgcn classify``: the rows of a table, from the classes of some of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pinvgcn.cli import console, options
from pinvgcn.cli.console import note, say
from pinvgcn.cli.failure import job
from pinvgcn.errors import ParameterError
from pinvgcn.wording import counted, decimal, verb, words

if TYPE_CHECKING:
    from pinvgcn.io import TableSource
    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.tables import Classified, TablePlan
    from pinvgcn.tables.files import Copies

CLASSES = 20  # rows of the table of classes
COLUMNS = 5  # rows of the table of what columns are worth

KEPT = "parts that are written stay; the same command goes on with the others"
EXAMPLES = """
pinvgcn classify customers.csv --target churn -o classified.csv
pinvgcn classify trees.parquet --target species -o out.parquet --sets 0.9
torchrun --nproc-per-node 4 -m pinvgcn classify '*.csv' --target churn -o out
"""


def classify(
    table: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE...", help="CSV, TSV or Parquet; several are parts of one table."),
    ],
    target: Annotated[
        str, options.option(metavar="COLUMN", help="The column to predict, empty where unlabelled.")
    ],
    out: Annotated[
        Path | None,
        options.option("-o", "--out", metavar="OUT", help="The table with the answer; of parts a folder."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        options.option(metavar="NAMES", help="Predict from these columns only, with commas."),
    ] = None,
    exclude: Annotated[
        list[str] | None, options.option(metavar="NAMES", help="Do not predict from these columns.")
    ] = None,
    probabilities: Annotated[
        bool, options.option("--probabilities", help="Add a column with the probability of each class.")
    ] = False,
    sets: options.Sets = None,
    save_model: options.SavedModel = None,
    report: Annotated[Path | None, options.option(metavar="HTML", help="Write a page with figures.")] = None,
    questions: Annotated[
        Path | None, options.option(metavar="CSV", help="List 50 rows whose label would help most.")
    ] = None,
    class_weight: options.Weight = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify the rows of a table from the classes of some of them.

    Adds the columns predicted_TARGET and probability; the rest stays as it is. How
    well it works is estimated by labels that are held out, beside simple methods.
    Columns that cannot help (free text, identifiers) are left out and listed.
    """
    from pinvgcn.cli.progress import shown

    others = {"--save-model": save_model, "--report": report, "--questions": questions}
    if not dry_run and out is None and not any(others.values()):
        raise ParameterError(
            "Nothing to write: pass -o OUT, --save-model, --report or --questions, or --dry-run."
        )
    started = time.perf_counter()
    with console.loading():
        from pinvgcn.jobs import fingerprint
        from pinvgcn.report.held_out import held_out_of_table, steps
        from pinvgcn.report.pages import write_table_report
        from pinvgcn.tables import ClassifyRequest, TableFiles, classify_table, plan_table
        from pinvgcn.tables import save_model as save
        from pinvgcn.tables.classify import STEPS, check_request
        from pinvgcn.tables.questions import row_questions, write_questions
    several = TableFiles(tuple(table), out).several
    with job(kept=KEPT if several and not dry_run else "") as group:
        first = group.rank == 0  # which speaks for all
        if report is not None and not group.alone:
            raise ParameterError("--report shows all rows, which no process has. Start it without torchrun.")
        files = TableFiles(tuple(table), out, others, force=force, dry_run=dry_run, group=group)
        source = files.open()
        source.column(target)
        chosen, left = names_of(columns, source), names_of(exclude, source)
        request = ClassifyRequest(class_weight and class_weight.value, seed, probabilities, sets)
        used = [None if names is None else sorted(set(names)) for names in (chosen, left)]
        command = fingerprint({"classify": [target, *used, vars(request)]}, source.files)
        with (
            files.copies(source.files, command) as copies,
            shown(quiet=quiet or not first, unit="rows") as progress,
        ):
            if copies.complete and not dry_run and not any(others.values()):
                if first:
                    print_done(copies, out, as_json=as_json, quiet=quiet)
                return
            plan = plan_table(source, target, columns=chosen, exclude=left or (), progress=progress)
            check_request(plan, request)
            if dry_run:
                if first:
                    print_plan(plan, as_json=as_json, quiet=quiet)
                return
            copies.begin()  # now that nothing can be refused
            total = STEPS + steps(plan.labelled)
            numbers = iter(range(total + 1))

            def step(line: str) -> None:
                progress(line, next(numbers), total)

            result = classify_table(plan, request, progress=step)
            heldout = held_out_of_table(result, progress=step)
            progress("Writing")
            result.write(copies.left, force=force)
            if save_model is not None:
                about = {} if heldout is None else {"held_out": heldout.ours.as_dict()}
                save(result, save_model, about=about, force=force)
            found = row_questions(result) if questions is not None or report is not None else []
            if questions is not None:
                write_questions(found, result, questions, force=force)
            result.seconds["all"] = time.perf_counter() - started
            if report is not None:
                progress("Drawing the report")
                write_table_report(
                    result, heldout, report, out=out, questions=found, question_file=questions, force=force
                )
                result.seconds["all"] = time.perf_counter() - started
            group.wait()  # what is announced is there
        if first:
            written = {"output": out, "model": save_model, "report": report, "questions": questions}
            more = {**copies.as_dict(), "ranks": group.size}
            print_result(result, heldout, written, more, as_json=as_json, quiet=quiet)


def names_of(given: list[str] | None, source: TableSource) -> list[str] | None:
    """Column names, with commas between them unless a column's own name has one."""
    if given is None:
        return None
    listed = [[text] if text in source.columns else map(str.strip, text.split(",")) for text in given]
    return [source.column(name) for names in listed for name in names if name]


def print_plan(plan: TablePlan, *, as_json: bool, quiet: bool) -> None:
    from pinvgcn.report.held_out import folds_of
    from pinvgcn.tables.plan import cost_of

    cost = cost_of(plan, folds_of(plan.labelled)[1])
    if as_json:
        told = {
            "dry_run": True,
            **plan.as_dict(),
            "columns": [{"name": c.name, "kind": c.kind, "becomes": c.becomes} for c in plan.recipe.plans],
            "estimated_bytes": int(cost.memory),
            "estimated_seconds": round(cost.seconds, 1),
            "notes": plan.notes(),
        }
        typer.echo(json.dumps(told, indent=1))
        return
    if quiet:
        return
    source = plan.source
    kind = source.format.upper() if source.format != "parquet" else "Parquet"
    say(
        f"{source.path}: {counted(plan.rows, 'row')} ({kind}), {plan.labelled:,} with a class in "
        f"{plan.target.name!r}, {plan.rows - plan.labelled:,} to predict"
    )
    table = console.table("Columns", "column")
    table.add_column("kind", overflow="fold")
    table.add_column("becomes", overflow="fold")
    table.add_column("missing", justify="right")
    for column in plan.recipe.plans:
        style = "dim" if column.kind == "left out" else ""
        missing = f"{column.missing:,}" if column.missing else ""
        table.add_row(Text(column.name), column.kind, Text(column.becomes), missing, style=style)
    console.out().print(table)
    counts = zip(plan.target.classes, plan.class_counts, strict=True)
    say(
        f"Labelled rows of each class: {', '.join(f'{name} {count:,}' for name, count in counts)}",
        f"It would take {cost} (a guess: it depends on the machine). Nothing was written.",
    )
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
    from pinvgcn.report.held_out import estimate_notes

    notes = [*result.notes, *estimate_notes(result, heldout)]
    files = {name: str(path) for name, path in written.items() if path is not None}
    if as_json:
        estimate = None if heldout is None else heldout.as_dict()
        told = {**result.as_dict(), "held_out": estimate, "notes": notes, **more, **files}
        typer.echo(json.dumps(told, indent=1, allow_nan=False))
    elif not quiet:
        _show_result(result, heldout)
        _show_importance(result)
        say(
            *(f"{'Table' if name == 'output' else name.capitalize()}: {path}" for name, path in files.items())
        )
        note(*notes)


def print_done(copies: Copies, folder: Path | None, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**copies.as_dict(), "output": str(folder)}, indent=1))
    elif not quiet:
        say(f"All {len(copies.files)} parts are done, in {folder}; --force starts over.")


def _show_result(result: Classified, heldout: HeldOut | None) -> None:
    """What was predicted, and how well labels that were held out were found."""
    plan, out = result.plan, console.out()
    names, columns = plan.target.classes, plan.recipe.plans
    say(
        f"{counted(plan.rows, 'row')}, {plan.labelled:,} with a class in {plan.target.name!r}, "
        f"{plan.rows - plan.labelled:,} without; {len(plan.recipe.used)} of {len(columns)} columns used"
    )
    out_of_use = [c for c in columns if c.kind == "left out" and c.reason != "not chosen"]
    if out_of_use:
        say(f"Left out: {', '.join(f'{c.name} ({c.reason})' for c in out_of_use)}")
    out.print()
    if heldout is not None:
        was = verb(heldout.ours.count, "was", "were")
        title = f"On {counted(heldout.ours.count, 'label')} that {was} held out"
        table = console.table(title, "method", "accuracy", "95 % interval", "macro F1")
        for score in heldout.scores:
            low, high = score.interval
            table.add_row(
                score.title,
                f"{100 * score.accuracy:.1f} %",
                f"{100 * low:.1f} to {100 * high:.1f} %",
                f"{score.macro_f1:.3f}",
                style="bold" if score.accuracy == heldout.best_accuracy else "",
            )
        out.print(table)
    table = console.table("Classes", plan.target.name, "labelled", "predicted", "recall")
    for place in (-plan.class_counts).argsort(kind="stable")[:CLASSES]:
        recall = float("nan") if heldout is None else heldout.ours.recall[place]
        share = "" if recall != recall else f"{100 * recall:.1f} %"
        table.add_row(Text(names[place]), f"{plan.class_counts[place]:,}", f"{result.new[place]:,}", share)
    if len(names) > CLASSES:
        table.caption = f"and {len(names) - CLASSES} more"
    out.print(table)
    if result.set_sizes is not None:
        say(result.set_sizes.line())
    shares = ", ".join(f"{words(name)} {100 * share:.0f} %" for name, share in result.experts.items())
    say(f"Weights of the experts: {shares}")


def _show_importance(result: Classified) -> None:
    found = result.importance
    if found is None:
        return
    title = f"What columns are worth, on {counted(found.labels, 'label')} held out of a member"
    table = console.table(title, "column", "log-likelihood lost", "accuracy lost")
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
    console.out().print()
    console.out().print(table)
