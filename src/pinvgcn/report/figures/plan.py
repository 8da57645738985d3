"""A scan from above, coloured by how sure the model is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pinvgcn.report.figures.drawing import WIDTH, drawing, inline_svg
from pinvgcn.report.figures.palette import BLUE, LOWEST, SEQUENTIAL, confidence_colours
from pinvgcn.scans.questions import ConfidenceMap

LONGEST = 2048  # pixels of a side
TALLEST = 9.0  # inches
MARKED = 4_000  # cells with labels that are drawn


def plan(cells: ConfidenceMap, places: Sequence[tuple[float, float]]) -> str:
    """The cells in their colours, those with labels marked, and numbers at ``places``."""
    image, extent = _image(cells)
    shape = (extent[3] - extent[2]) / (extent[1] - extent[0])
    labelled = np.flatnonzero(cells.labels)
    at = cells.low[labelled[:: -(-len(labelled) // MARKED) or 1]] + cells.side / 2
    disc: dict[str, Any] = {"facecolors": "white", "edgecolors": "black", "linewidths": 1.0, "zorder": 4}
    bold: dict[str, Any] = {"fontsize": 7.5, "fontweight": "bold", "color": "black", "zorder": 5}
    bold |= {
        "ha": "center",
        "va": "center_baseline",
        "path_effects": [withStroke(linewidth=2.2, foreground="white")],
    }
    with drawing(WIDTH, min(0.86 * WIDTH * shape + 0.8, TALLEST)) as figure:
        axes = figure.subplots()
        axes.imshow(image, extent=extent, origin="lower", interpolation="nearest", aspect="equal", zorder=2)
        dots: dict[str, Any] = {"c": BLUE, "edgecolors": "white", "linewidths": 0.5, "zorder": 3}
        axes.scatter(at[:, 0], at[:, 1], s=15, label="labelled points", **dots)
        for number, (x, y) in enumerate(places, start=1):
            axes.scatter([x], [y], s=150, **disc)
            axes.text(x, y, str(number), **bold)
        if places:
            axes.scatter([], [], s=60, label="place where a label would help most", **disc)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        axes.set(xlabel="x", ylabel="y")
        colours = ScalarMappable(Normalize(LOWEST, 1.0), SEQUENTIAL)
        scale = figure.colorbar(
            colours, ax=axes, shrink=0.55, aspect=26, pad=0.015, extend="min", label="mean confidence"
        )
        scale.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
        scale.outline.set_visible(False)
        if len(labelled) or places:
            axes.legend(
                loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.3, handletextpad=0.1, ncols=2
            )
    what = "The scan from above, coloured by the model's mean confidence; labelled points and the places"
    return inline_svg(figure, "plan", f"{what} where a label would help most are marked.")


def _image(cells: ConfidenceMap) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """RGBA (height, width, 4), and where it lies. Strays far away are left out of a map that would show
    nothing else."""
    place = np.rint((cells.low - cells.low.min(axis=0)) / cells.side).astype(np.int64)  # (n, 2)
    stays = np.ones(len(place), dtype=bool)
    for at in place.T:
        if at.max() >= LONGEST:
            low, high = np.quantile(np.repeat(at, np.maximum(cells.points, 1).clip(max=100)), [0.001, 0.999])
            stays &= (at >= low) & (at <= high)
    place, corner = place[stays] - place[stays].min(axis=0), cells.low[stays].min(axis=0)
    fine = max(1, -(-int(place.max()) // LONGEST))  # cells of a pixel
    column, row = (place // fine).T
    points, shape = cells.points[stays], (int(row.max()) + 1, int(column.max()) + 1)
    total, weight = np.zeros(shape), np.zeros(shape)
    np.add.at(total, (row, column), np.nan_to_num(cells.confidence[stays]) * points)
    np.add.at(weight, (row, column), points)
    mean = np.divide(total, weight, out=np.ones(shape), where=weight > 0)
    image = confidence_colours(mean)
    image[..., 3] = weight > 0
    side = cells.side * fine
    return image, (corner[0], corner[0] + shape[1] * side, corner[1], corner[1] + shape[0] * side)
