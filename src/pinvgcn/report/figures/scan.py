"""Pictures of a scan: its classes, its errors, its eigenvectors, the model's confidence, a plan of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pinvgcn.checks import UNLABELLED
from pinvgcn.report.figures.drawing import (
    BLUE,
    DIVERGING,
    GREY,
    INK,
    LOWEST,
    SEQUENTIAL,
    VERMILLION,
    WIDTH,
    class_colours,
    confidence_colours,
    drawing,
    inline_svg,
    light_grid,
)
from pinvgcn.report.figures.scene import Projection, camera_for, render
from pinvgcn.scans.questions import ConfidenceMap

SIDES = (("From one side", -62.0, 38.0), ("From the other side", 118.0, 38.0), ("From above", -90.0, 89.0))
MOST = 150_000  # points that a picture has room for
IN_A_ROW = 6  # names of classes
PALE = to_rgb("#b0b0b0")
LONGEST = 2048  # pixels of a side of a plan
TALLEST = 9.0  # inches of it
MARKED = 4_000  # cells with labels that are drawn


def views(points: np.ndarray, codes: np.ndarray, class_names: tuple[str, ...]) -> str:
    """The points in the colours of their classes, from three sides."""
    if len(points) > MOST:
        rows = np.random.default_rng(0).choice(len(points), MOST, replace=False)
        points, codes = points[rows], codes[rows]
    colours = class_colours(class_names)
    cameras = [camera_for(points, azimuth=azimuth, elevation=tilt) for _, azimuth, tilt in SIDES]
    flat = max(camera.aspect for camera in cameras) < 0.6
    shape = (3, 1) if flat else (1, 3)
    heights = [WIDTH / shape[1] * camera.aspect + 0.3 for camera in cameras]
    with drawing(WIDTH, (sum(heights) if flat else max(heights)) + 0.45) as figure:
        panels = np.ravel(figure.subplots(*shape, height_ratios=heights if flat else None))
        for axes, camera, (title, _, _) in zip(panels, cameras, SIDES, strict=True):
            _panel(axes, camera, points, colours[codes], title, width=1500 if flat else 800)
        _class_legend(figure, colours, class_names)
    return inline_svg(figure, "views", "The classified scan, seen from two sides and from above.")


def tiles(
    scans: Sequence[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]], class_names: tuple[str, ...]
) -> Figure:
    """A row for each scan (title, points, truth, labels, answer): its classes, the answer, and the errors.

    Points without a known class are not drawn. Labelled points stand out in the answer.
    """
    colours = class_colours(class_names)
    cameras = [camera_for(points) for _, points, *_ in scans]
    heights = [WIDTH / 3 * camera.aspect + 0.3 for camera in cameras]
    with drawing(WIDTH, sum(heights) + 0.4) as figure:
        panels = figure.subplots(len(scans), 3, height_ratios=heights, squeeze=False)
        for row, camera, (title, points, truth, labels, codes) in zip(panels, cameras, scans, strict=True):
            known = truth != UNLABELLED
            points, truth, labels, codes = points[known], truth[known], labels[known], codes[known]
            given = labels != UNLABELLED
            wrong = ~given & (codes != truth)
            marked = np.where(wrong[:, None], to_rgb(VERMILLION), PALE)
            told = f"from {given.sum():,} labelled points" if given.any() else "without any label here"
            _panel(row[0], camera, points, colours[truth], f"{title}: the truth")
            _panel(row[1], camera, points, colours[codes], f"The answer, {told}")
            plane, _ = camera.project(points[given])
            outlined: dict[str, Any] = {"edgecolors": INK, "linewidths": 0.6, "zorder": 3}
            row[1].scatter(*plane.T, s=11, c=colours[labels[given]], **outlined)
            share = wrong.sum() / (~given).sum()
            _panel(row[2], camera, points, marked, f"Wrong: {share:.1%} of the points", on_top=wrong)
        _class_legend(figure, colours, class_names)
    return figure


def patterns(points: np.ndarray, vectors: np.ndarray, values: np.ndarray) -> str:
    """The first eigenvectors, as colours on the scan."""
    camera, count = camera_for(points), min(4, vectors.shape[1])
    with drawing(WIDTH, WIDTH / count * camera.aspect + 0.4) as figure:
        for index, axes in enumerate(np.atleast_1d(figure.subplots(1, count))):
            vector = vectors[:, index]
            limit = np.quantile(np.abs(vector), 0.98) or 1.0
            shades = DIVERGING(np.clip(vector / limit, -1, 1) / 2 + 0.5)[:, :3]
            _panel(axes, camera, points, shades, "", width=560)
            title = f"Pattern {index + 1}: λ = {values[index]:.3f}"
            axes.set_title(title, fontsize=8.5, fontweight="normal")
    return inline_svg(figure, "patterns", f"The first {count} eigenvectors of the graph, drawn on the scan.")


def confidence(points: np.ndarray, proba: np.ndarray, truth: np.ndarray, labels: np.ndarray) -> str:
    """Where the model is unsure, and how often it is right at each confidence."""
    sure = proba.max(axis=1)
    right = proba.argmax(axis=1) == truth
    asked = labels == UNLABELLED
    camera, shades = camera_for(points), confidence_colours(sure)[:, :3]
    with drawing(WIDTH, 0.62 * WIDTH * camera.aspect + 0.9) as figure:
        scene, curve = figure.subplots(1, 2, width_ratios=[1.75, 1])
        _panel(scene, camera, points, shades, "How sure the model is of each point", width=1300)
        _metres(scene, camera, points)
        shown = np.array([0.4, 0.6, 0.8, 1.0])
        scene.legend(
            handles=[
                _dot(colour, f"{p:.0%}") for colour, p in zip(confidence_colours(shown), shown, strict=True)
            ],
            title="probability of its answer",
            title_fontsize=8.5,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=4,
            handletextpad=0.1,
        )
        _reliability(curve, sure[asked], right[asked])
    return inline_svg(figure, "confidence", "The scan coloured by confidence; accuracy against confidence.")


def _reliability(axes: Axes, sure: np.ndarray, right: np.ndarray) -> None:
    """Accuracy within bins of confidence, with the share of points in each."""
    low = 0.1 * np.floor(10 * sure.min())
    edges = np.linspace(low, 1.0, round((1.0 - low) / 0.1) + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    bins = np.clip(np.digitize(sure, edges) - 1, 0, len(middle) - 1)
    count = np.bincount(bins, minlength=len(middle))
    filled = count > 0
    share = np.bincount(bins, weights=right, minlength=len(middle))[filled] / count[filled]
    dashed: dict[str, Any] = {"color": INK, "linewidth": 0.8, "linestyle": (0, (4, 3))}
    axes.bar(middle, count / count.sum(), width=0.08, color=GREY, alpha=0.55, label="share of all points")
    axes.plot([low, 1], [low, 1], label="as many as promised", **dashed)
    axes.plot(middle[filled], share, color=BLUE, marker="o", markersize=4, label="share that is right")
    axes.set(title="Is that certainty deserved?", xlabel="probability of the answer")
    axes.set(xlim=(low, 1), ylim=(0, 1.03))
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2, columnspacing=1.2)
    light_grid(axes)


def _panel(
    axes: Axes,
    camera: Projection,
    points: np.ndarray,
    colours: np.ndarray | tuple[float, float, float],
    title: str,
    *,
    width: int = 1000,
    on_top: np.ndarray | None = None,
) -> None:
    """One rendering of the scan, in the coordinates of the camera's window."""
    size = 1.9 * (width / 1000) ** 0.4 * (30_000 / len(points)) ** 0.33  # sparser scans get larger discs
    seen = np.broadcast_to(colours, (len(points), 3))
    image = render(points, seen, camera, width=width, size=float(np.clip(size, 1.0, 5.0)), on_top=on_top)
    axes.imshow(image, extent=camera.window, interpolation="antialiased", aspect="equal", zorder=2)
    axes.set_axis_off()
    axes.set_title(title)


