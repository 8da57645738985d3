"""``pinvgcn predict``: a saved model classifies a file that it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]

  pinvgcn predict street.model next-street.laz -o classified.laz

  pinvgcn predict customers.model new-customers.csv -o classified.csv
"""


def predict(
    model: Annotated[Path, typer.Argument(help="A model that --save-model has written.", show_default=False)],
    file: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT",
            help="What to classify. Several scans, or a quoted pattern, are one cloud; of tables, parts.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", help="The classified copy; of several scans a folder for them.", show_default=False
        ),
    ],
    field: Annotated[
        str | None,
        typer.Option(
            help="Where the class goes. By default 'classification' in LAS, 'predicted' elsewhere.",
            show_default=False,
        ),
    ] = None,
    metres: Annotated[
        float | None,
        typer.Option(
            help="Metres per unit, such as 0.3048. By default what the file says, else 1.", show_default=False
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Tables: a column with the probability of each class.")
    ] = False,
    tile_points: Annotated[
        int, typer.Option(min=1_000, help="Points of a tile; fewer need less memory.")
    ] = 500_000,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and its cost, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Classify a file with a model that was saved.

    A scan for a model of `pinvgcn segment`, a table for one of `pinvgcn classify`. Files may be larger
    than memory: scans are worked through in tiles, which see their surroundings, so that the result is
    that of the whole; tables in chunks. A scan's copy has `confidence` and `outside` as that of
    `pinvgcn segment`; it must be in the coordinate system of the scan that the model knows.
    """
    from pinvgcn.cli.bars import stages
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.scan_results import announce, print_plan
    from pinvgcn.cli.several import predict_several, several
    from pinvgcn.cli.table_parts import as_parts, predict_parts_if_table
    from pinvgcn.cli.table_predict import predict_if_table

    if as_parts(file) and predict_parts_if_table(
        model,
        file,
        out=out,
        probabilities=probabilities,
        force=force,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
    ):
        return
    many = several(file)
    if not many and predict_if_table(
        model,
        file[0],
        out=out,
        probabilities=probabilities,
        force=force,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
    ):
        return
    with loading():
        from pinvgcn.scans import PredictRequest
        from pinvgcn.scans import predict as job
        from pinvgcn.scans.cost import plan_predict
    request = PredictRequest(
        model=model, scan=file[0], out=out, field=field, metres=metres, tile_points=tile_points, force=force
    )
    if many:
        predict_several(request, file, dry_run=dry_run, as_json=as_json, quiet=quiet)
        return
    if dry_run:
        print_plan(plan_predict(request), as_json=as_json)
        return
    with stages(quiet=quiet) as tell:
        result = job(request, tell)
    announce(result, as_json=as_json, quiet=quiet)
