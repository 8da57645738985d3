"""``pinvgcn segment``: a scan with a few labels in, the same scan with a class for every point out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pinvgcn.cli import options

EXAMPLES = """
[bold]Examples[/bold]

  pinvgcn segment town.laz --labels classification -o classified.laz

  pinvgcn segment scan.ply --labels label --unlabelled -1 -o out.ply --report out.html

  pinvgcn segment town.laz --labels picked.csv --only 0,1 -o classified.laz

  torchrun --nproc-per-node 4 -m pinvgcn segment 'tiles/*.laz' --labels classification -o out

  pinvgcn segment scan.xyz --labels picked.csv -o out.csv --save-model street.model --sets 0.9
"""


class Priors(StrEnum):
    """How frequent the classes are taken to be."""

    estimated = "estimated"
    labels = "labels"


def segment(
    scan: Annotated[
        list[Path],
        typer.Argument(
            help="LAS, LAZ, E57, PLY, PCD or text (XYZ, CSV, TSV); several, a quoted pattern or a virtual "
            "point cloud (.vpc) are one cloud.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        str,
        typer.Option(
            help="A field of the scan, or a CSV with the columns index,label or x,y,z,label; of several "
            "scans file,index,label or x,y,z,label.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="The classified copy; of several scans a folder for them.", show_default=False
        ),
    ],
    unlabelled: Annotated[
        str | None,
        typer.Option(
            help="Values that mean unlabelled, with commas between them. By default 0,1 for the "
            "classification of LAS, -1 and gaps elsewhere.",
            show_default=False,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns to learn from beside the shape of the scan, with commas, or 'none'. By default "
            "intensity, returns and colours, where they are there and vary.",
            show_default=False,
        ),
    ] = None,
    field: options.Field = None,
    relabel: Annotated[
        bool, typer.Option("--relabel", help="Write the model's class at labelled points, too.")
    ] = False,
    only: options.Only = None,
    keep: options.Keep = None,
    bounds: options.Box = None,
    metres: options.Metres = None,
    sets: options.Sets = None,
    priors: Annotated[
        Priors | None,
        typer.Option(
            help="How frequent classes are where the model is in doubt: as estimated from the unlabelled "
            "points, the default from 2,000 points on, or as among the labels.",
            show_default=False,
        ),
    ] = None,
    class_weight: options.Weight = None,
    save_model: Annotated[
        Path | None, typer.Option(help="Keep the model, for `pinvgcn predict`.", show_default=False)
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write a page about what was done and how well, by labels that are held out.",
            show_default=False,
        ),
    ] = None,
    questions: options.Places = None,
    fit_points: Annotated[
        int, typer.Option(min=2_000, help="Larger scans are fitted to about this number of their points.")
    ] = 200_000,
    tile_points: Annotated[
        int, typer.Option(min=1_000, help="Points of a tile; fewer need less memory.")
    ] = 500_000,
    seed: options.Seed = 0,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify every point of a scan from the few that are labelled.

    The copy has the class of every point, `confidence`, the probability of that class, and
    `outside`: 1 where the point was classified without its place, 2 where there is no prediction.
    Points that had a label keep it; --only and --keep protect others, which then keep the class that they
    have in the file. Noise (7 and 18 of LAS) takes no part and stays what it is.
    """
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.scan_command import run_scans

    with loading():
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
        tile_points=tile_points,
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
