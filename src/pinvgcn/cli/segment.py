"""``pinvgcn segment``: a scan with a few labels in, the same scan with a class for every point out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pinvgcn.cli.classify import ClassWeight

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
            help="LAS, LAZ, PLY, PCD or text (XYZ, CSV, TSV); several, a quoted pattern or a virtual point "
            "cloud (.vpc) are one cloud.",
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
    field: Annotated[
        str | None,
        typer.Option(
            help="Where the class goes. By default 'classification' in LAS, 'predicted' elsewhere.",
            show_default=False,
        ),
    ] = None,
    relabel: Annotated[
        bool, typer.Option("--relabel", help="Write the model's class at labelled points, too.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="CLASSES",
            help="Change only points that have one of these classes in the file, such as 0,1; all others "
            "keep theirs. Not together with --keep.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="CLASSES",
            help="Points that have one of these classes in the file, such as 2,6, keep it. Not together with "
            "--only.",
            show_default=False,
        ),
    ] = None,
    metres: Annotated[
        float | None,
        typer.Option(
            help="Metres per unit, such as 0.3048. By default what the file says, else 1.", show_default=False
        ),
    ] = None,
    sets: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Write the classes that each point may belong to, too: of the points of each class, this "
            "share has it in its set. 0.9 needs 9 labels of each class.",
            show_default=False,
        ),
    ] = None,
    priors: Annotated[
        Priors | None,
        typer.Option(
            help="How frequent classes are where the model is in doubt: as estimated from the unlabelled "
            "points, the default from 2,000 points on, or as among the labels.",
            show_default=False,
        ),
    ] = None,
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option(help="Let every class count the same, however many labels it has.", show_default=False),
    ] = None,
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
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV", help="List the 50 places where a label would help most.", show_default=False
        ),
    ] = None,
    fit_points: Annotated[
        int, typer.Option(min=2_000, help="Larger scans are fitted to about so many of their points.")
    ] = 200_000,
    tile_points: Annotated[
        int, typer.Option(min=1_000, help="Points of a tile; fewer need less memory.")
    ] = 500_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and its cost, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
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
        unlabelled=None if unlabelled is None else words(unlabelled),
        features=None if features is None else () if features == "none" else words(features),
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
        only=None if only is None else words(only),
        keep=None if keep is None else words(keep),
        questions=questions,
        settings=settings,
    )
    run_scans(request, dry_run=dry_run, as_json=as_json, quiet=quiet)


def words(text: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(word.strip() for word in text.split(","))
