"""How far a tile is, for a bar that moves while one is worked through."""

from __future__ import annotations

from collections.abc import Callable

from pinvgcn.jobs import Progress


class Within:
    """Tells of a stage over ``total`` points that come in tiles: those of earlier tiles, and a part of this.

    ``part(low, high)`` gives a function for the piece of a tile's work between these shares of it, which
    hears of how many points are done.
    """

    def __init__(self, tell: Progress, stage: str, total: int) -> None:
        self.tell, self.stage, self.total = tell, stage, total
        self.done, self.size, self._shown = 0, 0, 0
        tell(stage, 0, total)

    def begin(self, size: int) -> None:
        """A tile of so many points."""
        self.size = size

    def part(self, low: float = 0.0, high: float = 1.0) -> Callable[[int], None]:
        """For the work between two shares of a tile's."""

        def heard(count: int) -> None:
            inside = low * self.size + (high - low) * min(count, self.size)
            self._show(self.done + int(inside))

        return heard

    def end(self) -> None:
        """The tile is done."""
        self.done += self.size
        self._show(self.done)

    def _show(self, count: int) -> None:
        if count > self._shown:
            self._shown = count
            self.tell(self.stage, count, self.total)
