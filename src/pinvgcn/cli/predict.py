"""``pinvgcn predict``: a saved model classifies a file that it has never seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Example[/bold]

  pinvgcn predict street.model next-street.laz -o classified.laz
"""


def predict(
    model: Annotated[Path, typer.Argument(help="A model that --save-model has written.", show_default=False)],
    file: Annotated[Path, typer.Argument(metavar="INPUT", help="What to classify.", show_default=False)],
    out: Annotated[Path, typer.Option("-o", "--out", help="The classified copy.", show_default=False)],
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

    Files may be larger than memory: they are worked through in tiles, which see their surroundings,
    so that the result is that of the whole. The copy has `confidence` and `outside` as that of
    `pinvgcn segment`. A scan must be in the coordinate system of the one that the model knows.
    """
    from pinvgcn.cli.bars import stages
    from pinvgcn.cli.console import loading
    from pinvgcn.cli.scan_results import announce, print_plan

    with loading():
        from pinvgcn.scans import PredictRequest
        from pinvgcn.scans import predict as job
        from pinvgcn.scans.cost import plan_predict
    request = PredictRequest(
        model=model, scan=file, out=out, field=field, metres=metres, tile_points=tile_points, force=force
    )
    if dry_run:
        print_plan(plan_predict(request), as_json=as_json)
        return
    with stages(quiet=quiet) as tell:
        result = job(request, tell)
    announce(result, as_json=as_json, quiet=quiet)
