"""Interrupts from the keyboard that end more than a training."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pinvgcn.errors import TrainingWarning


@contextmanager
def stopped_by_interrupts() -> Iterator[None]:
    """Training that is interrupted keeps what it has learned, and warns; within this it stops all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        try:
            yield
        except TrainingWarning:
            raise KeyboardInterrupt from None
