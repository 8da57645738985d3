"""Results as tables in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pinvgcn.cli import console

if TYPE_CHECKING:
    from rich.table import Table

    from pinvgcn.experiments.comparison import Comparison


def comparison_table(comparison: Comparison, *, measured: bool = False) -> Table:
    """One line a method, the most accurate first and in bold, whichever it is; of one that was ``measured``
    macro F1 and memory, and an arrow at ours."""
    from pinvgcn.experiments.methods.pinvgcn import OURS
    from pinvgcn.report.page import memory_text

    task, lines, several = comparison.task, comparison.summaries(), len(comparison.seeds) > 1
    table = console.table(
        f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes, {task.amount}"
    )
    table.add_column("method", no_wrap=True)
    heads = ("accuracy, %", "macro F1, %", "seconds", "memory")
    for head in heads if measured else ("accuracy", "mean recall", "seconds"):
        table.add_column(head, justify="right", no_wrap=True)
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
            table.caption = f"{title}: " + ", ".join(f"{s} {line.seconds[s]:.2f} s" for s in stages)
        table.add_row(Text(title), *cells, style="bold" if line.accuracy == lines[0].accuracy else "")
    if measured and several:
        table.caption = f"Means ± standard deviations over {len(comparison.seeds)} choices of labels."
    return table
