"""``pinvgcn classify``: the rows of a table, from the classes of some of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinvgcn.cli import options

if TYPE_CHECKING:
    from pinvgcn.io import TableSource

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
    save_model: Annotated[
        Path | None, options.option(metavar="FILE", help="Keep the model, for `pinvgcn predict`.")
    ] = None,
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
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.launch import job
    from pinvgcn.cli.progress import shown
    from pinvgcn.errors import ParameterError

    others = {"--save-model": save_model, "--report": report, "--questions": questions}
    if not dry_run and out is None and not any(others.values()):
        raise ParameterError(
            "Nothing to write: pass -o OUT, --save-model, --report or --questions, or --dry-run."
        )
    started = time.perf_counter()
    with loading():
        from pinvgcn.cli.table_results import print_done, print_plan, print_result
        from pinvgcn.jobs import fingerprint
        from pinvgcn.report.held_out_tables import held_out_of_table, steps
        from pinvgcn.report.table_page import write_table_report
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
    names = []
    for text in given:
        names += (
            [text] if text in source.columns else [part.strip() for part in text.split(",") if part.strip()]
        )
    return [source.column(name) for name in names]
