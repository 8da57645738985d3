"""Draws a scan as seen from above and aside, with a bar of known length. The examples of scans share it."""

import numpy as np
from matplotlib.colors import to_rgb

from pinvgcn.report.figures.drawing import DIVERGING, class_colours
from pinvgcn.report.figures.scene import camera_for, render

__all__ = ["DIVERGING", "PALE", "class_colours", "draw_scan"]

PALE = to_rgb("#c4c4c4")


def draw_scan(axes, points, colours, title, *, marks=None, on_top=None, bar=10.0):
    """``colours``: one or (n, 3); ``marks``: points and colours to outline; ``on_top``: never hidden."""
    camera = camera_for(points, azimuth=-74.0)
    image = render(
        points,
        np.broadcast_to(colours, (len(points), 3)),
        camera,
        width=1100,
        size=2.4 * (10_000 / len(points)) ** 0.33,
        on_top=on_top,
    )
    axes.imshow(image, extent=camera.window, interpolation="antialiased", aspect="equal")
    if marks is not None:
        plane, _ = camera.project(marks[0])
        axes.scatter(*plane.T, s=16, c=marks[1], edgecolors="black", linewidths=0.6)

    # a bar on the ground, along the first axis, at the edge nearest to the eye
    low, high = points.min(axis=0), points.max(axis=0)
    near = low[1] if abs(low[1] - camera.eye[1]) < abs(high[1] - camera.eye[1]) else high[1]
    near += 0.08 * np.sign(near - points[:, 1].mean()) * (high[1] - low[1])
    start = low[0] + 0.55 * (high[0] - low[0])
    ends, _ = camera.project(np.array([[start, near, low[2]], [start + bar, near, low[2]]]))
    axes.plot(*ends.T, color="black", linewidth=2, solid_capstyle="butt")
    below = {"xytext": (-3, -3), "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(f"{bar:g} m", ends.mean(axis=0), fontsize=8, **below)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_axis_off()
