"""``pinvgcn segment``: a scan with a few labels in, the same scan with a class for every point out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinvgcn.cli import console, options
from pinvgcn.cli.console import note, say
from pinvgcn.cli.failure import job
from pinvgcn.wording import counted

if TYPE_CHECKING:
    from pinvgcn.distributed.group import Group
    from pinvgcn.report.held_out import HeldOut
    from pinvgcn.scans import PredictRequest, ScanResult, SegmentRequest

KEPT = "the same command goes on from what is done"
EXAMPLES = """
pinvgcn segment town.laz --labels classification -o classified.laz
pinvgcn segment town.laz --labels picked.csv --only 0,1 -o classified.laz
torchrun --nproc-per-node 4 -m pinvgcn segment '*.laz' --labels class -o out
"""


class Priors(StrEnum):
    """How frequent the classes are taken to be."""

    estimated = "estimated"
    labels = "labels"


def segment(
    scan: Annotated[
        list[Path],
        typer.Argument(help="LAS, LAZ, E57, PLY, PCD, text; several: one cloud.", metavar="SCAN..."),
    ],
    labels: Annotated[
        str, options.option(metavar="LABELS", help="A field, or a CSV of index,label or x,y,z,label.")
    ],
    out: options.Copy,
    unlabelled: Annotated[
        str | None, options.option(metavar="VALUES", help="Values that mean no label. LAS: 0,1; else -1.")
    ] = None,
    features: Annotated[
        str | None, options.option(metavar="NAMES", help="Columns to see, or 'none': intensity, colours, …")
    ] = None,
    save_model: options.SavedModel = None,
    report: Annotated[
        Path | None, options.option(metavar="HTML", help="Write a page about what was done, and how well.")
    ] = None,
    questions: options.Places = None,
    sets: options.Sets = None,
    only: options.Only = None,
    keep: options.Keep = None,
    relabel: Annotated[
        bool,
        options.option("--relabel", help="Write the model's class at labels, too.", panel=options.POINTS),
    ] = False,
    field: options.Field = None,
    bounds: options.Box = None,
    priors: Annotated[
        Priors | None,
        options.option(
            metavar="CHOICE", help="Class shares: 'estimated' or those of 'labels'.", panel=options.TUNING
        ),
    ] = None,
    class_weight: options.Weight = None,
    metres: options.Metres = None,
    fit_points: Annotated[
        int,
        options.option(
            min=2_000,
            metavar="NUMBER",
            help="Points that are fitted to at most.",
            show_default="200,000",
            panel=options.TUNING,
        ),
    ] = 200_000,
    tile_points: options.TilePoints = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify every point of a scan from the few that are labelled.

    The copy has a class for every point, its probability as `confidence`, and
    `outside`: 1 where the place is new to the model, 2 where it has no answer.
    Labelled points keep their class; noise (7 and 18 of LAS) stays what it is.
    """
    with console.loading():
        from pinvgcn.features.tiles import SIZE
        from pinvgcn.scans import SegmentRequest
    settings: dict[str, Any] = {}
    if priors is not None:
        settings["priors"] = None if priors is Priors.labels else priors.value
    if class_weight is not None:
        settings["class_weight"] = class_weight.value
    request = SegmentRequest(
        scans=tuple(scan),
        labels=labels,
        out=out,
        unlabelled=options.words(unlabelled),
        features=() if features == "none" else options.words(features),
        field=field,
        relabel=relabel,
        metres=metres,
        save_model=save_model,
        report=report,
        fit_points=fit_points,
        tile_points=SIZE if tile_points is None else tile_points,
        random_state=seed,
        force=force,
        sets=sets,
        only=options.words(only),
        keep=options.words(keep),
        questions=questions,
        bounds=options.box(bounds),
        settings=settings,
    )
    with job(kept="" if dry_run else KEPT) as group:
        run_scans(request, group, dry_run=dry_run, as_json=as_json, quiet=quiet)


def run_scans(
    request: SegmentRequest | PredictRequest, group: Group, *, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """The whole command, by the processes of a group; the first one speaks for all."""
    from pinvgcn import scans
    from pinvgcn.cli.progress import shown

    heldout, others = None, []
    with shown(quiet=quiet or group.rank > 0, unit="points") as progress:
        if dry_run:
            planned = scans.plan(request, progress, group=group)
        elif isinstance(request, scans.SegmentRequest):
            result = scans.segment(request, progress, group=group)
            others = [request.report, request.save_model]
            if request.report is not None:
                from pinvgcn.report.pages import write_scan_report

                seed = request.random_state
                heldout = write_scan_report(result, request.report, random_state=seed, tell=progress)
        else:
            result = scans.predict(request, progress, group=group)
    if group.rank > 0:
        return
    if not dry_run:
        announce(result, heldout, others, as_json=as_json, quiet=quiet)
        if getattr(request, "features", None) is not None and not quiet:
            note(*(f"{name} {why} and was left out" for name, why in result.left_out.items()))
    elif as_json:
        print(json.dumps(planned.as_dict(), indent=2))
    elif not quiet:
        say(*planned.lines())


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
    labelled = bool(result.given.any())
    table = console.table(
        None,
        "class",
        *(["labels"] if labelled else []),
        "points",
        "share",
        *([] if heldout is None else ["held-out recall"]),
    )
    recall = [None] * len(result.classes) if heldout is None else heldout.ours.recall
    total = max(int(result.counts.sum()), 1)
    for value, labels, count, found in zip(result.classes, result.given, result.counts, recall, strict=True):
        given = [f"{labels:,}"] if labelled else []
        held = [] if found is None else ["" if found != found else f"{100 * found:.1f} %"]
        name = name_of(value, asprs=result.asprs)
        table.add_row(name, *given, f"{count:,}", f"{100 * count / total:.1f} %", *held)
    console.out().print(table)
    whole = result.source.count - result.noise
    part = labelled and result.fitted < whole
    after = sum(result.seconds.values()) - result.work_seconds
    say(
        f"Features: {', '.join(result.features)}."
        + (f" Fitted to {result.fitted:,} of {whole:,} points." if part else ""),
        *(line for line in (result.weights, result.expectation) if line is not None),
        *_held_out(result, heldout),
        *([] if result.protected is None else [f"Protected, not in the table: {result.protected_line}."]),
        *([] if result.sets is None else [result.sets.line(), f"Column 'set': {result.set_column}."]),
        f"Mean confidence {100 * result.mean_confidence:.1f} %. {counted(result.source.count, 'point')} in "
        f"{result.work_seconds:,.1f} s ({result.points_per_second:,.0f} a second)."
        + (f" The report took {after:,.1f} s more." if after else ""),
        *([] if result.source.bounds is None else [f"Only what lies within {result.source.bounds}."]),
        "Written: " + ", ".join(str(path) for path in (result.out, *others, result.question_file) if path),
    )
    note(*result.notes())


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
