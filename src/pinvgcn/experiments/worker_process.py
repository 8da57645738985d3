"""A worker process for work that may take too long, need too much memory, or die.

It sends messages: a kind and its content. ``Worker`` is the side that waits for them; ``Peak`` measures the
memory of the process that it is made in.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from pinvgcn.errors import MissingDependencyError

OVER_BUDGET = "over budget"
NOT_INSTALLED = "not installed"
ERROR = "error"
ALLOCATOR = ("can't allocate memory", "not enough memory", "cannot allocate memory", "bad_alloc")

Message = tuple[str, dict[str, Any]]
Messages = Callable[[Any], Iterator[Message]]


class Worker:
    """A process that shares no state with this one, and answers each job by its ``messages``.

    Several that need the same ``modules`` are started sooner where the system can fork a process that has
    loaded them already.
    """

    def __init__(self, messages: Messages, *, modules: Sequence[str] = ()) -> None:
        context: Any = multiprocessing.get_context("spawn")
        if modules and "forkserver" in multiprocessing.get_all_start_methods():
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(list(modules))
        self._connection, theirs = context.Pipe()
        # not a daemon: joblib would not let it use more than one thread
        self._process = context.Process(target=serve, args=(messages, theirs, dict(os.environ)))
        self._process.start()
        theirs.close()

    def send(self, job: Any) -> None:
        self._connection.send(job)

    def receive(self, ends: float | None) -> Message:
        """The next message; ``over budget`` when none comes in time, ``killed`` when none will come."""
        left = None if ends is None else max(0.0, ends - time.monotonic())
        ready = wait([self._connection, self._process.sentinel], left)
        if self._connection in ready or self._connection.poll():
            try:
                message: Message = self._connection.recv()
                return message
            except (EOFError, OSError):
                pass
        elif not ready:
            return OVER_BUDGET, {}
        self._process.join()
        return "killed", _cause(self._process.exitcode)

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()


def _cause(code: int | None) -> dict[str, Any]:
    if code == -9:
        return {
            "reason": "killed, probably out of memory",
            "message": "the process was ended by signal 9, as the system does when memory runs out",
        }
    return {"reason": "killed", "message": f"the process ended with exit code {code}"}


def behave() -> None:
    """What a process does first that works for another: it does not bring down the rest."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    _die_first()
    _stay_within_memory()


def serve(messages: Messages, connection: Connection, environment: dict[str, str]) -> None:
    """Send the messages of each job that arrives, in a process of its own, whose parent may have begun in
    another ``environment``."""
    os.environ.clear()
    os.environ.update(environment)
    behave()
    with contextlib.suppress(EOFError, BrokenPipeError):  # the one who asked is gone
        while True:
            for message in messages(connection.recv()):
                connection.send(message)


def failure(error: Exception) -> Message:
    if isinstance(error, MemoryError):
        return "failed", {"reason": "out of memory", "message": one_line(error) or "MemoryError"}
    if isinstance(error, MissingDependencyError):
        return "failed", {"reason": NOT_INSTALLED, "message": one_line(error)}
    memory = any(sign in str(error).lower() for sign in ALLOCATOR)
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = "" if memory else f" ({Path(place.filename).name}, line {place.lineno})"
    return "failed", {
        "reason": "out of memory" if memory else ERROR,
        "message": f"{type(error).__name__}: {one_line(error)}{where}",
    }


@contextlib.contextmanager
def noted() -> Iterator[list[str]]:
    """Collects what is warned about, each line once."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    ours = [w.message for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning)]
    notes.extend(dict.fromkeys(one_line(message) for message in ours))


def one_line(message: object) -> str:
    return " ".join(str(message).split())


def _die_first() -> None:
    """Where the system is out of memory, this process shall be the one that it ends (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _stay_within_memory() -> None:
    """An allocation beyond the memory of the machine fails here, rather than bringing it to a stop (Unix)."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (there, hard))


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
