"""Which classes get mistaken for which."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Rectangle

from pinvgcn.report.figures.drawing import BLUE, VERMILLION, inline_svg, new_figure, style


def confusion(counts: np.ndarray, class_names: tuple[str, ...], name: str) -> str:
    """A confusion matrix (rows: the true class), each row as shares of its class."""
    sizes = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    m = len(class_names)
    side = 0.72 * m
    with style():
        figure = new_figure(side + 1.35, side + 0.85)
        axes = figure.subplots()
        for true, said in np.ndindex(m, m):
            share, count = shares[true, said], counts[true, said]
            colour = BLUE if true == said else VERMILLION
            strength = 0.04 + 0.5 * share
            axes.add_patch(
                Rectangle((said - 0.47, true - 0.47), 0.94, 0.94, color=colour, alpha=strength, linewidth=0)
            )
            axes.text(
                said, true - 0.08, f"{share:.1%}" if count else "0", ha="center", va="center", fontsize=8.5
            )
            if count:
                axes.text(said, true + 0.23, f"{count:,}", ha="center", va="center", fontsize=6.5, alpha=0.75)
        axes.set_xlim(-0.5, m - 0.5)
        axes.set_ylim(m - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.set_xticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.set_yticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("answer")
        axes.set_ylabel("true class")
        return inline_svg(figure, f"confusion-{name}", "Confusion matrix, in shares of each true class.")
