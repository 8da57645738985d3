"""What is going on, as one line with a bar: on a terminal only, and on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tell(Protocol):
    """Receives what happens now, and which share of it is done, if that is known."""

    def __call__(self, line: str, share: float | None = None) -> None: ...


@contextmanager
def working(*, show: bool = True) -> Iterator[Tell]:
    """A function to tell what happens; the bar goes when all is done, or has failed."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from pinvgcn.cli.console import err

    console = err()
    if not show or not console.is_terminal:
        yield lambda line, share=None: None
        return
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        last = 0.0

        def tell(line: str, share: float | None = None) -> None:
            nonlocal last
            if share is None:
                progress.update(task, description=line)
                return
            if share < last:  # something else has begun, with a time of its own
                progress.reset(task, total=1.0)
            last = share
            # at 1 the clock would stop, and there may be more to do
            progress.update(task, description=line, total=1.0, completed=min(share, 0.999))

        yield tell
