"""What the commands print with: results on stdout, progress and hints on stderr."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pinvgcn.wording import counted


def out() -> Console:
    """Where results go."""
    return Console(highlight=False)


def err() -> Console:
    """Where everything else goes."""
    return Console(stderr=True, highlight=False)


@contextmanager
def loading() -> Iterator[None]:
    """Says, on a terminal, that the numerical libraries are being loaded."""
    with err().status("Loading the libraries"):
        yield


@contextmanager
def runs_of() -> Iterator[tuple[Callable[[int], None], Callable[[Any], None]]]:
    """Two functions for a long job of many runs: how many there are, and what happens now.

    On a terminal a bar with the time that is left; else a line for each run as it ends, with the time since
    the start. Trouble stays on the screen.
    """
    console = err()
    if not console.is_terminal:
        yield _told_in_lines(console)
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(event: Any) -> None:
            if event.trouble:
                console.print(event.line, markup=False, soft_wrap=True, style="yellow")
                progress.update(task, advance=event.finished)
            elif event.line:
                progress.update(task, description=event.line, advance=event.finished)
            else:
                progress.update(task, advance=event.finished)

        yield lambda count: progress.update(task, total=count), show


def _told_in_lines(console: Console) -> tuple[Callable[[int], None], Callable[[Any], None]]:
    started = time.monotonic()
    total = behind = 0
    last = ""

    def plan(count: int) -> None:
        nonlocal total
        total = count
        console.print(f"{counted(count, 'run')} to do")

    def tell(event: Any) -> None:
        nonlocal behind, last
        behind += event.finished
        line = event.line
        if event.result:
            since = datetime.timedelta(seconds=int(time.monotonic() - started))
            line = f"{behind} of {total}, {since}: {event.result}"
        if line and line != last:
            console.print(line, markup=False, soft_wrap=True)
            last = line

    return plan, tell
