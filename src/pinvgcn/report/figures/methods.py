"""What methods reach, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from pinvgcn.report.figures.drawing import BLUE, INK, ORANGE, WIDTH, drawing, light_grid


@dataclass(frozen=True)
class MethodRuns:
    """One method: a value for each choice of labels."""

    title: str
    own: bool  # drawn as a blue disc, the others as orange squares
    accuracy: Sequence[float]  # in percent, as macro F1
    macro_f1: Sequence[float]
    seconds: Sequence[float]
    megabytes: float | None  # None where it is not known


def method_chart(methods: Sequence[MethodRuns], title: str) -> Figure:
    """A row a method: accuracy, macro F1, seconds, and memory where it is known of all."""
    with drawing(WIDTH, 1.15 + 0.34 * len(methods)) as figure:
        known = all(method.megabytes is not None for method in methods)
        panels = figure.subplots(1, 3 + known, sharey=True, width_ratios=[3, 3, 2, 2][: 3 + known])
        own = [method.own for method in methods]
        _marks(panels[0], [m.accuracy for m in methods], own, "Accuracy", "% of the rows without a label")
        _marks(panels[1], [m.macro_f1 for m in methods], own, "Macro F1", "%")
        _marks(panels[2], [m.seconds for m in methods], own, "Time", "s per choice of labels", log=True)
        if known:
            _marks(panels[3], [[m.megabytes or 0.0] for m in methods], own, "Memory", "MB at most", log=True)
        panels[0].set_yticks(range(len(methods)), [method.title for method in methods], fontsize=9)
        for label, mine in zip(panels[0].get_yticklabels(), own, strict=True):
            label.set_fontweight("bold" if mine else "normal")
        panels[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def _marks(
    axes: Axes,
    values: Sequence[Sequence[float]],
    own: Sequence[bool],
    title: str,
    unit: str,
    *,
    log: bool = False,
) -> None:
    """Each run as a faint mark, their mean as a strong one with its number."""
    for row, (runs, mine) in enumerate(zip(values, own, strict=True)):
        colour, shape = (BLUE, "o") if mine else (ORANGE, "s")
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
        everything = [value for runs in values for value in runs if value > 0]
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
