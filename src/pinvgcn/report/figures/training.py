"""The eigenvalues that a network works with, and how its training went."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinvgcn.report.figures.drawing import (
    BLUE,
    GREEN,
    ORANGE,
    VERMILLION,
    WIDTH,
    inline_svg,
    light_grid,
    new_figure,
    style,
)


def training(series: Sequence[tuple[str, np.ndarray, Sequence[float]]]) -> str:
    """One curve a data set: (title, eigenvalues, loss of each epoch)."""
    with style():
        figure = new_figure(WIDTH, 2.9)
        spectrum, loss = figure.subplots(1, 2)
        for (title, values, curve), colour in zip(series, (BLUE, VERMILLION, GREEN, ORANGE), strict=False):
            numbers = np.arange(1, len(values) + 1)
            spectrum.plot(
                numbers, values, color=colour, marker="o", markersize=2.5, linewidth=0.8, label=title
            )
            loss.plot(np.arange(1, len(curve) + 1), curve, color=colour, linewidth=1.0, label=title)
        spectrum.set_xlabel("number of the eigenvalue")
        spectrum.set_ylabel("eigenvalue λ")
        spectrum.set_ylim(0, 1.05 * max(1.0, *(float(np.max(values)) for _, values, _ in series)))
        spectrum.set_title("Non-zero eigenvalues, smallest first")
        spectrum.legend(loc="lower right")
        loss.set_yscale("log")
        loss.set_xlabel("training epoch")
        loss.set_ylabel("cross entropy (log scale)")
        loss.set_title("Training loss on the labelled rows")
        loss.legend(loc="upper right")
        light_grid(spectrum)
        light_grid(loss)
        return inline_svg(figure, "training", "Eigenvalues of the graphs, and the loss over the epochs.")
