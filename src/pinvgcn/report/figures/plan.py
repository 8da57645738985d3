"""A scan from above, coloured by how sure the model is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pinvgcn.report.figures.drawing import (
    BLUE,
    SEQUENTIAL,
    WIDTH,
    inline_svg,
    new_figure,
    style,
)
from pinvgcn.scans.confidence_map import ConfidenceMap

LOWEST = 0.4  # confidence of the strongest colour
LONGEST = 2048  # pixels of a side
TALLEST = 9.0  # inches
MARKED = 4_000  # cells with labels that are drawn


def plan(cells: ConfidenceMap, places: Sequence[tuple[float, float]]) -> str:
    """The cells in their colours, those with labels marked, and numbers at ``places``."""
    image, extent = _image(cells)
    shape = (extent[3] - extent[2]) / (extent[1] - extent[0])
    with style():
        figure = new_figure(WIDTH, min(0.86 * WIDTH * shape + 0.5, TALLEST))
        axes = figure.subplots()
        axes.imshow(image, extent=extent, origin="lower", interpolation="nearest", aspect="equal", zorder=2)
        labelled = np.flatnonzero(cells.labels)
        step = -(-len(labelled) // MARKED) or 1
        at = cells.low[labelled[::step]] + cells.side / 2
        axes.scatter(
            at[:, 0], at[:, 1], s=15, c=BLUE, edgecolors="white", linewidths=0.5, zorder=3,
            label="labelled points",
        )  # fmt: skip
        halo = [withStroke(linewidth=2.2, foreground="white")]
        for number, (x, y) in enumerate(places, start=1):
            named = "place where a label would help most" if number == 1 else None
            axes.scatter(
                [x], [y], s=150, facecolors="white", edgecolors="black", linewidths=1.0, zorder=4, label=named
            )
            axes.text(
                x, y, str(number), ha="center", va="center_baseline", fontsize=7.5, fontweight="bold",
                color="black", path_effects=halo, zorder=5,
            )  # fmt: skip
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        axes.set_xlabel("x")
        axes.set_ylabel("y")
        scale = figure.colorbar(
            ScalarMappable(Normalize(LOWEST, 1.0), SEQUENTIAL), ax=axes, shrink=0.55, aspect=26, pad=0.015,
            extend="min", label="mean confidence",
        )  # fmt: skip
        scale.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
        scale.outline.set_visible(False)
        if len(labelled) or places:
            axes.legend(
                loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, handletextpad=0.1, ncols=2
            )
        return inline_svg(
            figure,
            "plan",
            "The scan from above, coloured by the model's mean confidence; labelled points and the places "
            "where a label would help most are marked.",
        )


def _image(cells: ConfidenceMap) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """RGBA (height, width, 4), and where it lies. Strays far away are left out of a map that would show
    nothing else."""
    column, row = np.rint((cells.low - cells.low.min(axis=0)) / cells.side).astype(np.int64).T
    stays = np.ones(len(column), dtype=bool)
    for at in (column, row):
        if at.max() >= LONGEST:
            low, high = np.quantile(np.repeat(at, np.maximum(cells.points, 1).clip(max=100)), [0.001, 0.999])
            stays &= (at >= low) & (at <= high)
    column, row, low = column[stays], row[stays], cells.low[stays].min(axis=0)
    column, row = column - column.min(), row - row.min()
    fine = max(1, -(-max(int(column.max()), int(row.max()), 0) // LONGEST))
    column, row = column // fine, row // fine
    sure, points = cells.confidence[stays], cells.points[stays]
    shape = (int(row.max()) + 1, int(column.max()) + 1)
    total, weight = np.zeros(shape), np.zeros(shape)
    np.add.at(total, (row, column), np.nan_to_num(sure) * points)
    np.add.at(weight, (row, column), points)
    there = weight > 0
    mean = np.divide(total, weight, out=np.ones(shape), where=there)
    image = SEQUENTIAL(np.clip((mean - LOWEST) / (1 - LOWEST), 0, 1))
    image[..., 3] = there
    side = cells.side * fine
    return image, (low[0], low[0] + shape[1] * side, low[1], low[1] + shape[0] * side)
