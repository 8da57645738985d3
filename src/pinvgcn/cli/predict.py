"""``pinvgcn predict``: a saved model classifies a file that it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pinvgcn.cli import options

EXAMPLES = """
[bold]Examples[/bold]

  pinvgcn predict street.model next-street.laz -o classified.laz

  pinvgcn predict street.model half-classified.laz --only 0,1 -o classified.laz

  pinvgcn predict customers.model new-customers.csv -o classified.csv --sets 0.9
"""


def predict(
    model: Annotated[Path, typer.Argument(help="A model that --save-model has written.", show_default=False)],
    file: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT",
            help="What to classify. Several scans, a quoted pattern or a virtual point cloud (.vpc) are one "
            "cloud; several tables are parts of one.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="The classified copy; of several files a folder for them.", show_default=False
        ),
    ],
    field: options.Field = None,
    only: options.Only = None,
    keep: options.Keep = None,
    bounds: options.Box = None,
    metres: options.Metres = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Tables: a column with the probability of each class.")
    ] = False,
    sets: options.Sets = None,
    questions: options.Places = None,
    tile_points: Annotated[
        int | None,
        typer.Option(
            min=1_000, help="Scans: points of a tile; fewer need less memory.", show_default="500000"
        ),
    ] = None,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a file with a model that was saved.

    A scan for a model of `pinvgcn segment`, a table for one of `pinvgcn classify`. Files may be larger
    than memory: scans are worked through in tiles, which see their surroundings, so that the result is
    that of the whole; tables in chunks. A scan's copy has `confidence` and `outside` as that of
    `pinvgcn segment`. A scan that overlaps that of the model must be in its coordinate system.
    """
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.launch import job
    from pinvgcn.cli.model_and_file import check_pair, first_of, not_for
    from pinvgcn.cli.scan_command import KEPT, run_scans
    from pinvgcn.cli.table_predict import predict_tables

    with loading():
        from pinvgcn.features.tiles import SIZE
        from pinvgcn.scans import PredictRequest
        from pinvgcn.tables import TableFiles, TableModel
    with job(kept="" if dry_run else KEPT) as group:
        fitted = check_pair(model, first_of(file))
        if fitted is not None:
            for_scans = {
                "--field": field,
                "--metres": metres,
                "--tile-points": tile_points,
                "--bounds": bounds,
            }
            not_for("a table", {**for_scans, "--only": only, "--keep": keep, "--questions": questions})
            files = TableFiles(tuple(file), out, force=force, dry_run=dry_run, group=group)
            wanted = {"probabilities": probabilities, "sets": sets}
            predict_tables(TableModel.of(fitted), model, files, wanted, as_json=as_json, quiet=quiet)
            return
        not_for("a scan", {"--probabilities": probabilities or None})
        request = PredictRequest(
            model=model,
            scans=tuple(file),
            out=out,
            field=field,
            metres=metres,
            tile_points=SIZE if tile_points is None else tile_points,
            force=force,
            sets=sets,
            only=options.words(only),
            keep=options.words(keep),
            questions=questions,
            bounds=options.box(bounds),
        )
        run_scans(request, group=group, dry_run=dry_run, as_json=as_json, quiet=quiet)
