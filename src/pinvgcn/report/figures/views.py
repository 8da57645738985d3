"""A classified scan from three sides."""

from __future__ import annotations

import numpy as np

from pinvgcn.report.figures.drawing import WIDTH, class_colours, inline_svg, new_figure, style
from pinvgcn.report.figures.scan import class_legend, panel
from pinvgcn.report.figures.scene import camera_for

SIDES = (("From one side", -62.0, 38.0), ("From the other side", 118.0, 38.0), ("From above", -90.0, 89.0))
MOST = 150_000  # points that a picture has room for


def views(points: np.ndarray, codes: np.ndarray, class_names: tuple[str, ...]) -> str:
    """The points in the colours of their classes."""
    if len(points) > MOST:
        rows = np.random.default_rng(0).choice(len(points), MOST, replace=False)
        points, codes = points[rows], codes[rows]
    colours = class_colours(class_names)
    cameras = [camera_for(points, azimuth=azimuth, elevation=tilt) for _, azimuth, tilt in SIDES]
    flat = max(camera.aspect for camera in cameras) < 0.6
    shape = (3, 1) if flat else (1, 3)
    width = WIDTH / shape[1]
    heights = [width * camera.aspect + 0.3 for camera in cameras]
    height = sum(heights) if flat else max(heights)
    ratios = heights if flat else None
    with style():
        figure = new_figure(WIDTH, height + 0.45)
        for axes, camera, (title, _, _) in zip(
            np.ravel(figure.subplots(*shape, height_ratios=ratios)), cameras, SIDES, strict=True
        ):
            panel(axes, camera, points, colours[codes], title, width=1500 if flat else 800)
        class_legend(figure, colours, class_names)
        return inline_svg(figure, "views", "The classified scan, seen from two sides and from above.")
