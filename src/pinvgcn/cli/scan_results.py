"""What was done to a scan, as a table for people or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pinvgcn.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.scans import Result
    from pinvgcn.scans.cost import Plan


def announce(
    result: Result,
    heldout: HeldOut | None = None,
    others: Sequence[Path | None] = (),
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """The result on stdout, and how held-out labels did; what deserves attention on stderr."""
    from rich import box
    from rich.table import Table

    from pinvgcn.cli.console import err, out
    from pinvgcn.scans.labels import name_of

    if as_json:
        estimate = {} if heldout is None else {"held_out": heldout.as_dict()}
        print(json.dumps({**result.as_dict(), **estimate}, indent=2))
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
    recall = [None] * len(result.classes) if heldout is None else heldout.ours.recall
    if heldout is not None:
        table.add_column("held-out recall", justify="right", no_wrap=True)
    total = max(int(result.counts.sum()), 1)
    for value, labels, count, found in zip(result.classes, result.given, result.counts, recall, strict=True):
        given = [f"{labels:,}"] if result.given.any() else []
        held = [] if found is None else ["" if found != found else f"{100 * found:.1f} %"]
        name = name_of(value, asprs=result.asprs)
        table.add_row(name, *given, f"{count:,}", f"{100 * count / total:.1f} %", *held)
    console.print(table)
    after = sum(result.seconds.values()) - result.work_seconds
    report = f" The report took {after:,.1f} s more." if after else ""
    for line in (
        _learned_from(result),
        *([] if result.weights is None else [result.weights]),
        *([] if result.expectation is None else [result.expectation]),
        *_held_out(result, heldout),
        *([] if result.protected is None else [f"Protected, not in the table: {result.protected_line}."]),
        *([] if result.sets is None else [result.sets.line(), f"Column 'set': {result.set_column}."]),
        f"Mean confidence {100 * result.mean_confidence:.1f} %. {counted(result.source.count, 'point')} in "
        f"{result.work_seconds:,.1f} s ({result.points_per_second:,.0f} a second).{report}",
        "Written: " + ", ".join(str(path) for path in (result.out, *others, _questions(result)) if path),
    ):
        console.print(line, markup=False, soft_wrap=True)
    for line in result.notes():
        err().print(f"note: {line}", markup=False, soft_wrap=True)


def _questions(result: Result) -> Path | None:
    return None if result.doubts is None else result.doubts.path


def _learned_from(result: Result) -> str:
    whole = result.source.count - result.noise
    part = (
        f" Fitted to {result.fitted:,} of {whole:,} points."
        if result.given.any() and result.fitted < whole
        else ""
    )
    return f"Features: {', '.join(result.features)}.{part}"


def _held_out(result: Result, heldout: HeldOut | None) -> list[str]:
    if heldout is None:
        return []
    prior = result.counts / max(int(result.counts.sum()), 1)
    ours, give = heldout.ours.accuracy_under(prior)
    best = heldout.best_simple_under(prior)
    few = "" if result.estimate is None else " at random, which flatters where labels lie in few places"
    return [
        f"Held-out labels{few}, classes weighed by their shares: {100 * ours:.1f} ± {100 * give:.1f} % "
        f"right. Best simple method: {best.title}, {100 * best.accuracy_under(prior)[0]:.1f} %."
    ]


def print_plan(plan: Plan, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and what it would cost."""
    from pinvgcn.cli.console import out

    if as_json:
        print(json.dumps(plan.as_dict(), indent=2))
        return
    if quiet:
        return
    console = out()
    for line in plan.lines():
        console.print(line, markup=False, soft_wrap=True)
