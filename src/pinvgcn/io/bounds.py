"""A box of coordinates, and the part of a scan that lies inside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ParameterError
from pinvgcn.io.scan import ScanChunk, ScanSource, in_pieces
from pinvgcn.io.scan_writer import ScanWriter


@dataclass(frozen=True)
class Bounds:
    """All x with low ≤ x ≤ high, in the unit of a scan."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @classmethod
    def parse(cls, text: str) -> Bounds:
        """From "minx,miny,maxx,maxy", or "minx,miny,minz,maxx,maxy,maxz"."""
        try:
            numbers = [float(word) for word in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) == 4:
            numbers = [*numbers[:2], -math.inf, *numbers[2:], math.inf]
        if len(numbers) != 6 or any(map(math.isnan, numbers)):
            raise ParameterError(
                f"bounds must be minx,miny,maxx,maxy, or minx,miny,minz,maxx,maxy,maxz. Got {text!r} instead."
            )
        low, high = numbers[:3], numbers[3:]
        if not all(least < most for least, most in zip(low, high, strict=True)):
            raise ParameterError(f"bounds must have each minimum below its maximum. Got {text!r} instead.")
        return cls((low[0], low[1], low[2]), (high[0], high[1], high[2]))

    def __str__(self) -> str:
        axes = 3 if math.isfinite(self.low[2]) or math.isfinite(self.high[2]) else 2
        return ",".join(f"{number:.12g}" for number in (*self.low[:axes], *self.high[:axes]))

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Which of the points (m, 3) lie in it: a mask (m,)."""
        within = (points >= np.array(self.low)) & (points <= np.array(self.high))
        return np.asarray(within.all(axis=1))


class BoundedSource(ScanSource):
    """The part of a scan inside bounds, by reading all of it; a copy is written anew.

    ``count`` is how many points that is, where it is known from before.
    """

    def __init__(self, whole: ScanSource, bounds: Bounds, count: int | None = None) -> None:
        super().__init__(whole.path)
        self.whole, self.bounds = whole, bounds
        self.format, self.metres, self.system = whole.format, whole.metres, whole.system
        self.rounded = whole.rounded
        if count is None:
            count = sum(int(bounds.inside(piece.points).sum()) for piece in whole.chunks(fields=()))
        self._count = count

    @property
    def count(self) -> int:
        return self._count

    @property
    def fields(self) -> dict[str, np.dtype]:
        return self.whole.fields

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        return in_pieces(self._inside(size, names), size)

    def _inside(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        for piece in self.whole.chunks(size, fields=names):
            kept = self.bounds.inside(piece.points)
            fields = {name: values[kept] for name, values in piece.fields.items()}
            yield ScanChunk(0, piece.points[kept], fields)

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        return None

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        self.whole.check_values(name, values)
