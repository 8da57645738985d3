"""What was done to a scan, as a table for people or as JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinvgcn.scans import Result
    from pinvgcn.scans.cost import Plan


def announce(result: Result, *, as_json: bool, quiet: bool) -> None:
    """The result on stdout, what deserves attention on stderr."""
    from rich import box
    from rich.table import Table

    from pinvgcn.cli.console import err, out
    from pinvgcn.scans.labels import name_of

    if as_json:
        print(json.dumps(result.as_dict(), indent=2))
        return
    if quiet:
        return
    console = out()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("class", no_wrap=True)
    if result.given.any():
        table.add_column("labels", justify="right", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    total = max(int(result.counts.sum()), 1)
    for value, labels, count in zip(result.classes, result.given, result.counts, strict=True):
        given = [f"{labels:,}"] if result.given.any() else []
        table.add_row(
            name_of(value, asprs=result.asprs), *given, f"{count:,}", f"{100 * count / total:.1f} %"
        )
    console.print(table)
    seconds = sum(result.seconds.values())
    for line in (
        _learned_from(result),
        f"Mean confidence {100 * result.mean_confidence:.1f} %. "
        f"{result.source.count:,} points in {seconds:,.1f} s ({result.points_per_second:,.0f} a second).",
        f"Written: {result.out}",
    ):
        console.print(line, markup=False, soft_wrap=True)
    for line in result.notes():
        err().print(f"note: {line}", markup=False, soft_wrap=True)


def _learned_from(result: Result) -> str:
    beside = f", {', '.join(result.fields)}" if result.fields else ""
    whole = result.source.count - result.noise
    part = (
        f" Fitted to {result.fitted:,} of {whole:,} points."
        if result.given.any() and result.fitted < whole
        else ""
    )
    return f"Features: position and local shape{beside}.{part}"


def print_plan(plan: Plan, *, as_json: bool) -> None:
    """What would be done, and what it would cost."""
    from pinvgcn.cli.console import out

    if as_json:
        print(json.dumps(plan.as_dict(), indent=2))
        return
    console = out()
    for line in plan.lines():
        console.print(line, markup=False, soft_wrap=True)
