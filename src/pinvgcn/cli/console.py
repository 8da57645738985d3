"""What the commands print with: results on stdout, progress and hints on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pinvgcn.experiments.comparison import Comparison


def out() -> Console:
    return Console(highlight=False)


def err() -> Console:
    return Console(stderr=True, highlight=False)


@contextmanager
def loading() -> Iterator[None]:
    """Says, on a terminal, that the numerical libraries are being loaded."""
    with err().status("Loading the libraries"):
        yield


def say(*lines: str) -> None:
    """Lines of the result, as they are."""
    for line in lines:
        out().print(line, markup=False, soft_wrap=True)


def note(*lines: str) -> None:
    """What deserves attention."""
    for line in lines:
        err().print(f"note: {line}", markup=False, soft_wrap=True)


def table(title: str | None = None, first: str = "", *numbers: str) -> Table:
    """One in the looks of all, with a column of words, if it has a name, and columns of numbers."""
    made = Table(
        title=title, title_justify="left", title_style="bold", caption_justify="left", box=box.SIMPLE_HEAD,
        pad_edge=False,
    )  # fmt: skip
    if first:
        made.add_column(first, overflow="fold")
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def comparison_table(comparison: Comparison, *, measured: bool = False) -> Table:
    """One line a method, the most accurate first and in bold, whichever it is; of one that was ``measured``
    macro F1 and memory, and an arrow at ours."""
    from pinvgcn.experiments.methods.pinvgcn import OURS
    from pinvgcn.report.page import memory_text

    task, lines, several = comparison.task, comparison.summaries(), len(comparison.seeds) > 1
    heads = ("accuracy, %", "macro F1, %", "seconds", "memory")
    found = table(
        f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes, {task.amount}",
        "method",
        *(heads if measured else ("accuracy", "mean recall", "seconds")),
    )
    for line in lines:
        spreads = [f" ± {100 * sd:.1f}" if several else "" for sd in (line.accuracy_sd, line.macro_f1_sd)]
        accuracy = f"{100 * line.accuracy:.1f}{spreads[0]}"
        cells = [f"{accuracy} %", f"{100 * line.mean_recall:.1f} %", f"{line.total_seconds:.2f}"]
        title = line.title
        if measured:
            f1 = f"{100 * line.macro_f1:.1f}{spreads[1]}"
            cells = [accuracy, f1, f"{line.total_seconds:.1f}", memory_text(line.memory)]
            title = f"{'→' if line.method == OURS else ' '} {title}"
        elif "spectrum" in line.seconds:
            stages = ("graph", "spectrum", "training")
            found.caption = f"{title}: " + ", ".join(f"{s} {line.seconds[s]:.2f} s" for s in stages)
        found.add_row(Text(title), *cells, style="bold" if line.accuracy == lines[0].accuracy else "")
    if measured and several:
        found.caption = f"Means ± standard deviations over {len(comparison.seeds)} choices of labels."
    return found
