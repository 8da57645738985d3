"""``pinvgcn demo``: the main job on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pinvgcn.cli import console, options
from pinvgcn.cli.console import note, say


def demo(
    out: Annotated[
        Path, options.option("-o", "--out", help="Folder for report.html, tiles.png and results.json.")
    ] = Path("pinvgcn-demo"),
    quick: Annotated[
        bool, options.option("--quick", help="One choice of labels, and 15,000 points of each tile.")
    ] = False,
    splits: Annotated[
        int, options.option(min=1, metavar="NUMBER", help="Random choices of labels to average over.")
    ] = 3,
    seed: Annotated[
        int, options.option(min=0, metavar="NUMBER", help="Seed of the choice of labels and of every method.")
    ] = 0,
    open_report: Annotated[
        bool, options.option("--open/--no-open", help="Open the report in the browser at the end.")
    ] = False,
) -> None:
    """Classify two tiles of a real scan and a table from few labels.

    One tile of an aerial survey has 20 labels a class, the tile beside it none;
    the table is UCI Mushroom with 10 labels a class. Simple methods get the same.
    All data are in the package. The report has pictures and opens in any browser.
    """
    from pinvgcn.cli.progress import shown
    from pinvgcn.jobs.files import prepare_folder

    folder = prepare_folder(out)
    with console.loading():
        from pinvgcn.experiments import demo as job
        from pinvgcn.experiments.demo_report import write_report
    with shown(steps=job.steps(1 if quick else splits) + 1) as announce:
        result = job.run_demo(splits=splits, random_state=seed, quick=quick, progress=announce)
        page = write_report(result, folder, progress=announce)
    console.out().print()
    for comparison in result.comparisons:
        console.out().print(console.comparison_table(comparison))
        note(*(f"{comparison.task.title}: {line}" for line in comparison.notes()))
    runs = f"Averages ± standard deviation over {result.splits} choices of labels. "
    say(f"{runs if result.splits > 1 else ''}Report: {page}")
    if open_report:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
