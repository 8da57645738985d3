"""Ctrl-C and SIGTERM: what postpones them, and what they end."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pinvgcn.errors import TrainingWarning


@contextmanager
def stopped_by_interrupts() -> Iterator[None]:
    """An interrupt in training ends all that is inside; elsewhere it ends the training, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        try:
            yield
        except TrainingWarning:
            raise KeyboardInterrupt from None


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect at the end of a step that must be done whole."""
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
        yield
        return
    waiting: list[int] = []
    handlers: dict[int, Any] = {}
    for known in (signal.SIGINT, signal.SIGTERM):
        if callable(handler := signal.getsignal(known)):
            handlers[known] = handler
    for number in handlers:
        signal.signal(number, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in waiting:
        signal.raise_signal(number)
