"""``pinvgcn segment``: a scan with a few labels in, the same scan with a class for every point out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pinvgcn.cli import options

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
    out: Annotated[
        Path, options.option("-o", "--out", metavar="OUT", help="The classified copy; of several a folder.")
    ],
    unlabelled: Annotated[
        str | None, options.option(metavar="VALUES", help="Values that mean no label. LAS: 0,1; else -1.")
    ] = None,
    features: Annotated[
        str | None, options.option(metavar="NAMES", help="Columns to see, or 'none': intensity, colours, …")
    ] = None,
    save_model: Annotated[
        Path | None, options.option(metavar="FILE", help="Keep the model, for `pinvgcn predict`.")
    ] = None,
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
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.scan_command import run_scans

    with loading():
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
    run_scans(request, dry_run=dry_run, as_json=as_json, quiet=quiet)
