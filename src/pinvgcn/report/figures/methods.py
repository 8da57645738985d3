"""Methods beside each other: what they reach and cost, and curves of ours over the paper's in its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from pinvgcn.report.figures.drawing import BLUE, GREY, INK, ORANGE, WIDTH, drawing, light_grid

CROSS = "x"
LEVEL: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (1, 2))}
PAPER: dict[str, Any] = {
    "linestyle": "--", "linewidth": 1.0, "markersize": 3.5, "markerfacecolor": "none", "markeredgewidth": 0.8,
}  # fmt: skip


@dataclass(frozen=True)
class Look:
    """How a method is drawn, in every panel."""

    title: str
    colour: str
    marker: str


@dataclass(frozen=True)
class Curve:
    """Points (x, y) of one look: ours, each with its standard error where that is known, or the paper's."""

    look: Look
    points: Sequence[tuple[float, float]]
    errors: Sequence[float | None] | None = None  # one each where it is ours
    marked: Sequence[bool] = ()  # points that are drawn as crosses

    @property
    def ours(self) -> bool:
        return self.errors is not None


@dataclass(frozen=True)
class Scale:
    """What the axes of a panel show."""

    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    x_ticks: Sequence[float] | None = None
    y_from: float | None = None
    y_range: tuple[float, float] | None = None  # widened where points lie outside


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    scale: Scale
    curves: Sequence[Curve]
    levels: Sequence[tuple[str, float]] = ()  # over the whole panel: a title and a value


def draw(panels: Sequence[Panel], *, marked: str = "") -> Figure:
    """Panels side by side under one legend; ``marked`` is what crosses mean."""
    with drawing(WIDTH, 3.9) as figure:
        grid = figure.subplots(1, len(panels), squeeze=False)
        before = ""
        for panel, ax in zip(panels, grid.flat, strict=True):
            for curve in panel.curves:
                _curve(ax, curve, panel.scale)
            for _, value in panel.levels:
                ax.axhline(value, **LEVEL)
            ax.set_title(panel.title)
            ax.set_xlabel(panel.scale.x)
            if panel.scale.y != before:  # what the panel to the left says already is not said again
                ax.set_ylabel(panel.scale.y)
                before = panel.scale.y
            _scale(ax, panel.scale)
            light_grid(ax, "both")
        handles = _legend(panels, marked)
        figure.legend(handles=handles, loc="outside upper left", ncols=4, handlelength=2.6)
    return figure


def without_place(panels: Sequence[Panel]) -> str:
    """Our points of a logarithmic axis that are zero, as the end of a caption; empty where there are none."""
    found = [
        f"{panel.title}, {curve.look.title} at {x:g}"
        for panel in panels
        if panel.scale.log_y
        for curve in panel.curves
        if curve.ours
        for x, y in curve.points
        if y <= 0
    ]
    return f" Zero, which has no place on a logarithmic axis: {'; '.join(found)}." if found else ""


def _curve(ax: Axes, curve: Curve, scale: Scale) -> None:
    if not curve.points:
        return
    x, y = np.array(curve.points, dtype=float).T
    if scale.log_y:
        y = np.where(y > 0, y, np.nan)
    look = curve.look
    if curve.errors is None:
        ax.plot(x, y, color=look.colour, marker=look.marker, alpha=0.85, **PAPER)
        return
    ax.plot(x, y, color=look.colour, linewidth=1.7)
    marked = np.array(curve.marked or [False] * len(x))
    errors = np.array(curve.errors, dtype=float)  # None becomes not a number, which has no bar
    for some, marker in ((~marked, look.marker), (marked, CROSS)):
        bars: dict[str, Any] = {"marker": marker, "markersize": 5, "elinewidth": 1.0, "capsize": 2}
        ax.errorbar(x[some], y[some], errors[some], color=look.colour, linestyle="none", **bars)


def _scale(ax: Axes, scale: Scale) -> None:
    if scale.log_x:
        ax.set_xscale("log")
    if scale.log_y:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        low, high = ax.get_ylim()
        steps = (1, 2, 3, 4, 5, 6, 7, 8) if high / low < 20 else (1, 3) if high / low < 300 else (1,)
        ax.set_yticks([a * 10.0**k for k in range(-6, 4) for a in steps if low <= a * 10.0**k <= high])
        ax.yaxis.set_minor_formatter(NullFormatter())
    if scale.x_ticks is not None:
        ax.set_xticks(list(scale.x_ticks), [f"{tick:g}" for tick in scale.x_ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    if scale.y_range is not None:
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, scale.y_range[0]), max(high, scale.y_range[1]))
    if scale.y_from is not None:
        ax.set_ylim(bottom=scale.y_from)


def _legend(panels: Sequence[Panel], marked: str) -> list[Line2D]:
    curves = [curve for panel in panels for curve in panel.curves]

    def handle(label: str, **look: Any) -> Line2D:
        usual: dict[str, Any] = {"color": GREY, "marker": "o", "linewidth": 1.7}
        return Line2D([], [], label=label, **usual | look)

    looks = dict.fromkeys(curve.look for curve in curves)
    handles = [handle(look.title, color=look.colour, marker=look.marker, markersize=5) for look in looks]
    handles += [handle("ours ± one standard error", markersize=5), handle("the paper's", **PAPER)]
    if any(any(curve.marked) for curve in curves):
        handles.append(handle(marked, marker=CROSS, markersize=5, linestyle="none"))
    titles = dict.fromkeys(title for panel in panels for title, _ in panel.levels)
    return [*handles, *(handle(title, marker="", **LEVEL) for title in titles)]


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
    axes: Axes, each: Sequence[Sequence[float]], own: Sequence[bool], title: str, unit: str, log: bool = False
) -> None:
    """Each run as a faint mark, their mean as a strong one with its number."""
    for row, (runs, mine) in enumerate(zip(each, own, strict=True)):
        colour, shape = (BLUE, "o") if mine else (ORANGE, "s")
        mean = float(np.mean(runs))
        if len(runs) > 1:
            axes.scatter(runs, [row] * len(runs), s=12, marker=shape, color=colour, alpha=0.4, linewidths=0)
        mark: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.6, "zorder": 3}
        axes.scatter([mean], [row], s=46, marker=shape, color=colour, **mark)
        text = f"{mean:,.1f}" if not log or mean < 100 else f"{mean:,.0f}"
        axes.annotate(text, (mean, row), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=7.5)
    if log:
        axes.set_xscale("log")
        everything = [value for runs in each for value in runs if value > 0]
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
