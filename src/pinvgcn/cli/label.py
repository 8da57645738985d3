"""``pinvgcn label``: label a scan in the browser."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from pinvgcn.cli import options
from pinvgcn.cli.console import err, loading, say


def label(
    scan: Annotated[Path, typer.Argument(metavar="SCAN", help="The scan: LAS, LAZ, E57, PLY, PCD or text.")],
    classes: Annotated[
        str | None, options.option(metavar="NAMES", help="Classes to begin with: ground,tree,house.")
    ] = None,
    known: Annotated[
        str | None, options.option(metavar="FIELD", help="Classes of the file, to take over as labels.")
    ] = None,
    reference: Annotated[
        str | None, options.option(metavar="FIELD", help="True classes, to compare the answer with.")
    ] = None,
    model: Annotated[
        Path | None, options.option(metavar="FILE", help="A model whose answer is there at first.")
    ] = None,
    session: Annotated[
        Path | None, options.option(metavar="FILE", help="Keeps every action; beside the scan by default.")
    ] = None,
    budget: Annotated[
        int, options.option(min=1_000, metavar="NUMBER", help="Points that are drawn.", panel=options.RUNNING)
    ] = 500_000,
    host: Annotated[
        str, options.option(help="Where the page is; elsewhere it asks for a token.", panel=options.RUNNING)
    ] = "127.0.0.1",
    port: Annotated[
        int, options.option(min=0, max=65535, metavar="NUMBER", help="0: a free one.", panel=options.RUNNING)
    ] = 8080,
    browser: Annotated[
        bool, options.option(help="Open the page in the browser.", panel=options.RUNNING)
    ] = True,
) -> None:
    """Label points of a scan in the browser; watch the labels spread.

    Every click is kept in a file beside the scan: the same command continues there.
    Export writes the whole scan with classes and confidence, the labels as CSV, and
    the model for `pinvgcn predict`. Ctrl-C ends it.
    """
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
    with ExitStack() as ends:
        with err().status(f"Reading {scan}"):
            running = ends.enter_context(serve(request))
        for line in running.said:
            err().print(line, markup=False, soft_wrap=True)
        say(f"The page: {running.address}", "Ctrl-C ends it; every label is kept.")
        if browser and "?token=" not in running.address:  # whose token works once
            import webbrowser

            webbrowser.open(running.address)
        while True:  # a wait without an end would not hear Ctrl-C on Windows
            time.sleep(0.5)
