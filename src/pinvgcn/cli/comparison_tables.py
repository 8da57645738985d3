"""Results as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pinvgcn.experiments.comparison import Comparison
    from pinvgcn.experiments.task import Task


def comparison_table(comparison: Comparison) -> Table:
    """One line a method, the most accurate first and in bold, whichever it is."""
    task = comparison.task
    table = _table(task)
    table.add_column("method", no_wrap=True)
    table.add_column("accuracy", justify="right", no_wrap=True)
    table.add_column("mean recall", justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    lines = comparison.summaries()
    several = len(comparison.seeds) > 1
    for line in lines:
        spread = f" ± {100 * line.accuracy_sd:.1f}" if several else ""
        table.add_row(
            Text(line.title),
            f"{100 * line.accuracy:.1f}{spread} %",
            f"{100 * line.mean_recall:.1f} %",
            f"{line.total_seconds:.2f}",
            style="bold" if line.accuracy == lines[0].accuracy else "",
        )
        if "spectrum" in line.seconds:
            stages = ("graph", "spectrum", "training")
            table.caption = f"{line.title}: " + ", ".join(f"{s} {line.seconds[s]:.2f} s" for s in stages)
    return table


def measured_table(comparison: Comparison) -> Table:
    """One line a method, the most accurate first and in bold, whichever it is; ours with an arrow."""
    from pinvgcn.experiments.methods.pinvgcn import OURS
    from pinvgcn.report.page import memory_text

    table = _table(comparison.task)
    table.add_column("method", no_wrap=True)
    for head in ("accuracy, %", "macro F1, %", "seconds", "memory"):
        table.add_column(head, justify="right", no_wrap=True)
    several = len(comparison.seeds) > 1
    lines = comparison.summaries()
    for line in lines:
        spreads = [f" ± {100 * sd:.1f}" if several else "" for sd in (line.accuracy_sd, line.macro_f1_sd)]
        table.add_row(
            Text(f"→ {line.title}" if line.method == OURS else f"  {line.title}"),
            f"{100 * line.accuracy:.1f}{spreads[0]}",
            f"{100 * line.macro_f1:.1f}{spreads[1]}",
            f"{line.total_seconds:.1f}",
            memory_text(line.memory),
            style="bold" if line.accuracy == lines[0].accuracy else "",
        )
    if several:
        table.caption = f"Means ± standard deviations over {len(comparison.seeds)} choices of labels."
    return table


def _table(task: Task) -> Table:
    """An empty one, with the task as its title."""
    return Table(
        title=f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes, {task.amount}",
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
