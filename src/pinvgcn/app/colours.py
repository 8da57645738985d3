"""What a point looks like: (n, 3) bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps

from pinvgcn.app.labels import NONE, Category

GREY = (150, 150, 150)
UNSURE = 0.35  # of a colour that is left where nothing is sure


def by_value(values: np.ndarray, scale: str = "cividis") -> np.ndarray:
    """Along a scale that all people can read, between the 1st and the 99th of a hundred."""
    low, high = np.percentile(values, [1, 99])
    share = np.clip((values - low) / (high - low), 0, 1) if high > low else np.full(len(values), 0.5)
    colours: np.ndarray = (colormaps[scale](share)[:, :3] * 255).astype(np.uint8)
    return colours


def by_own_colour(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> np.ndarray:
    """The scan's own colours, which have 8 or 16 bits or lie in 0 to 1."""
    colours = np.stack([red, green, blue], axis=1).astype(np.float64)
    largest = colours.max(initial=0)
    unit = 1 if largest <= 1 and red.dtype.kind == "f" else 255 if largest <= 255 else 65535
    return (colours / unit * 255).astype(np.uint8)


def by_class(numbers: np.ndarray, classes: Sequence[Category]) -> np.ndarray:
    """The colour of each point's class, grey where it has none."""
    colours = np.full((len(numbers), 3), GREY, dtype=np.uint8)
    for category in classes:
        colours[numbers == category.number] = category.colour
    return colours


def paled(colours: np.ndarray, sureness: np.ndarray, classes: int) -> np.ndarray:
    """Colours that fade towards grey where the class is little more than a guess."""
    lowest = 1 / max(classes, 2)
    share = UNSURE + (1 - UNSURE) * np.clip((sureness - lowest) / (1 - lowest), 0, 1)[:, None]
    return (share * colours + (1 - share) * np.array(GREY)).astype(np.uint8)


def numbers_of(codes: np.ndarray, classes: Sequence[Category]) -> np.ndarray:
    """From places in a list of classes to their numbers."""
    known = np.array([category.number for category in classes] or [NONE])
    numbers: np.ndarray = known[codes]
    return numbers
