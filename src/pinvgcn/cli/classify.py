"""``pinvgcn classify``: the rows of a table, from the classes of some of them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pinvgcn.io import TableSource
    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.tables import Classified, TablePlan

EXAMPLES = """[bold]Examples[/bold]

pinvgcn classify customers.csv --target churn -o classified.csv

pinvgcn classify trees.parquet --target species -o out.parquet --exclude plot,remarks --report out.html

torchrun --nproc-per-node 4 -m pinvgcn classify 'parts/*.parquet' --target churn -o classified

pinvgcn classify customers.csv --target churn -o classified.csv --questions ask.csv

pinvgcn classify cases.csv.gz --target kind -o out.csv --class-weight balanced --save-model kind.pinvgcn
"""


class ClassWeight(StrEnum):
    """How much the classes count in training."""

    balanced = "balanced"


def classify(
    table: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            show_default=False,
            help="A CSV, TSV (gzipped or not) or Parquet file; several, a folder or a quoted pattern are the "
            "parts of one table.",
        ),
    ],
    target: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="The column to predict; its empty cells are the unlabelled rows."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="Where the table goes, with the new columns; parts go into a folder.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Predict from these columns only, with commas between them."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Do not predict from these columns.")
    ] = None,
    class_weight: Annotated[
        ClassWeight | None, typer.Option(help="Let every class count the same, however many labels it has.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column with the probability of each class.")
    ] = False,
    sets: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Add a column with the classes that each row may belong to: of the rows of each class, this "
            "share has it in its set. 0.9 needs 9 labels of each class.",
            show_default=False,
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the model, for `pinvgcn predict` on other files."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with figures (HTML).")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="List the 50 rows whose label would help most.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of everything that is drawn.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done, and what it would take.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are already there.")] = False,
) -> None:
    """Classify the rows of a table from the classes of some of them.

    Adds the columns predicted_TARGET and probability; the rest stays as it
    is. Rows that have a class get the model's answer too. How well it works
    is estimated on labels that are held out, beside simpler methods.

    Dates become year, month and weekday, numbers are put into bins; columns
    that cannot help (free text, identifiers) are left out, which is said.
    """
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.table_parts import as_parts, classify_parts
    from pinvgcn.cli.working import working
    from pinvgcn.io import open_table
    from pinvgcn.io.atomic import check_output

    if as_parts(table):
        classify_parts(
            table,
            target,
            out=out,
            columns=columns,
            exclude=exclude,
            class_weight=class_weight and class_weight.value,
            probabilities=probabilities,
            sets=sets,
            save_model=save_model,
            report=report,
            questions=questions,
            seed=seed,
            as_json=as_json,
            quiet=quiet,
            dry_run=dry_run,
            force=force,
        )
        return
    besides = {"--save-model": save_model, "--report": report, "--questions": questions}
    check_something(out, *besides.values(), dry_run=dry_run)
    if out is not None:
        check_output(out, force=force)
    check_besides({"-o": out, **besides}, table, force=force)
    started = time.perf_counter()
    with working(show=not quiet) as tell:
        tell("Looking at the file")
        source = open_table(table[0])
        source.column(target)
        chosen, left = names_of(columns, source), names_of(exclude, source)
        if out is not None:
            source.check_copy(out, force=force)
    with loading():
        from pinvgcn.report.held_out_tables import held_out_of_table, saved_estimate, steps
        from pinvgcn.report.table_page import write_report
        from pinvgcn.tables import ClassifyRequest, classify_table, plan_table
        from pinvgcn.tables import save_model as save
        from pinvgcn.tables.classify import STEPS, check_sets, new_columns
        from pinvgcn.tables.questions import row_questions, write_questions
    with working(show=not quiet) as tell:

        def read(rows: int) -> None:
            tell(f"Reading: {rows:,} rows", share=source.share)

        plan = plan_table(source, target, columns=chosen, exclude=left or (), progress=read)
        source.check_new(new_columns(target, plan.target.classes, probabilities, sets=sets is not None))
        check_sets(plan, sets)
        if dry_run:
            result = None
        else:
            total = STEPS + steps(plan.labelled)
            done = iter(range(total + 1))
            request = ClassifyRequest(class_weight and class_weight.value, seed, probabilities, sets)

            def step(line: str) -> None:
                tell(line, share=next(done) / total)

            result = classify_table(plan, request, progress=step)
            heldout = held_out_of_table(result, progress=step)
            if out is not None:
                tell("Writing the table", share=1.0)
                result.write(out, force=force)
            if save_model is not None:
                save(result, save_model, about=saved_estimate(heldout), force=force)
            found = row_questions(result) if questions is not None or report is not None else []
            if questions is not None:
                write_questions(found, result, questions, force=force)
            result.seconds["all"] = time.perf_counter() - started
            if report is not None:
                tell("Drawing the report", share=1.0)
                write_report(result, heldout, report, out=out, questions=found, asked=questions, force=force)
                result.seconds["all"] = time.perf_counter() - started
    if result is None:
        say_plan(plan, as_json=as_json, quiet=quiet)
        return
    written = {"Table": out, "Model": save_model, "Report": report, "Questions": questions}
    announce(result, heldout, written, {}, as_json, quiet)


def check_something(*files: Path | None, dry_run: bool) -> None:
    """There must be something to do."""
    from pinvgcn.errors import ParameterError

    if not dry_run and all(path is None for path in files):
        raise ParameterError(
            "Nothing to write: pass -o OUT, --save-model, --report or --questions, or --dry-run."
        )


def check_besides(files: dict[str, Path | None], tables: Sequence[Path], *, force: bool) -> None:
    """Refuse what cannot be written beside the table, what is the table itself, and one file twice."""
    from pinvgcn.errors import ParameterError
    from pinvgcn.io.atomic import check_output
    from pinvgcn.io.question_file import check_question_file

    read = {path.resolve() for path in tables}
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        place = path.resolve()
        if place in taken:
            raise ParameterError(f"{taken[place]} and {option} must be different files. Got {path} twice.")
        taken[place] = option
        if option == "-o":  # the source checks it
            continue
        if place in read:
            raise ParameterError(f"{option} must not write over a file that is read. Got {path}.")
        if option == "--questions":
            check_question_file(path)
        check_output(path, force=force)


def announce(
    result: Classified,
    heldout: HeldOut | None,
    written: dict[str, Path | None],
    more: dict[str, int],
    as_json: bool,
    quiet: bool,
) -> None:
    """What was found, and where it is; ``more`` is for those who read JSON."""
    from pinvgcn.cli.console import err
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.report.held_out_tables import estimate_notes

    notes = [*result.notes, *estimate_notes(result, heldout)]
    files = {name: path for name, path in written.items() if path is not None}
    if as_json:
        names = {"Table": "output", "Parts": "output"}
        told = {
            **result.as_dict(),
            "held_out": None if heldout is None else heldout.as_dict(),
            "notes": notes,
            **more,
            **{names.get(name, name.lower()): str(path) for name, path in files.items()},
        }
        typer.echo(json.dumps(told, indent=1, allow_nan=False))
    elif not quiet:
        from pinvgcn.cli.table_results import print_result

        print_result(stdout(), result, heldout)
        for name, path in files.items():
            stdout().print(f"{name}: {path}", markup=False, soft_wrap=True)
        for note in notes:
            err().print(f"note: {note}", markup=False, soft_wrap=True)


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


def say_plan(plan: TablePlan, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and its cost."""
    from pinvgcn.cli.console import err
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.report.held_out_tables import folds_of
    from pinvgcn.tables.cost import cost_of

    cost = cost_of(plan, folds_of(plan.labelled)[1])
    if as_json:
        typer.echo(json.dumps(_plan_dict(plan, cost), indent=1))
    elif not quiet:
        from pinvgcn.cli.table_results import print_plan

        print_plan(stdout(), plan)
        stdout().print(
            f"It would take {cost} (a guess: it depends on the machine). Nothing was written.", soft_wrap=True
        )
        for note in plan.notes():
            err().print(f"note: {note}", markup=False, soft_wrap=True)


def _plan_dict(plan: TablePlan, cost: Any) -> dict[str, Any]:
    return {
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
