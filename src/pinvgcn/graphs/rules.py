"""How the values of a table's column are sorted into numbered slots; see ``table``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from pinvgcn.graphs.cells import Scalar, key_of, type_of

NOWHERE = -1  # a cell that belongs to no hyperedge by rule: False, ignored missing, a slot below min_size
UNSEEN = -2  # a cell whose value no training row had


@dataclass(frozen=True)
class Flag:
    """The rule of a boolean column: True is a hyperedge, False is none."""

    def __len__(self) -> int:
        return 1

    def types(self) -> set[str]:
        return {"booleans"}

    def slots(self, values: np.ndarray) -> np.ndarray:
        return np.where(values.astype(bool), 0, NOWHERE)

    def names(self, column: str) -> list[str]:
        return [column]


@dataclass(frozen=True)
class Bins:
    """The rule of a numeric column: bin k is [edges[k], edges[k + 1]), the last one is closed."""

    edges: tuple[float, ...]

    @classmethod
    def between(cls, low: float, high: float, count: int) -> Bins:
        """``count`` equally wide bins, with edges computed exactly from the decimals that print.

        Then a value that lies on an edge in decimal notation, such as 0.3 in tenths of [0, 1], is
        equal to that edge as a float too, and falls in the upper bin.
        """
        first, last = Fraction(repr(low)), Fraction(repr(high))
        steps = range(count + 1) if first < last else (0, count)
        return cls(tuple(float(first + (last - first) * step / count) for step in steps))

    @classmethod
    def filled(cls, values: np.ndarray, counts: np.ndarray, count: int, *, low: float, high: float) -> Bins:
        """Up to ``count`` bins from ``low`` to ``high`` with equally many rows each, as far as equal values
        allow.

        Edge k is the smallest value with k/``count`` of the rows below it. ``values`` are distinct.
        """
        order = np.argsort(values)
        x, sizes = values[order], counts[order]
        below = np.cumsum(sizes) - sizes
        wanted = np.arange(1, count) * (sizes.sum() / count)
        places = np.unique(np.searchsorted(below, wanted, side="left"))
        inner = x[places[(places > 0) & (places < len(x))]]
        return cls((low, *inner.tolist(), high))

    def __len__(self) -> int:
        return len(self.edges) - 1

    def types(self) -> set[str]:
        return {"numbers"}

    def slots(self, values: np.ndarray) -> np.ndarray:
        x = values.astype(np.float64)
        slots = np.searchsorted(self.edges, x, side="right") - 1
        slots = np.minimum(slots, len(self) - 1)  # the maximum belongs to the last bin
        return np.where((x < self.edges[0]) | (x > self.edges[-1]), UNSEEN, slots)

    def names(self, column: str) -> list[str]:
        low, high = self.edges[0], self.edges[-1]
        width = min((b - a for a, b in pairwise(self.edges) if b > a), default=0.0)
        if low == high:
            return [f"{column} = {_short(low, width)}"]
        ends = [_short(edge, width) for edge in self.edges]
        names = [f"{column} in [{a}, {b})" for a, b in pairwise(ends)]
        return [*names[:-1], names[-1][:-1] + "]"]


@dataclass(frozen=True)
class Values:
    """The rule of a categorical column: each value present in training is a hyperedge."""

    values: tuple[Scalar, ...]

    def __len__(self) -> int:
        return len(self.values)

    def types(self) -> set[str]:
        return {type_of(value) for value in self.values}

    def slots(self, values: np.ndarray) -> np.ndarray:
        slot = {key_of(value): i for i, value in enumerate(self.values)}
        return np.array([slot.get(key_of(value), UNSEEN) for value in values.tolist()], dtype=np.int64)

    def names(self, column: str) -> list[str]:
        bare = self.types() == {"text"}  # beside other types text needs its quotes: 1 is not '1'
        plain = [bare and value == str(value).strip() != "" for value in self.values]
        return [f"{column} = {v if p else repr(v)}" for v, p in zip(self.values, plain, strict=True)]


Rule = Flag | Bins | Values


def _short(edge: float, width: float) -> str:
    """An edge, to a thousandth of the bin's width."""
    if 0 < width < math.inf:
        edge = round(edge, max(0, 3 - math.floor(math.log10(width))))
    return repr(edge).removesuffix(".0")
