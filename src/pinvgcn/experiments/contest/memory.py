"""The most memory that this process has held."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    """Bytes at most since this was made, beyond what the process held then; None where no system tells.

    Linux can forget an earlier peak. Elsewhere one that was higher hides what comes after it.
    """

    def __init__(self) -> None:
        with contextlib.suppress(OSError):
            RESET.write_text("5")
        self._before = highest()

    def bytes(self) -> int | None:
        """So far."""
        now = highest()
        return None if now is None or self._before is None else now - self._before


def highest() -> int | None:
    """Bytes that this process has held at most; None where no system tells.

    Not ``ru_maxrss`` where there is better: Linux hands it on to a new program from the process that started
    it, so that a small program under a large one would seem large.
    """
    with contextlib.suppress(OSError, StopIteration):
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])  # "VmHWM:   123456 kB"
    with contextlib.suppress(ImportError):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return None
