"""What points look like, and the legend that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps

from pinvgcn.app.cloud import Cloud, Shown
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import NONE, Category
from pinvgcn.app.session import View

GREY = (150, 150, 150)
UNSURE = 0.35  # of a colour that is left where nothing is sure
SCALE = "cividis"  # which people with any kind of colour vision can read
FIELDS = {"intensity": "intensity", "return": "return_number", "returns": "number_of_returns"}


@dataclass(frozen=True)
class ColourScale:
    """What the two ends of a scale of colours stand for."""

    low: float
    high: float
    unit: str = ""


@dataclass(frozen=True)
class Picture:
    """Colours of the drawn points (m, 3), and their scale where they show a value."""

    colours: np.ndarray
    scale: ColourScale | None = None


def modes(cloud: Cloud, *, known: bool) -> list[str]:
    """What points can be coloured by."""
    found = ["prediction", "confidence", "labels", "height", "height above ground"]
    found += [mode for mode, field in FIELDS.items() if field in cloud.fields]
    if {"red", "green", "blue"} <= set(cloud.fields):
        found.append("own colour")
    return found + (["classes of the file"] if known else [])


def picture(
    mode: str,
    view: View,
    shown: Shown,
    cloud: Cloud,
    *,
    above_ground: np.ndarray | None = None,
    known: KnownClasses | None = None,
) -> Picture:
    """The drawn points by a mode. ``above_ground`` (s,) is of the sample."""
    if mode == "classes of the file" and known is not None:
        return Picture(by_class(known.codes[shown.index], known.categories(view.classes)))
    if mode == "height above ground" and above_ground is not None:
        return by_value(above_ground[shown.rows], "m")
    if mode in FIELDS:
        return by_value(cloud.fields[FIELDS[mode]][shown.index].astype(np.float64))
    if mode == "own colour":
        return Picture(by_own_colour(*(cloud.fields[name][shown.index] for name in ("red", "green", "blue"))))
    if mode in ("prediction", "confidence") and (view.answer is not None or view.refined is not None):
        numbers, sureness = predicted(view, shown)
        if mode == "confidence":
            return by_value(sureness)
        colours = paled(by_class(numbers, view.classes), sureness, len(view.classes))
        _put_labels(colours, view, shown)
        return Picture(colours)
    if mode in ("labels", "prediction", "confidence") and len(view.labelled):
        colours = np.full((len(shown), 3), GREY, dtype=np.uint8)
        _put_labels(colours, view, shown)
        return Picture(colours)
    return by_value(shown.points[:, 2] - shown.points[:, 2].min(initial=0.0), "m")


def predicted(view: View, shown: Shown) -> tuple[np.ndarray, np.ndarray]:
    """The class of each drawn point and how sure it is: the refined answer if it is there, else the live."""
    if view.refined is not None:
        return view.refined.numbers[shown.index], view.refined.confidence[shown.index]
    assert view.answer is not None
    return view.answer.numbers[shown.rows], view.answer.sureness[shown.rows]


def _put_labels(colours: np.ndarray, view: View, shown: Shown) -> None:
    at = np.searchsorted(shown.index, view.labelled)
    at[at == len(shown)] = 0
    drawn = shown.index[at] == view.labelled if len(shown) else np.zeros(len(at), dtype=bool)
    colours[at[drawn]] = by_class(view.numbers[drawn], view.classes)


def by_value(values: np.ndarray, unit: str = "") -> Picture:
    """Along the scale, between the 1st and the 99th of a hundred."""
    low, high = np.percentile(values, [1, 99]) if len(values) else (0.0, 1.0)
    share = np.clip((values - low) / (high - low), 0, 1) if high > low else np.full(len(values), 0.5)
    colours = (colormaps[SCALE](share)[:, :3] * 255).astype(np.uint8)
    return Picture(colours, ColourScale(float(low), float(high), unit))


def by_own_colour(red: np.ndarray, green: np.ndarray, blue: np.ndarray) -> np.ndarray:
    """The scan's own colours, which have 8 or 16 bits or lie in 0 to 1."""
    colours = np.stack([red, green, blue], axis=1).astype(np.float64)
    largest = colours.max(initial=0)
    unit = 1 if largest <= 1 and red.dtype.kind == "f" else 255 if largest <= 255 else 65535
    return (colours / unit * 255).astype(np.uint8)


def by_class(numbers: np.ndarray, classes: Sequence[Category]) -> np.ndarray:
    """The colour of each point's class, grey where it has none."""
    most = max([int(numbers.max(initial=0)), *(category.number for category in classes)])
    table = np.tile(np.array(GREY, dtype=np.uint8), (most + 2, 1))
    for category in classes:
        table[category.number] = category.colour
    colours: np.ndarray = table[numbers]  # NONE is the last row
    return colours


def paled(colours: np.ndarray, sureness: np.ndarray, classes: int) -> np.ndarray:
    """Colours that fade towards grey where the class is little more than a guess."""
    lowest = 1 / max(classes, 2)
    share = sureness.astype(np.float32)
    share -= np.float32(lowest)
    share *= np.float32((1 - UNSURE) / (1 - lowest))
    np.clip(share, 0, 1 - UNSURE, out=share)
    share += np.float32(UNSURE)
    grey = np.array(GREY, dtype=np.float32)
    return np.rint(share[:, None] * (colours - grey) + grey).astype(np.uint8)


def counts(numbers: np.ndarray, classes: Sequence[Category]) -> dict[int, int]:
    """How many points have each class."""
    often = np.bincount(numbers[numbers != NONE], minlength=1 + max((c.number for c in classes), default=0))
    return {category.number: int(often[category.number]) for category in classes}