def _class_legend(figure: Figure, colours: np.ndarray, class_names: tuple[str, ...]) -> None:
    """The names of the classes under a figure, in their colours."""
    handles = [_dot(colour, name) for colour, name in zip(colours, class_names, strict=True)]
    columns = min(len(class_names), IN_A_ROW)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handletextpad=0.2)


def _metres(axes: Axes, camera: Projection, points: np.ndarray) -> None:
    """The two floor edges nearest to the eye and an upright one, with ticks in metres."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    near = np.where(np.abs(low - camera.eye) < np.abs(high - camera.eye), low, high)
    near[2] = low[2]  # the floor
    far = low + high - near
    outward = np.sign(near - far) * 0.03 * np.linalg.norm((high - low)[:2])
    # the upright edge stands at the left one of the two corners beside the nearest one
    beside = np.array([[far[0], near[1], near[2]], [near[0], far[1], near[2]]])
    left = int(np.argmin(camera.project(beside)[0][:, 0]))
    ticks_out = np.zeros((3, 3))  # of each axis: where its ticks point to
    ticks_out[0, 1], ticks_out[1, 0], ticks_out[2, left] = outward[1], outward[0], -0.8 * outward[left]
    line: dict[str, Any] = {"color": INK, "linewidth": 0.7, "alpha": 0.55, "zorder": 1}
    placed = [np.reshape(camera.window, (2, 2)).T]
    for axis, (corner, out) in enumerate(zip((near, near, beside[left]), ticks_out, strict=True)):
        length = high[axis] - low[axis]
        locator = MaxNLocator(nbins=5 if axis == left else 2, steps=[1, 2, 5, 10])
        ticks = np.asarray(locator.tick_values(0, length))
        ticks = ticks[(ticks >= 0) & (ticks <= length)]
        along, ends = np.tile(corner, (len(ticks), 1)), np.tile(corner, (2, 1))
        along[:, axis], ends[:, axis] = low[axis] + ticks, (low[axis], high[axis])
        axes.plot(*camera.project(ends)[0].T, **line)
        start, stop, text = (camera.project(along + share * out)[0] for share in (0.0, 0.4, 1.0))
        axes.plot(*np.stack([start, stop]).T.swapaxes(1, 2), **line)
        for tick, (x, y) in zip(ticks, text, strict=True):
            words = f"{tick:g}{' m' if tick == ticks[-1] else ''}"
            align = "right" if axis == 2 else "center"
            axes.text(x, y, words, ha=align, va="center", fontsize=6.5, alpha=0.8)
        placed.append(text)
    reach = np.concatenate(placed)
    pad = 0.02 * (camera.window[1] - camera.window[0])
    (left_end, bottom), (right_end, top) = reach.min(axis=0) - pad, reach.max(axis=0) + pad
    axes.set(xlim=(left_end, right_end), ylim=(bottom, top))


def _dot(colour: Any, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker="o", markersize=6, color=colour, label=label)


def plan(cells: ConfidenceMap, places: Sequence[tuple[float, float]]) -> str:
    """The scan from above: cells coloured by confidence, those with labels marked, numbers at ``places``."""
    image, extent = _image(cells)
    shape = (extent[3] - extent[2]) / (extent[1] - extent[0])
    labelled = np.flatnonzero(cells.labels)
    at = cells.low[labelled[:: -(-len(labelled) // MARKED) or 1]] + cells.side / 2
    disc: dict[str, Any] = {"facecolors": "white", "edgecolors": "black", "linewidths": 1.0, "zorder": 4}
    bold: dict[str, Any] = {"fontsize": 7.5, "fontweight": "bold", "color": "black", "zorder": 5}
    bold |= {"ha": "center", "va": "center_baseline"}
    bold["path_effects"] = [withStroke(linewidth=2.2, foreground="white")]
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
            above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2}
            axes.legend(borderaxespad=0.3, handletextpad=0.1, **above)
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
