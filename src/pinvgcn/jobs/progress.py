"""How far a job is: one type of callback, which the command line shows as a bar or as lines."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives what happens now, and how much of it is done.

    ``done`` and ``total`` count points, rows or steps; a ``total`` of 0 says that the end is not known.
    """

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None: ...


def silent(stage: str, done: int = 0, total: int = 0) -> None:
    """Shows nothing."""
