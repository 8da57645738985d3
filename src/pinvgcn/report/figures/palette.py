"""The colours of all figures."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb

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


def class_colours(names: tuple[str, ...]) -> np.ndarray:
    """One colour (m, 3) a class: the familiar one for a familiar name, else the next of the palette."""
    taken = {FAMILIAR[name] for name in names if name in FAMILIAR}
    free = iter([colour for colour in PALETTE if colour not in taken] * (1 + len(names) // len(PALETTE)))
    return np.array([to_rgb(FAMILIAR[name] if name in FAMILIAR else next(free)) for name in names])


def confidence_colours(confidence: np.ndarray) -> np.ndarray:
    """RGBA (..., 4): grey where the model is sure, the stronger the less it is."""
    return np.asarray(SEQUENTIAL(np.clip((confidence - LOWEST) / (1 - LOWEST), 0, 1)))
