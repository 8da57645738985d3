"""Pictures of a scan: its classes, its errors, its eigenvectors, the model's confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pinvgcn.checks import UNLABELLED
from pinvgcn.report.figures.drawing import (
    BLUE,
    DIVERGING,
    GREY,
    INK,
    SEQUENTIAL,
    VERMILLION,
    WIDTH,
    class_colours,
    inline_svg,
    light_grid,
    new_figure,
    style,
)
from pinvgcn.report.figures.scene import Projection, camera_for, render

MOST_IN_A_ROW = 6  # names of classes
PALE = to_rgb("#b0b0b0")


def segmentation(
    points: np.ndarray,
    truth: np.ndarray,
    labels: np.ndarray,
    codes: np.ndarray,
    class_names: tuple[str, ...],
) -> str:
    """The scan four times: the labels that were given, the answer, the truth, and the errors."""
    colours = class_colours(class_names)
    camera = camera_for(points)
    asked = labels == UNLABELLED
    wrong = asked & (codes != truth)
    share = wrong.sum() / asked.sum()
    with style():
        figure = new_figure(WIDTH, 2 * (WIDTH / 2 * camera.aspect + 0.45) + 0.35)
        given, answer, true, errors = figure.subplots(2, 2).ravel()
        panel(given, camera, points, PALE, f"What the model was told: {np.sum(~asked):,} labelled points")
        _mark(given, camera, points[~asked], colours[labels[~asked]])
        panel(answer, camera, points, colours[codes], f"What it answered for the other {asked.sum():,}")
        panel(true, camera, points, colours[truth], "The truth")
        marked = np.where(wrong[:, None], to_rgb(VERMILLION), PALE)
        panel(
            errors, camera, points, marked, f"Its errors: {wrong.sum():,} points ({share:.1%})", on_top=wrong
        )
        for axes in (given, answer, true, errors):
            _metres(axes, camera, points)
        class_legend(figure, colours, class_names)
        return inline_svg(
            figure,
            "segmentation",
            "Four views of the scan: the labelled points, the predicted classes, the true classes, and "
            f"the {share:.1%} of points that were classified wrongly.",
        )


def patterns(points: np.ndarray, vectors: np.ndarray, values: np.ndarray, *, count: int = 4) -> str:
    """The first eigenvectors, as colours on the scan."""
    camera = camera_for(points)
    count = min(count, vectors.shape[1])
    with style():
        figure = new_figure(WIDTH, WIDTH / count * camera.aspect + 0.4)
        for index, axes in enumerate(np.atleast_1d(figure.subplots(1, count))):
            vector = vectors[:, index]
            limit = np.quantile(np.abs(vector), 0.98) or 1.0
            shades = DIVERGING(np.clip(vector / limit, -1, 1) / 2 + 0.5)[:, :3]
            panel(axes, camera, points, shades, "", width=560)
            title = f"Pattern {index + 1}: λ = {values[index]:.3f}"
            axes.set_title(title, fontsize=8.5, fontweight="normal")
        return inline_svg(
            figure, "patterns", f"The first {count} eigenvectors of the graph, drawn on the scan."
        )


def confidence(points: np.ndarray, proba: np.ndarray, truth: np.ndarray, labels: np.ndarray) -> str:
    """Where the model is unsure, and whether its certainty can be trusted."""
    sure = proba.max(axis=1)
    right = proba.argmax(axis=1) == truth
    asked = labels == UNLABELLED
    camera = camera_for(points)
    with style():
        figure = new_figure(WIDTH, 0.62 * WIDTH * camera.aspect + 0.9)
        scene, curve = figure.subplots(1, 2, width_ratios=[1.75, 1])
        shown = np.clip((sure - 0.4) / 0.6, 0, 1)
        panel(
            scene, camera, points, SEQUENTIAL(shown)[:, :3], "How sure the model is of each point", width=1300
        )
        _metres(scene, camera, points)
        scene.legend(
            handles=[_dot(SEQUENTIAL((p - 0.4) / 0.6)[:3], f"{p:.0%}") for p in (0.4, 0.6, 0.8, 1.0)],
            title="probability of its answer",
            title_fontsize=8.5,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=4,
            handletextpad=0.1,
        )
        _reliability(curve, sure[asked], right[asked])
        return inline_svg(
            figure, "confidence", "The scan coloured by confidence; accuracy against confidence."
        )


def _reliability(axes: Axes, sure: np.ndarray, right: np.ndarray) -> None:
    """Accuracy within bins of confidence, with the share of points in each."""
    low = 0.1 * np.floor(10 * sure.min())
    edges = np.linspace(low, 1.0, round((1.0 - low) / 0.1) + 1)
    bins = np.clip(np.digitize(sure, edges) - 1, 0, len(edges) - 2)
    count = np.bincount(bins, minlength=len(edges) - 1)
    hits = np.bincount(bins, weights=right, minlength=len(edges) - 1)
    filled = count > 0
    middle = (edges[:-1] + edges[1:]) / 2
    axes.bar(middle, count / count.sum(), width=0.08, color=GREY, alpha=0.55, label="share of all points")
    axes.plot(
        [low, 1], [low, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), label="as many as promised"
    )
    share = hits[filled] / count[filled]
    axes.plot(middle[filled], share, color=BLUE, marker="o", markersize=4, label="share that is right")
    axes.set_xlim(low, 1)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("probability of the answer")
    axes.set_title("Is that certainty deserved?")
    axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2, columnspacing=1.2)
    light_grid(axes)


def panel(
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
    image = render(
        points,
        np.broadcast_to(colours, (len(points), 3)),
        camera,
        width=width,
        size=float(np.clip(size, 1.0, 5.0)),
        on_top=on_top,
    )
    axes.imshow(image, extent=camera.window, interpolation="antialiased", aspect="equal", zorder=2)
    axes.set_axis_off()
    axes.set_title(title)


def class_legend(figure: Figure, colours: np.ndarray, class_names: tuple[str, ...]) -> None:
    """The names of the classes under a figure, in their colours."""
    figure.legend(
        handles=[_dot(colour, name) for colour, name in zip(colours, class_names, strict=True)],
        loc="outside lower center",
        ncols=min(len(class_names), MOST_IN_A_ROW),
        handletextpad=0.2,
    )


def _mark(axes: Axes, camera: Projection, points: np.ndarray, colours: np.ndarray) -> None:
    """A few points as discs with an outline."""
    plane, _ = camera.project(points)
    axes.scatter(plane[:, 0], plane[:, 1], s=15, c=colours, edgecolors=INK, linewidths=0.6, zorder=3)


def _metres(axes: Axes, camera: Projection, points: np.ndarray) -> None:
    """The two floor edges nearest to the eye and an upright one, with ticks in metres."""
    low, high = np.quantile(points, [0.001, 0.999], axis=0)
    near = np.where(np.abs(low - camera.eye) < np.abs(high - camera.eye), low, high)
    near[2] = low[2]  # the floor
    far = low + high - near
    outward = np.sign(near - far) * 0.03 * np.linalg.norm((high - low)[:2])
    placed: list[np.ndarray] = [np.reshape(camera.window, (2, 2)).T]

    # the upright edge stands at the left one of the two corners beside the nearest one
    beside = np.array([[far[0], near[1], near[2]], [near[0], far[1], near[2]]])
    left = int(np.argmin(camera.project(beside)[0][:, 0]))
    side = np.zeros(3)
    side[left] = -0.8 * outward[left]
    edges = (
        (0, near, np.array([0.0, outward[1], 0.0])),
        (1, near, np.array([outward[0], 0.0, 0.0])),
        (2, beside[left], side),
    )
    for axis, corner, out in edges:
        length = high[axis] - low[axis]
        locator = MaxNLocator(nbins=5 if axis == left else 2, steps=[1, 2, 5, 10])
        ticks = np.asarray(locator.tick_values(0, length))
        ticks = ticks[(ticks >= 0) & (ticks <= length)]
        along = np.tile(corner, (len(ticks), 1))
        along[:, axis] = low[axis] + ticks
        ends = np.array([corner, corner])
        ends[:, axis] = low[axis], high[axis]
        line, _ = camera.project(ends)
        axes.plot(line[:, 0], line[:, 1], color=INK, linewidth=0.7, alpha=0.55, zorder=1)
        start, _ = camera.project(along)
        stop, _ = camera.project(along + 0.4 * out)
        text, _ = camera.project(along + out)
        for tick, a, b, c in zip(ticks, start, stop, text, strict=True):
            axes.plot([a[0], b[0]], [a[1], b[1]], color=INK, linewidth=0.7, alpha=0.55, zorder=1)
            unit = " m" if tick == ticks[-1] else ""
            align = "right" if axis == 2 else "center"
            axes.text(c[0], c[1], f"{tick:g}{unit}", ha=align, va="center", fontsize=6.5, alpha=0.8)
        placed.append(text)
    reach = np.concatenate(placed)
    pad = 0.02 * (camera.window[1] - camera.window[0])
    axes.set_xlim(reach[:, 0].min() - pad, reach[:, 0].max() + pad)
    axes.set_ylim(reach[:, 1].min() - pad, reach[:, 1].max() + pad)


def _dot(colour: Any, label: str) -> Line2D:
    return Line2D([], [], linestyle="", marker="o", markersize=6, color=colour, label=label)
