"""``pinvgcn reproduce``: the paper's tables and figures, computed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from pinvgcn.cli import options
from pinvgcn.cli.console import loading, note, say
from pinvgcn.cli.failure import Interrupted
from pinvgcn.errors import DataError
from pinvgcn.wording import counted

WORDS = "oakland, hypergraphs, split-size, citation, regularization, rank, weights or all"


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="WHAT", help=f"{WORDS[0].upper()}{WORDS[1:]}.")
    ] = "all",
    # numbers are read below, so that messages say what was typed
    runs: Annotated[
        str | None,
        options.option(metavar="INTEGER", help="Runs of each method; without it 5 to 100, by what it costs."),
    ] = None,
    methods: Annotated[
        str | None,
        options.option(metavar="NAMES", help="Only these: pinvgcn,gcn,extra_trees (a wrong name lists all)."),
    ] = None,
    training: Annotated[
        str, options.option(metavar="NAMES", help="text, published (rate 0.05, one Adam), or both.")
    ] = "text",
    coordinates: Annotated[
        str, options.option(metavar="NAMES", help="Of points: raw, centred, or both.")
    ] = "raw",
    seed_start: Annotated[str, options.option(metavar="INTEGER", help="The seed of the first run.")] = "0",
    budget: Annotated[
        str, options.option(metavar="SECONDS", help="Seconds of a method on a data set at most.")
    ] = "3600",
    retry: Annotated[bool, options.option("--retry", help="Try again what has failed before.")] = False,
    again: Annotated[bool, options.option("--again", help="Do again what another commit has done.")] = False,
    dry_run: Annotated[
        bool, options.option("--dry-run", help="Say what there is to do, and what it costs.")
    ] = False,
    # no Path: that of "" would be the current folder
    out: Annotated[
        str, options.option(metavar="PATH", help="Folder for results.jsonl, report.md and report.html.")
    ] = "pinvgcn-reproduce",
) -> None:
    """Compute the paper's tables and figures, beside its own numbers.

    Every run is written to results.jsonl as it ends. What is there is not done
    again, so that an interrupted reproduce continues where it stopped; more --runs
    add to it. A method that fails or takes too long is noted and left out.
    """
    from pinvgcn.cli.progress import shown_runs

    with loading():
        from pinvgcn.experiments.reproduce.job import ReproduceRequest, parse_names, planned
        from pinvgcn.experiments.reproduce.job import reproduce as job
        from pinvgcn.experiments.reproduce.ledger import has_report, kept_runs
        from pinvgcn.jobs import duration
    request = ReproduceRequest(
        experiment=experiment,
        runs=None if runs is None else _read(runs, int),
        methods=() if methods is None else parse_names("methods", methods),
        training=parse_names("training", training),
        coordinates=parse_names("coordinates", coordinates),
        again=again,
        seed_start=_read(seed_start, int),
        budget=_read(budget, float),
        retry=retry,
    )
    if dry_run:
        parts = planned(request, out)
        for part in parts:
            line = f"{part.title}: {counted(part.runs, 'run')}, {part.there:,} of them there"
            say(f"{line}; about {duration(3600 * part.hours)} of a processor")
        total = duration(3600 * sum(part.hours for part in parts))
        left = sum(part.runs - part.there for part in parts)
        say(f"To do: {counted(left, 'run')}, about {total} of a processor")
        return
    try:
        with shown_runs() as (progress, tell):
            outcome = job(request, out, progress=progress, note=tell)
    except KeyboardInterrupt:
        there = counted(kept_runs(out), "run") + (", and a report of them" if has_report(out) else "")
        raise Interrupted(f"{out} holds {there}; the same command goes on from there") from None
    for title, tally in outcome.tallies.items():
        if tally.reported:
            computed = f"{tally.computed} of the paper's {tally.reported} accuracies have two runs or more"
            apart = f"{tally.within} within two standard errors, {tally.better} better, {tally.worse} worse"
            say(f"{title}: {computed}; {apart}")
    if outcome.missing:
        note(f"without {', '.join(outcome.missing)}")
    say(f"Report: {outcome.report}")
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
