"""Which classes get mistaken for which."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from pinvgcn.report.figures.drawing import drawing, inline_svg
from pinvgcn.report.figures.palette import BLUE, VERMILLION


def confusion(counts: np.ndarray, class_names: tuple[str, ...], name: str) -> str:
    """A confusion matrix (rows: the true class), each row as shares of its class."""
    sizes = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    m = len(class_names)
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    with drawing(0.72 * m + 1.35, 0.72 * m + 0.85) as figure:
        axes = figure.subplots()
        for (true, said), share in np.ndenumerate(shares):
            count = counts[true, said]
            look: dict[str, Any] = {
                "color": BLUE if true == said else VERMILLION,
                "alpha": 0.04 + 0.5 * share,
            }
            axes.add_patch(Rectangle((said - 0.47, true - 0.47), 0.94, 0.94, linewidth=0, **look))
            axes.text(said, true - 0.08, f"{share:.1%}" if count else "0", fontsize=8.5, **centred)
            if count:
                axes.text(said, true + 0.23, f"{count:,}", fontsize=6.5, alpha=0.75, **centred)
        axes.set(
            xlim=(-0.5, m - 0.5), ylim=(m - 0.5, -0.5), aspect="equal", xlabel="answer", ylabel="true class"
        )
        axes.set_xticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.set_yticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return inline_svg(figure, f"confusion-{name}", "Confusion matrix, in shares of each true class.")
