"""A folder that one job uses at a time.

The lock is the operating system's, by way of filelock. It ends with the process that holds it, however that
ends: a job can be started again at once after ``kill -9``, on any host. File systems without locks are not
guarded.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pinvgcn.errors import OutputError, ParameterError

LOCK, HOLDER = ".lock", ".holder.json"
PATIENCE = 0.2  # seconds: a job that is just ending removes its lock
UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)


@contextmanager
def locked(folder: Path, *, shown: Path | None = None, option: str = "-o") -> Iterator[None]:
    """Make a folder and hold its lock. At the end an empty folder is removed, with the parents made for it.

    A message to another job calls it ``shown``, chosen with ``option``.
    """
    made = [path for path in folder.parents if not path.exists()]
    try:
        lock = _acquired(folder)
    except Timeout:
        raise ParameterError(
            f"Another job is at work in {shown or folder}{_holder(folder)}. Wait for its end, end it, or "
            f"choose another {option}."
        ) from None
    except OSError as error:
        raise OutputError(f"{folder} cannot be used ({error.strerror}).") from None
    try:
        _sign(folder)
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / HOLDER).unlink()
        with contextlib.suppress(OSError):  # while the lock is held: nobody else has taken it since
            if os.listdir(folder) == [LOCK]:
                (folder / LOCK).unlink()
        if lock is not None:
            lock.release()
        with contextlib.suppress(OSError):  # what others have put there stays
            for path in (folder, *made):
                path.rmdir()


def emptied(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.name not in (LOCK, HOLDER):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _acquired(folder: Path) -> FileLock | None:
    """The lock; None where the file system has none."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, fallback_to_soft=False)  # a soft lock outlives a killed process
        try:
            lock.acquire(timeout=PATIENCE)
        except FileNotFoundError:
            continue  # a job that has just ended has removed the folder
        except OSError as error:
            if error.errno in UNSUPPORTED:
                return None
            raise
        return lock


def _sign(folder: Path) -> None:
    """Say who holds the lock. A file of its own: Windows does not let others read a locked one."""
    said = {"process": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%H:%M on %d %B")}
    try:
        (folder / HOLDER).write_text(json.dumps(said))
    except OSError as error:
        raise OutputError(f"{folder} cannot be used ({error.strerror}).") from None


def _holder(folder: Path) -> str:
    try:
        said = json.loads((folder / HOLDER).read_text())
        return f": process {said['process']} on {said['host']}, since {said['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # about to be written
        return ""
