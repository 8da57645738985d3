"""``pinvgcn reproduce``: the paper's tables and figures, computed again."""

from __future__ import annotations

from typing import Annotated

import typer

WORDS = "oakland, hypergraphs, split-size, citation, regularization, rank, weights or all"


def reproduce(
    experiment: Annotated[str, typer.Argument(help=f"What to reproduce: {WORDS}.")] = "all",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each method; the paper has 100.")] = 100,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, with commas between them: pinvgcn,gcn.")
    ] = None,
    seed_start: Annotated[int, typer.Option(min=0, help="The seed of the first run.")] = 0,
    budget: Annotated[
        float, typer.Option(help="Seconds that a method may take on a data set before it is ended.")
    ] = 3600.0,
    retry: Annotated[bool, typer.Option("--retry", help="Try again what has failed before.")] = False,
    # no Path: that of "" would be the current folder
    out: Annotated[
        str, typer.Option(metavar="PATH", help="Folder for results.jsonl, report.md and report.html.")
    ] = "pinvgcn-reproduce",
) -> None:
    """Compute the paper's tables and figures again, beside its own numbers.

    Every run is written to results.jsonl as it ends. What is there is not done again, so that an
    interrupted reproduce continues where it stopped; more --runs add to it. A method that fails or
    takes too long is noted and left out.
    """
    from pinvgcn.cli.console import err, loading, runs_of
    from pinvgcn.cli.console import out as stdout

    with loading():
        from pinvgcn.experiments.reproduce.job import Request, parse_methods
        from pinvgcn.experiments.reproduce.job import reproduce as job
    request = Request(
        experiment=experiment,
        runs=runs,
        methods=() if methods is None else parse_methods(methods),
        seed_start=seed_start,
        budget=budget,
        retry=retry,
    )
    with runs_of() as (planned, show):
        outcome = job(request, out, show=show, planned=planned)
    console = stdout()
    for title, tally in outcome.tallies.items():
        if tally.reported:
            console.print(
                f"{title}: {tally.computed} of the paper's {tally.reported} accuracies; {tally.within} "
                "within two "
                f"standard errors, {tally.better} better, {tally.worse} worse",
                markup=False,
                soft_wrap=True,
            )
    if outcome.missing:
        err().print(f"note: without {', '.join(outcome.missing)}", markup=False, soft_wrap=True)
    console.print(f"Report: {outcome.report}", markup=False, soft_wrap=True)
