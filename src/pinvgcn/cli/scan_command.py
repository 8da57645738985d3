"""``pinvgcn segment`` and ``predict`` of scans: run the job, and say what was done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from pinvgcn.cli.console import note, out, say
from pinvgcn.cli.console import table as new_table
from pinvgcn.cli.launch import job
from pinvgcn.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from pinvgcn.distributed.group import Group
    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.scans import PredictRequest, ScanPlan, ScanResult, SegmentRequest

KEPT = "the same command goes on from what is done"


def run_scans(
    request: SegmentRequest | PredictRequest,
    *,
    group: Group | None = None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """The whole command, by the processes of a ``group`` or by those that were launched; the first one speaks
    for all."""
    from pinvgcn.cli.progress import shown
    from pinvgcn.scans import SegmentRequest, plan, predict, segment

    heldout = None
    with job(kept="" if dry_run else KEPT) if group is None else nullcontext(group) as group:
        silent = group.rank > 0
        with shown(quiet=quiet or silent, unit="points") as progress:
            if dry_run:
                planned = plan(request, progress, group=group)
            elif isinstance(request, SegmentRequest):
                result = segment(request, progress, group=group)
                if request.report is not None:
                    from pinvgcn.report.scan_page import write_scan_report

                    seed = request.random_state
                    heldout = write_scan_report(result, request.report, random_state=seed, tell=progress)
            else:
                result = predict(request, progress, group=group)
    if silent:
        return
    if dry_run:
        print_plan(planned, as_json=as_json, quiet=quiet)
    elif isinstance(request, SegmentRequest):
        announce(result, heldout, (request.report, request.save_model), as_json=as_json, quiet=quiet)
        if request.features is not None and not quiet:
            note(*(f"{name} {why} and was left out" for name, why in result.left_out.items()))
    else:
        announce(result, as_json=as_json, quiet=quiet)


def announce(
    result: ScanResult,
    heldout: HeldOut | None = None,
    others: Sequence[Path | None] = (),
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """The result on stdout, and how held-out labels did; what deserves attention on stderr."""
    from pinvgcn.scans.labels import name_of

    if as_json:
        estimate = {} if heldout is None else {"held_out": heldout.as_dict()}
        print(json.dumps({**result.as_dict(), **estimate}, indent=2))
        return
    if quiet:
        return
    table = new_table()
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
    out().print(table)
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
        *([] if result.source.bounds is None else [f"Only what lies within {result.source.bounds}."]),
        "Written: " + ", ".join(str(path) for path in (result.out, *others, result.question_file) if path),
    ):
        say(line)
    note(*result.notes())


def _learned_from(result: ScanResult) -> str:
    whole = result.source.count - result.noise
    part = (
        f" Fitted to {result.fitted:,} of {whole:,} points."
        if result.given.any() and result.fitted < whole
        else ""
    )
    return f"Features: {', '.join(result.features)}.{part}"


def _held_out(result: ScanResult, heldout: HeldOut | None) -> list[str]:
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


def print_plan(plan: ScanPlan, *, as_json: bool, quiet: bool) -> None:
    """What would be done, and what it would cost."""
    if as_json:
        print(json.dumps(plan.as_dict(), indent=2))
        return
    if quiet:
        return
    say(*plan.lines())
