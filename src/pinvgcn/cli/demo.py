"""``pinvgcn demo``: the main job on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html and results.json.")] = Path(
        "pinvgcn-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of labels and of every method.")] = 0,
    splits: Annotated[
        int, typer.Option(min=1, help="How many random choices of labels to average over.")
    ] = 3,
    points: Annotated[int, typer.Option(min=5000, help="How many points the street scan has.")] = 30_000,
    open_report: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the report in the browser at the end.")
    ] = False,
) -> None:
    """Classify a table and a street scan from a few labels, beside simpler methods.

    The table is UCI Mushroom with 10 labels per class; the scan is generated, with 20 labels per
    class. Prints how each method did and writes a report with pictures that opens in any browser.
    """
    from pinvgcn.cli.comparison_tables import comparison_table
    from pinvgcn.cli.console import err, loading
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.cli.progress import shown
    from pinvgcn.jobs.files import prepare_folder

    folder = prepare_folder(out)
    with loading():
        from pinvgcn.experiments import demo as job
        from pinvgcn.experiments.demo_report import write_report
    with shown(steps=job.steps(splits) + 1) as announce:
        result = job.run_demo(points=points, splits=splits, random_state=seed, progress=announce)
        page = write_report(result, folder, progress=announce)
    console = stdout()
    console.print()
    for comparison in result.comparisons:
        console.print(comparison_table(comparison))
    for comparison in result.comparisons:
        for note in comparison.notes():
            err().print(f"note: {comparison.task.title}: {note}", markup=False, soft_wrap=True)
    runs = f"Averages ± standard deviation over {splits} choices of labels. " if splits > 1 else ""
    console.print(f"{runs}Report: {page}", markup=False, soft_wrap=True)
    if open_report:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
