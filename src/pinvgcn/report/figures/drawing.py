"""What every figure shares: its looks, its colours, and the way into a page or a file.

Figures are drawn in one ink that is replaced by the page's text colour when they are inlined, and
their background is transparent: the same figure reads well on a light page and on a dark one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure

WIDTH = 10.0  # inches of a figure as wide as the page
PIXELS = 95  # of a page for each inch
STYLE = Path(__file__).with_name("report.mplstyle")

INK = "#0a0b0c"  # stands for the text colour of the page
GREY = "#9a9a9a"  # recedes on light and on dark

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart
BLUE, ORANGE, GREEN, VERMILLION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY, YELLOW = "#cc79a7", "#56b4e9", "#f0e442"
PALETTE = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, YELLOW, GREY)
FAMILIAR = {
    "ground": GREY, "facade": ORANGE, "vegetation": GREEN, "pole": BLUE, "wire": VERMILLION,
    "building": ORANGE, "low vegetation": YELLOW, "high vegetation": GREEN, "wire conductor": VERMILLION,
}  # fmt: skip

DIVERGING = LinearSegmentedColormap.from_list("blue_grey_vermillion", [BLUE, "#b8b8b8", VERMILLION])
SEQUENTIAL = LinearSegmentedColormap.from_list("vermillion_grey", [VERMILLION, ORANGE, "#c9c9c9"])
LOWEST = 0.4  # confidence of the strongest colour


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """An empty figure, in inches, without a window system; what is drawn inside has the looks of all."""
    with mpl.rc_context(fname=STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def light_grid(axes: Axes, axis: str = "y") -> None:
    """Faint lines behind the data."""
    axes.grid(True, axis=axis, color=INK, alpha=0.12, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)


def inline_svg(figure: Figure, name: str, alternative: str) -> Markup:
    """The figure as an ``<svg>`` element that needs nothing outside of itself.

    ``name`` keeps its identifiers apart from those of other figures on the same page;
    ``alternative`` is read to people who cannot see it.
    """
    svg = _svg(figure, transparent=True, dpi=200)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:xlink)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg).replace("url(#", f"url(#{name}-")
    svg = svg.replace(INK, "currentColor")
    # a small figure stays small, so that all have letters of one size
    width = figure.get_figwidth()
    small = f' style="max-width: {PIXELS * width:.0f}px"' if width < WIDTH else ""
    tag = rf'<svg class="figure" viewBox="\1" role="img"{small}>'
    svg = re.sub(r'^<svg[^>]*?viewBox="([^"]*)"[^>]*>', tag, svg)
    return Markup(svg.replace(">", f"><title>{escape(alternative)}</title>", 1))


def standalone_svg(figure: Figure) -> str:
    """The figure as a file of its own, dark on white."""
    svg = _svg(figure, facecolor="white")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def write_png(figure: Figure, path: Path) -> None:
    """The figure as pixels, dark on white."""
    with mpl.rc_context(fname=STYLE):
        figure.savefig(path, format="png", dpi=160, facecolor="white", metadata={"Software": None})


def _svg(figure: Figure, **options: Any) -> str:
    buffer = io.StringIO()
    with mpl.rc_context(fname=STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, **options)
    return buffer.getvalue()


def class_colours(names: tuple[str, ...]) -> np.ndarray:
    """One colour (m, 3) a class: the familiar one for a familiar name, else the next of the palette."""
    taken = {FAMILIAR[name] for name in names if name in FAMILIAR}
    free = iter([colour for colour in PALETTE if colour not in taken] * (1 + len(names) // len(PALETTE)))
    return np.array([to_rgb(FAMILIAR[name] if name in FAMILIAR else next(free)) for name in names])


def confidence_colours(confidence: np.ndarray) -> np.ndarray:
    """RGBA (..., 4): grey where the model is sure, the stronger the less it is."""
    return np.asarray(SEQUENTIAL(np.clip((confidence - LOWEST) / (1 - LOWEST), 0, 1)))
