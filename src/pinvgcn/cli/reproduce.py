"""``pinvgcn reproduce``: the paper's tables and figures, computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

WORDS = "oakland, hypergraphs, split-size, citation, regularization, rank, weights or all"
METHODS = (
    "pinvgcn, gcn, graphsage, gdc, arma, hgnn, hypergcn, logistic_regression, nearest_neighbour, "
    "extra_trees, random_forest, support_vectors, label_spreading, poisson"
)


def reproduce(
    experiment: Annotated[str, typer.Argument(help=f"What to reproduce: {WORDS}.")] = "all",
    # numbers are read below, so that messages say what was typed
    runs: Annotated[
        str, typer.Option(metavar="INTEGER", help="Runs of each method; the paper has 100.")
    ] = "100",
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help=f"Only these methods, with commas between them: {METHODS}."),
    ] = None,
    seed_start: Annotated[str, typer.Option(metavar="INTEGER", help="The seed of the first run.")] = "0",
    budget: Annotated[
        str,
        typer.Option(
            metavar="SECONDS", help="Seconds that a method may take on a data set before it is ended."
        ),
    ] = "3600",
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
    from pinvgcn.cli.console import err, loading
    from pinvgcn.cli.console import out as stdout
    from pinvgcn.cli.failure import Interrupted
    from pinvgcn.cli.progress import shown_runs
    from pinvgcn.errors import DataError
    from pinvgcn.wording import counted

    with loading():
        from pinvgcn.experiments.reproduce.job import ReproduceRequest, parse_methods
        from pinvgcn.experiments.reproduce.job import reproduce as job
        from pinvgcn.experiments.reproduce.ledger import has_report, kept_runs
    request = ReproduceRequest(
        experiment=experiment,
        runs=_read(runs, int),
        methods=() if methods is None else parse_methods(methods),
        seed_start=_read(seed_start, int),
        budget=_read(budget, float),
        retry=retry,
    )
    try:
        with shown_runs() as (planned, show):
            outcome = job(request, out, show=show, planned=planned)
    except KeyboardInterrupt:
        there = counted(kept_runs(out), "run") + (", and a report of them" if has_report(out) else "")
        raise Interrupted(f"{out} holds {there}; the same command goes on from there") from None
    console = stdout()
    for title, tally in outcome.tallies.items():
        if tally.reported:
            computed = f"{tally.computed} of the paper's {tally.reported} accuracies have two runs or more"
            apart = f"{tally.within} within two standard errors, {tally.better} better, {tally.worse} worse"
            console.print(f"{title}: {computed}; {apart}", markup=False, soft_wrap=True)
    if outcome.missing:
        err().print(f"note: without {', '.join(outcome.missing)}", markup=False, soft_wrap=True)
    console.print(f"Report: {outcome.report}", markup=False, soft_wrap=True)
    if not outcome.done:
        raise DataError(
            f"None of the {counted(outcome.asked, 'run')} that were asked for could be done; the report says "
            "why."
        )


def _read(text: str, kind: Callable[[str], Any]) -> Any:
    """A number; what is none stays as it was typed, for the message that refuses it."""
    try:
        return kind(text)
    except ValueError:
        return text
