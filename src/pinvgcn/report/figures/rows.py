"""The rows of a table as points of a plane."""

from __future__ import annotations

import numpy as np

from pinvgcn.report.figures.drawing import (
    GREY,
    INK,
    WIDTH,
    class_colours,
    inline_svg,
    new_figure,
    style,
)

MOST = 6_000  # points that are drawn
COLOURED = 8  # classes with a colour of their own


def row_map(places: np.ndarray, answers: np.ndarray, labels: np.ndarray, class_names: tuple[str, ...]) -> str:
    """Rows at ``places`` (n, 2): left in the colours of the answers (n,), right the labels (-1: none)."""
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(places))[:MOST])
    sizes = np.bincount(answers, minlength=len(class_names))
    common = np.argsort(-sizes, kind="stable")[:COLOURED]
    palette = class_colours(tuple(class_names[c] for c in common))  # the clearest colours for the largest
    colours = {int(code): palette[k] for k, code in enumerate(common)}
    size = float(np.clip(900 / np.sqrt(len(shown) + 1), 3, 30))
    with style():
        figure = new_figure(WIDTH, 4.6)
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        given = np.flatnonzero(labels >= 0)
        given = np.sort(rng.permutation(given)[:MOST])
        left.set_title("What the model says")
        right.set_title(f"What was known: {int((labels >= 0).sum()):,} labels")
        options = {"linewidths": 0, "rasterized": True}
        right.scatter(*places[shown].T, s=0.5 * size, color=GREY, alpha=0.3, **options)
        for code, name in enumerate(class_names):
            colour = colours.get(code)
            if colour is None:
                continue
            mine = shown[answers[shown] == code]
            left.scatter(*places[mine].T, s=size, color=colour, alpha=0.7, **options)
            mine = given[labels[given] == code]
            right.scatter(*places[mine].T, s=1.4 * size + 6, color=colour, alpha=0.9, **options)
            left.scatter([], [], s=26, color=colour, label=name[:24])
        if len(class_names) > COLOURED:
            rest = shown[~np.isin(answers[shown], common)]
            left.scatter(*places[rest].T, s=size, color=INK, alpha=0.4, **options)
            left.scatter([], [], s=26, color=INK, alpha=0.5, label="others")
        low, high = np.quantile(places, [0.002, 0.998], axis=0)
        margin = 0.06 * np.maximum(high - low, 1e-12)
        for axes in (left, right):
            axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
            axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_xlabel("first pattern")
        left.set_ylabel("second pattern")
        handles, names = left.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 5))
        return inline_svg(figure, "rows", "Rows of the table on the first two eigenvectors of their graph.")
