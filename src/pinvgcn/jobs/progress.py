"""How far a job is, and what it will take.

Progress is one type of callback, which the command line shows as a bar or as lines. A cost is estimated
from constants that were measured once, and meant to be right within a factor of two; seconds depend on the
machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

LIBRARIES = 0.6 * 2**30  # bytes of memory before any data is read
START = 5.5  # processor seconds until then


class Progress(Protocol):
    """Receives what happens now, and how much of it is done.

    ``done`` and ``total`` count points, rows or steps; a ``total`` of 0 says that the end is not known.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None: ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Cost:
    """Bytes of memory at the peak, seconds of the whole command, bytes of disk that are freed at the end."""

    memory: float
    seconds: float
    disk: float = 0.0

    def __str__(self) -> str:
        disk = f", {self.disk / 2**30:.1f} GiB of disk for a while" if self.disk else ""
        return f"about {self.memory / 2**30:.1f} GiB of memory{disk} and {duration(self.seconds)}"

    def as_dict(self) -> dict[str, float]:
        return {
            "memory_bytes": round(self.memory),
            "disk_bytes": round(self.disk),
            "seconds": round(self.seconds, 1),
        }


def duration(seconds: float) -> str:
    """In the unit that fits."""
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(seconds, 1):.0f} s"
