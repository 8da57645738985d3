"""SIGTERM, which a job manager or a shutdown sends, ends a command as Ctrl-C does: nothing half is left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Termination:
    """Whether the process was asked to end."""

    asked = False

    def __call__(self, number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the way out is not to be interrupted
        self.asked = True
        raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[Termination]:
    """Within it SIGTERM raises what Ctrl-C raises. Left alone where it is ignored or somebody's own."""
    termination = Termination()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield termination
        return
    signal.signal(signal.SIGTERM, termination)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
