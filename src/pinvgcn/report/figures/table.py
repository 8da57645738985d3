"""A table: its rows as points of a plane, and what its columns are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinvgcn.fitting.importance import ColumnImportance
from pinvgcn.report.figures.drawing import (
    BLUE,
    GREY,
    INK,
    WIDTH,
    class_colours,
    drawing,
    inline_svg,
    light_grid,
)
from pinvgcn.wording import cut

MOST = 6_000  # points that are drawn
COLOURED = 8  # classes with a colour of their own
ROOM = 28  # characters of a column's name


def row_map(places: np.ndarray, answers: np.ndarray, labels: np.ndarray, class_names: tuple[str, ...]) -> str:
    """Rows at ``places`` (n, 2): left in the colours of the answers (n,), right the labels (-1: none)."""
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(places))[:MOST])
    given = np.sort(rng.permutation(np.flatnonzero(labels >= 0))[:MOST])
    sizes = np.bincount(answers, minlength=len(class_names))
    common = np.argsort(-sizes, kind="stable")[:COLOURED]
    palette = class_colours(tuple(class_names[code] for code in common))  # the clearest for the largest
    size = float(np.clip(900 / np.sqrt(len(shown) + 1), 3, 30))
    dots: dict[str, Any] = {"linewidths": 0, "rasterized": True}
    with drawing(WIDTH, 4.6) as figure:
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        left.set_title("What the model says")
        right.set_title(f"What was known: {int((labels >= 0).sum()):,} labels")
        right.scatter(*places[shown].T, s=0.5 * size, color=GREY, alpha=0.3, **dots)
        for place in np.argsort(common):
            code, colour = common[place], palette[place]
            left.scatter(*places[shown[answers[shown] == code]].T, s=size, color=colour, alpha=0.7, **dots)
            mine = given[labels[given] == code]
            right.scatter(*places[mine].T, s=1.4 * size + 6, color=colour, alpha=0.9, **dots)
            left.scatter([], [], s=26, color=colour, label=class_names[code][:24])
        if len(class_names) > COLOURED:
            rest = shown[~np.isin(answers[shown], common)]
            left.scatter(*places[rest].T, s=size, color=INK, alpha=0.4, **dots)
            left.scatter([], [], s=26, color=INK, alpha=0.5, label="others")
        low, high = np.quantile(places, [0.002, 0.998], axis=0)
        margin = 0.06 * np.maximum(high - low, 1e-12)
        window = np.array([low - margin, high + margin]).T
        for axes in (left, right):
            axes.set(xlim=window[0], ylim=window[1], xticks=[], yticks=[], xlabel="first pattern")
        left.set_ylabel("second pattern")
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5))
    return inline_svg(figure, "rows", "Rows of the table on the first two eigenvectors of their graph.")


def importance(columns: Sequence[ColumnImportance]) -> str:
    """The log-likelihood that is lost without each column, with its standard error; the first on top."""
    lost, errors = np.array([(column.log_likelihood, column.error) for column in columns]).T
    where = np.arange(len(columns))
    with drawing(WIDTH, 0.9 + 0.27 * len(columns)) as figure:
        axes = figure.subplots()
        kinds = ((True, BLUE, "has an effect"), (False, GREY, "not distinguishable from none"))
        for clear, colour, label in kinds:
            some = np.array([column.clear == clear for column in columns])
            if some.any():
                axes.barh(where[some], lost[some], 0.66, color=colour, label=label)
        axes.errorbar(lost, where, xerr=errors, fmt="none", ecolor=INK, elinewidth=1.0, capsize=2.5)
        axes.axvline(0, color=INK, linewidth=0.8)
        # a dollar sign would begin mathematics
        axes.set_yticks(where, [cut(column.column, ROOM).replace("$", r"\$") for column in columns])
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_ylim(len(columns) - 0.4, -0.6)
        axes.set_xlabel("log-likelihood lost by a label when the column is permuted, ± standard error")
        light_grid(axes, "x")
        figure.legend(loc="outside lower right", ncols=2)
    return inline_svg(figure, "importance", "What each column is worth at held-out labels.")
