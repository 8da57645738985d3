"""Which labels a method gets to see."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from pinvgcn.checks import UNLABELLED, as_points, check_count, encode_labels
from pinvgcn.datasets.dataset import Dataset
from pinvgcn.errors import LabelError, ParameterError


def random_split(
    y: Any, per_class: int = 10, *, random_state: int | np.random.Generator | None = 0
) -> np.ndarray:
    """The labels with all but ``per_class`` random rows of each class unlabelled.

    Unlabelled is -1 among numbers and None among other labels, on the way in and out. Equal
    arguments give equal splits; ``random_state=None`` draws a new one each time.
    """
    per_class = check_count("per_class", per_class)
    generator = as_generator(random_state)
    classes, codes = encode_labels(y, len(y) if hasattr(y, "__len__") else 0)
    chosen = np.concatenate([_draw(name, codes == c, per_class, generator) for c, name in enumerate(classes)])
    return _only(chosen, classes[codes])


def clicked_split(
    points: Any,
    y: Any,
    *,
    places: int = 5,
    per_place: int = 20,
    random_state: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """The labels of ``places`` clicks for each class, each on ``per_place`` points: the others unlabelled.

    A click goes to a random point (n, d) of its class that has no label yet, and labels that point and those
    of its class nearest to it that have none either. Labels of people come so: a few patches of a scene,
    and nothing of the rest of it. Each class gets ``places`` · ``per_place`` labels.
    """
    places, per_place = check_count("places", places), check_count("per_place", per_place)
    generator = as_generator(random_state)
    x = as_points(points)
    classes, codes = encode_labels(y, len(x), "points")
    chosen = []
    for c, name in enumerate(classes):
        left = np.flatnonzero(codes == c)
        if len(left) < places * per_place:
            raise LabelError(
                f"Every class must have at least places * per_place = {places * per_place} labelled points. "
                f"Got {len(left)} of class {name!s}; lower one of them, or leave that class out."
            )
        for _ in range(places):
            distance = ((x[left] - x[generator.choice(left)]) ** 2).sum(axis=1)
            order = np.argsort(distance, kind="stable")
            chosen.append(left[order[:per_place]])
            left = np.sort(left[order[per_place:]])
    return _only(np.concatenate(chosen), classes[codes])


def planetoid_split(dataset: Dataset) -> np.ndarray:
    """A citation network's codes with all but its standard training rows set to -1."""
    if dataset.split is None:
        raise ParameterError(
            f"dataset must have a standard split, as citation networks do. Got {dataset.name!r}, "
            "which has none; use random_split(dataset.y)."
        )
    return _only(dataset.split.train, dataset.y)


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """The source of randomness that ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if random_state is not None and not (whole and random_state >= 0):
        raise ParameterError(
            "random_state must be None, a whole number, zero or more, or a numpy Generator. "
            f"Got {random_state!r} instead."
        )
    return np.random.default_rng(random_state)


def _draw(name: Any, members: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    rows = np.flatnonzero(members)
    if len(rows) < count:
        raise LabelError(
            f"Every class must have at least per_class = {count} labelled rows. "
            f"Got {len(rows)} of class {name!s}; lower per_class, or leave that class out."
        )
    return generator.choice(rows, count, replace=False)


def _only(chosen: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The labels of the chosen rows; every other row unlabelled."""
    seen = labels[chosen]
    if seen.dtype.kind in "iufO":
        seen = np.asarray(seen.tolist())  # objects that are numbers become numbers, and unsigned ones signed
    if seen.dtype.kind not in "if":
        seen = labels[chosen].astype(object)
    unlabelled = None if seen.dtype.kind == "O" else UNLABELLED
    kept = np.full(len(labels), unlabelled, dtype=seen.dtype)
    kept[chosen] = seen
    return kept
