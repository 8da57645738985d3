"""``pinvgcn predict``: a saved model classifies a file that it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pinvgcn.cli import options

EXAMPLES = """
pinvgcn predict street.model next-street.laz -o classified.laz
pinvgcn predict street.model half-classified.laz --only 0,1 -o classified.laz
pinvgcn predict customers.model new-customers.csv -o classified.csv --sets 0.9
"""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model that --save-model has written.")],
    file: Annotated[
        list[Path],
        typer.Argument(metavar="INPUT", help="Scans, which are one cloud, or tables, parts of one."),
    ],
    out: Annotated[
        Path, options.option("-o", "--out", metavar="OUT", help="The classified copy; of several a folder.")
    ],
    sets: options.Sets = None,
    probabilities: Annotated[
        bool, options.option("--probabilities", help="Tables: a column with the probability of each class.")
    ] = False,
    questions: options.Places = None,
    only: options.Only = None,
    keep: options.Keep = None,
    field: options.Field = None,
    bounds: options.Box = None,
    metres: options.Metres = None,
    tile_points: options.TilePoints = None,
    force: options.Force = False,
    dry_run: options.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a file with a model that was saved.

    A scan for a model of `pinvgcn segment`, a table for one of `pinvgcn classify`,
    also larger than memory. A scan's copy has `confidence` and `outside` as that
    of `segment`; one that overlaps the model's must be in its coordinate system.
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
