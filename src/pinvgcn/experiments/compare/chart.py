"""The picture of a comparison: what each method reaches, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from pinvgcn.experiments.comparison import Comparison
from pinvgcn.report.figures.drawing import BLUE, INK, ORANGE, WIDTH, light_grid, new_figure, style

MEGABYTE = 1e6


def chart(comparison: Comparison, ours: str) -> Figure:
    """Accuracy and macro F1 of every choice of labels, seconds and memory; the most accurate method on top.

    Ours is told from the others by the shape of its marks as well as by their colour.
    """
    lines = comparison.summaries()
    task = comparison.task
    runs = [comparison.of(line.method) for line in lines]
    known = all(line.memory is not None for line in lines)
    with style():
        figure = new_figure(WIDTH, 1.15 + 0.34 * len(lines))
        panels = figure.subplots(
            1, 4 if known else 3, sharey=True, width_ratios=[3, 3, 2, 2][: 4 if known else 3]
        )
        accuracy = [[100 * score.accuracy for score in scores] for scores in runs]
        f1 = [[100 * score.macro_f1 for score in scores] for scores in runs]
        seconds = [[score.total_seconds for score in scores] for scores in runs]
        memory = [[(line.memory or 0) / MEGABYTE] for line in lines]
        mine = [line.method == ours for line in lines]
        _marks(panels[0], accuracy, mine, "Accuracy", "% of the rows without a label")
        _marks(panels[1], f1, mine, "Macro F1", "%")
        _marks(panels[2], seconds, mine, "Time", "s per choice of labels", log=True)
        if known:
            _marks(panels[3], memory, mine, "Memory", "MB at most", log=True)
        panels[0].set_yticks(range(len(lines)), [line.title for line in lines], fontsize=9)
        for label, own in zip(panels[0].get_yticklabels(), mine, strict=True):
            label.set_fontweight("bold" if own else "normal")
        panels[0].set_ylim(len(lines) - 0.5, -0.5)
        figure.suptitle(
            f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes, {task.amount}",
            x=0.01,
            ha="left",
            fontsize=11,
            fontweight="bold",
        )
    return figure


def _marks(
    axes: Axes,
    values: Sequence[Sequence[float]],
    mine: Sequence[bool],
    title: str,
    unit: str,
    *,
    log: bool = False,
) -> None:
    """A row a method: each run as a faint mark, their mean as a strong one with its number."""
    for row, (runs, own) in enumerate(zip(values, mine, strict=True)):
        colour, shape = (BLUE, "o") if own else (ORANGE, "s")
        mean = float(np.mean(runs))
        if len(runs) > 1:
            axes.scatter(runs, [row] * len(runs), s=12, marker=shape, color=colour, alpha=0.4, linewidths=0)
        axes.scatter(
            [mean], [row], s=46, marker=shape, color=colour, edgecolors=INK, linewidths=0.6, zorder=3
        )
        text = f"{mean:,.1f}" if not log or mean < 100 else f"{mean:,.0f}"
        axes.annotate(text, (mean, row), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=7.5)
    if log:
        axes.set_xscale("log")
        everything = [v for runs in values for v in runs if v > 0]
        axes.set_xlim(min(everything) / 2.2, max(everything) * 2.2)
        axes.xaxis.set_major_locator(LogLocator(numticks=5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.margins(x=0.08)
    axes.set_title(title)
    axes.set_xlabel(unit)
    axes.tick_params(axis="y", length=0)
    light_grid(axes, "both")
