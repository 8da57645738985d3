"""How far a command is: a bar on a terminal, lines elsewhere, nothing when quiet; all on standard error."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

from pinvgcn.cli.console import err
from pinvgcn.jobs import Progress, silent

PATIENCE = 1.0  # seconds before a stage is worth a line
MANY = 10_000  # points or rows of a stage whose speed says something


@contextmanager
def shown(*, quiet: bool = False, unit: str = "", steps: int = 0) -> Iterator[Progress]:
    """A callback whose reports are shown.

    ``unit`` names what long stages count, such as points. Of a command with a known number of ``steps``, each
    report without a total begins the next one.
    """
    console = err()
    if quiet:
        yield silent
    elif not console.is_terminal:
        yield _each_step(console) if steps else _long_stages(console, unit)
    else:
        with _bar(console, unit) as bar:
            yield _moving(bar, steps)


@contextmanager
def shown_runs() -> Iterator[tuple[Progress, Callable[[str], None]]]:
    """Progress that counts runs, and notes, which stay on the screen.

    Each run that has ended is a line where there is no terminal.
    """
    console, started = err(), time.monotonic()
    last = 0

    def note(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True, style="yellow" if console.is_terminal else None)

    def lines(stage: str, done: int = 0, total: int = 0) -> None:
        nonlocal last
        if stage and done > last:
            since = datetime.timedelta(seconds=int(time.monotonic() - started))
            console.print(f"{done} of {total}, {since}: {stage}", markup=False, soft_wrap=True)
        last = done

    with _bar(console, "") if console.is_terminal else nullcontext() as bar:
        yield lines if bar is None else _moving(bar, 0), note


def _bar(console: Console, unit: str) -> Bar:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        _HowFar(unit),
        Remaining(compact=True),
    )
    return Bar(*columns, console=console, transient=True)


class _HowFar(ProgressColumn):
    """Per cent, and points per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        if not task.total:
            return Text("")
        speed = task.finished_speed or task.speed
        rate = f" {speed:,.0f} {self.unit}/s" if self.unit and speed and task.total >= MANY else ""
        return Text(f"{task.percentage:>3.0f} %{rate}", style="progress.data.speed")


def _moving(bar: Bar, steps: int) -> Progress:
    task = bar.add_task("", total=steps or None)
    begun = 0
    last, size = 0, 0

    def report(stage: str, done: int = 0, total: int = 0) -> None:
        nonlocal begun, last, size
        if not total and steps:
            done, total, begun = begun, steps, begun + 1
        if total != size or done < last:  # something else has begun, with a time of its own
            bar.reset(task, total=total or None)
        last, size = done, total
        # at the end the clock would stop, and there may be more to do
        bar.update(task, description=stage, completed=min(done, 0.999 * total))

    return report


def _each_step(console: Console) -> Progress:
    def report(stage: str, done: int = 0, total: int = 0) -> None:
        if not total:
            console.print(stage, markup=False, soft_wrap=True)

    return report


def _long_stages(console: Console, unit: str) -> Progress:
    """A line when a stage has taken a second, and one for every tenth of a long one."""
    started: dict[str, float] = {}
    printed: dict[str, tuple[float, int]] = {}

    def report(stage: str, done: int = 0, total: int = 0) -> None:
        now = time.perf_counter()
        began = started.setdefault(stage, now)
        last, tenth = printed.get(stage, (began, 0))
        if now - last < PATIENCE or (10 * done // max(total, 1)) <= tenth:
            return
        printed[stage] = now, 10 * done // max(total, 1)
        left = (now - began) / done * (total - done)
        rest = f", {left:,.0f} s left" if done < total else ""
        how_far = f"{100 * done / max(total, 1):.0f} %"
        if unit and total >= MANY:
            how_far = f"{done:,} of {total:,} {unit}, {done / (now - began):,.0f} a second"
        console.print(f"{stage}: {how_far}{rest}", markup=False, soft_wrap=True)

    return report
