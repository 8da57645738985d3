"""What the tests of the page share."""

from __future__ import annotations

import time
from collections.abc import Callable

WIDTH, HEIGHT = 1280, 800


def until(true: Callable[[], bool], *, seconds: float = 60.0, what: str = "") -> None:
    """Waits."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain: {what}"
        time.sleep(0.05)
