"""How far a job over many points is: a bar on a terminal, a line a stage elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

from pinvgcn.cli.console import err
from pinvgcn.jobs import Progress as Tell
from pinvgcn.jobs import silent

# stages over points
COUNTED = ("Reading", "Sorting", "Local shapes", "A first look", "Classifying", "Averaging", "Writing")
PATIENCE = 1.0  # seconds before a stage is worth a line


class _Rate(ProgressColumn):
    """Points per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        counted = speed and task.description.startswith(COUNTED)
        return Text(f"{speed:,.0f} points/s" if counted else "", style="progress.data.speed")


@contextmanager
def stages(*, quiet: bool = False) -> Iterator[Tell]:
    """A function that hears of each stage: its name, how many points are done, of how many."""
    console = err()
    if quiet:
        yield silent
        return
    if not console.is_terminal:
        yield _lines()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        _Rate(),
        Remaining(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, int] = {}

        def tell(stage: str, done: int = 0, total: int = 0) -> None:
            if stage not in tasks:
                for other in tasks.values():
                    progress.update(other, visible=False)  # type: ignore[arg-type]
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done)  # type: ignore[arg-type]

        yield tell


def _lines() -> Tell:
    """A line when a stage has taken a second, and one for every tenth of a long one."""
    console = err()
    started: dict[str, float] = {}
    shown: dict[str, tuple[float, int]] = {}

    def tell(stage: str, done: int = 0, total: int = 0) -> None:
        now = time.perf_counter()
        began = started.setdefault(stage, now)
        last, tenth = shown.get(stage, (began, 0))
        if now - last < PATIENCE or (10 * done // max(total, 1)) <= tenth:
            return
        shown[stage] = now, 10 * done // max(total, 1)
        left = (now - began) / done * (total - done)
        rest = f", {left:,.0f} s left" if done < total else ""
        rate = f"{done:,} of {total:,} points, {done / (now - began):,.0f} a second"
        how_far = rate if stage.startswith(COUNTED) else f"{100 * done / total:.0f} %"
        console.print(f"{stage}: {how_far}{rest}", markup=False, soft_wrap=True)

    return tell
