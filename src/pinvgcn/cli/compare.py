"""``pinvgcn compare``: PinvGCN beside other methods, on the user's own data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pinvgcn.cli import options


def compare(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A scan (LAS, LAZ, E57, PLY, PCD, text), a table (CSV, TSV, Parquet), or a data set: "
            "mushroom, covertype45, covertype67, covertype, oakland1, oakland2, lidar or street.",
        ),
    ],
    labels: Annotated[
        str | None, typer.Option(help="Of a scan: the field that holds the classes.", metavar="FIELD")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Of a table: the column that holds the classes.", metavar="COLUMN")
    ] = None,
    unlabelled: Annotated[
        str | None,
        typer.Option(help="Values that mean no class, with commas between them: 0,1.", metavar="V,V"),
    ] = None,
    per_class: Annotated[
        int | None,
        typer.Option(min=1, help="Labels of each class that the methods see: 10 of a table, 100 of a scan."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many random choices of labels there are.")] = 3,
    seed_start: Annotated[int, typer.Option(min=0, help="The seed of the first choice.")] = 0,
    methods: Annotated[
        str | None,
        typer.Option(help="Only these methods, with commas between them: pinvgcn,extra_trees."),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Seconds that a method may take before it is ended and left out.")
    ] = 1800.0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report.html, comparison.png and results.json.",
            show_default="pinvgcn-compare/DATA",
        ),
    ] = None,
    json_only: Annotated[
        bool, typer.Option("--json", help="Print results.json instead of the table.")
    ] = False,
    quiet: options.Quiet = False,
    dry_run: options.DryRun = False,
    force: options.Force = False,
) -> None:
    """Compare PinvGCN with other methods: same labels, same features.

    The others are 1-nearest neighbour, logistic regression, random forest,
    extremely randomised trees, RBF support vectors, gradient boosting, label
    spreading and self-training; on tables CatBoost, too, if it is installed.
    Points of a scan come with the local shapes
    that PinvGCN sees by default, and the probabilities of every method are
    averaged in the same way. Prints accuracy, macro F1, seconds and
    memory, and how PinvGCN compares with the best other method.

    Of a file, rows without a class are there to learn from; of each class
    --per-class labels are shown to the methods and the others are scored.
    """
    from pinvgcn.cli.comparison_tables import measured_table
    from pinvgcn.cli.console import err, loading
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.cli.progress import shown
    from pinvgcn.jobs.files import check_absent, prepare_folder

    with loading():
        from pinvgcn.experiments.compare import job

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
                stdout().print(f"{name.replace('_', ' '):<17}  {value_text}", markup=False, soft_wrap=True)
            stdout().print("Nothing was written.")
        return
    prepare_folder(folder)
    with shown(quiet=quiet, steps=job.count(request, task)) as announce:
        compared = job.run(request, task, progress=announce)
    numbers = job.write_comparison(compared, folder)
    console = stdout()
    if json_only:
        print(json.dumps(numbers, indent=1, allow_nan=False))
    elif not quiet:
        console.print()
        console.print(measured_table(compared.comparison))
        for line in job.margin_lines(compared.comparison):
            console.print(line, markup=False, soft_wrap=True)
        console.print(f"Report: {folder / 'report.html'}", markup=False, soft_wrap=True)
    if quiet:
        return
    comparison = compared.comparison
    titles = {method.name: method.title for method in comparison.methods}
    for name, reason in comparison.failures.items():
        err().print(f"note: without {titles[name]}: {reason}", markup=False, soft_wrap=True)
    for note in comparison.notes():
        err().print(f"note: {note}", markup=False, soft_wrap=True)
