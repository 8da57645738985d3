"""``pinvgcn compare``: PinvGCN beside other methods, on the user's own data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pinvgcn.cli import console, options
from pinvgcn.cli.console import note, say


def compare(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A scan, a table, or a name of `pinvgcn datasets`.")
    ],
    labels: Annotated[
        str | None, options.option(help="Of a scan: the field that holds the classes.", metavar="FIELD")
    ] = None,
    target: Annotated[
        str | None, options.option(help="Of a table: the column that holds the classes.", metavar="COLUMN")
    ] = None,
    unlabelled: Annotated[
        str | None, options.option(help="Values that mean no class: 0,1.", metavar="VALUES")
    ] = None,
    per_class: Annotated[
        int | None,
        options.option(min=1, metavar="NUMBER", help="Labels of each class: 10 of a table, 100 of a scan."),
    ] = None,
    seeds: Annotated[int, options.option(min=1, metavar="NUMBER", help="Random choices of labels.")] = 3,
    methods: Annotated[
        str | None, options.option(metavar="NAMES", help="Only these methods: pinvgcn,extra_trees.")
    ] = None,
    out: Annotated[
        Path | None,
        options.option(
            "-o",
            "--out",
            metavar="FOLDER",
            help="For report.html, comparison.png and results.json.",
            show_default="pinvgcn-compare/DATA",
        ),
    ] = None,
    seed_start: Annotated[
        int,
        options.option(min=0, metavar="NUMBER", help="The seed of the first choice.", panel=options.TUNING),
    ] = 0,
    budget: Annotated[
        float,
        options.option(
            min=1.0, metavar="SECONDS", help="A method that takes longer is out.", panel=options.TUNING
        ),
    ] = 1800.0,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    json_only: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare PinvGCN with other methods: same labels, same features.

    Of each class --per-class labels are shown to the methods, and the other rows
    are scored: accuracy, macro F1, seconds and memory. On scans all methods see the
    same local shapes, and their probabilities are averaged in the same way.
    """
    from pinvgcn.cli.progress import shown
    from pinvgcn.jobs.files import check_absent, prepare_folder

    with console.loading():
        from pinvgcn.experiments import compare as job

    request = job.CompareRequest(
        data=data,
        labels=labels,
        target=target,
        unlabelled=job.parse_list(unlabelled),
        per_class=per_class,
        seeds=tuple(range(seed_start, seed_start + seeds)),
        methods=job.parse_methods(methods),
        budget=budget,
    )
    if out is not None:  # before there is anything to read
        check_absent(out, job.FILES, force=force)
    task = job.task_for(request)
    folder = Path("pinvgcn-compare", task.name) if out is None else out
    check_absent(folder, job.FILES, force=force)
    if dry_run:
        if folder.exists():
            prepare_folder(folder)
        plan = job.plan_of(request, task, folder)
        if json_only:
            print(json.dumps(plan, indent=1))
        elif not quiet:
            for name, value in plan.items():
                value_text = ", ".join(value) if isinstance(value, list) else f"{value}"
                say(f"{name.replace('_', ' '):<17}  {value_text}")
            say("Nothing was written.")
        return
    prepare_folder(folder)
    with shown(quiet=quiet, steps=job.count(request, task)) as announce:
        compared = job.run(request, task, progress=announce)
    numbers = job.write_comparison(compared, folder)
    comparison = compared.comparison
    if json_only:
        print(json.dumps(numbers, indent=1, allow_nan=False))
    elif not quiet:
        console.out().print()
        console.out().print(console.comparison_table(comparison, measured=True))
        say(*job.margin_lines(comparison), f"Report: {folder / 'report.html'}")
    if quiet:
        return
    titles = {method.name: method.title for method in comparison.methods}
    note(*(f"without {titles[name]}: {reason}" for name, reason in comparison.failures.items()))
    note(*comparison.notes())
