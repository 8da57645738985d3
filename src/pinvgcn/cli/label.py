"""``pinvgcn label``: label a scan in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def label(
    scan: Annotated[Path, typer.Argument(help="The scan: LAS, LAZ, E57, PLY, PCD or text.")],
    classes: Annotated[
        str | None, typer.Option(help="Names of classes to begin with, with commas between them.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="A field of the file with true classes, to compare the answer with.")
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(help="A field of the file with classes, to show and to take over as labels."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model of pinvgcn segment that colours the scan before the first click."),
    ] = None,
    session: Annotated[
        Path | None, typer.Option(help="The file that keeps every action; beside the scan by default.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where the page can be reached; elsewhere than here it asks for a token.")
    ] = "127.0.0.1",
    budget: Annotated[int, typer.Option(min=1_000, help="Points that are drawn at most.")] = 500_000,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The page's port; 0 for a free one.")] = 8080,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label a few points of a scan in the browser, and watch the labels spread.

    Every click is kept at once in a file beside the scan: the same command continues where the last one
    stopped. Export on the page writes the whole scan with classes and confidence, the labels as CSV, and the
    model for pinvgcn predict. Ctrl-C ends it.
    """
    from pinvgcn.cli.console import err, loading, out

    with loading():
        from pinvgcn.app.serve import Request, serve

    names = None if classes is None else [name.strip() for name in classes.split(",") if name.strip()]
    request = Request(
        scan,
        classes=names,
        reference=reference,
        known=known,
        model=model,
        session=session,
        host=host,
        port=port,
        budget=budget,
    )
    with err().status(f"Reading {scan}"):
        served = serve(request)
    with served as running:
        console = out()
        for line in running.said:
            err().print(line, markup=False, soft_wrap=True)
        console.print(f"The page: {running.address}", markup=False, soft_wrap=True)
        console.print("Ctrl-C ends it; every label is kept.", markup=False, soft_wrap=True)
        if browser and "?token=" not in running.address:  # whose token works once
            import webbrowser

            webbrowser.open(running.address)
        running.wait()
