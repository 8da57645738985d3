"""What the columns of a table are worth, as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinvgcn.fitting.importance import ColumnImportance
from pinvgcn.report.figures.drawing import (
    BLUE,
    GREY,
    INK,
    WIDTH,
    inline_svg,
    light_grid,
    new_figure,
    style,
)

ROOM = 28  # characters of a column's name


def importance(columns: Sequence[ColumnImportance]) -> str:
    """The log-likelihood that is lost without each column, with its standard error; the first on top."""
    lost = np.array([column.log_likelihood for column in columns])
    errors = np.array([column.error for column in columns])
    with style():
        figure = new_figure(WIDTH, 0.9 + 0.27 * len(columns))
        axes = figure.subplots()
        where = np.arange(len(columns))
        for clear, colour, label in (
            (True, BLUE, "has an effect"),
            (False, GREY, "not distinguishable from none"),
        ):
            some = np.array([column.clear == clear for column in columns])
            if some.any():
                axes.barh(where[some], lost[some], 0.66, color=colour, label=label)
        axes.errorbar(lost, where, xerr=errors, fmt="none", ecolor=INK, elinewidth=1.0, capsize=2.5)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(where, [_cut(column.column) for column in columns])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(len(columns) - 0.4, -0.6)
        axes.set_xlabel("log-likelihood lost by a label when the column is permuted, ± standard error")
        light_grid(axes, "x")
        figure.legend(loc="outside lower right", ncols=2)
        return inline_svg(figure, "importance", "What each column is worth at held-out labels.")


def _cut(name: str) -> str:
    """As plain text, which matplotlib does not take for mathematics."""
    short = name if len(name) <= ROOM else name[: ROOM - 1] + "…"
    return short.replace("$", r"\$")
