"""How far training is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(
    epochs: int, *, show: bool | Callable[[int, int], None]
) -> Iterator[Callable[[int, float], None] | None]:
    """A callback for ``train`` that draws a bar with epochs, loss and remaining time; None if not shown.

    If ``show`` is a function, it hears instead how many epochs are done, and of how many.
    """
    if callable(show):
        hear = show
        yield lambda epoch, loss: hear(epoch + 1, epochs)
        return
    if not show:
        yield None
        return
    columns = (
        TextColumn("Training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=epochs, loss=float("nan"))
        yield lambda epoch, loss: bar.update(task, completed=epoch + 1, loss=loss)
