"""A folder that one job has at a time, for as long as its process lives.

The lock is the operating system's (``flock``): it ends with the process that has it, however that ends, so
that a job can be started again at once after ``kill -9``, on any host. File systems without locks, and
Windows, are not guarded.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pinvgcn.errors import ParameterError, ScanFileError

LOCK = ".lock"
CONTENDED = (BlockingIOError, PermissionError)


@contextmanager
def held(folder: Path, *, shown: Path | None = None, option: str = "-o") -> Iterator[None]:
    """Make a folder and have it; one that is empty at the end goes, and with it those made above it.

    To whom it is refused, it is ``shown`` as the folder that was chosen with an ``option``.
    """
    made = [path for path in folder.parents if not path.exists()]
    try:
        file = _locked(folder, f"Another job is at work in {shown or folder}", option)
    except OSError as error:
        raise ScanFileError(f"{folder} cannot be used ({error.strerror}).") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if os.listdir(folder) == [LOCK]:
                (folder / LOCK).unlink()
        file.close()
        # in some file systems a file is there until it is closed; what others have put there stays
        with contextlib.suppress(OSError):
            for path in (folder, *made):
                path.rmdir()


def emptied(folder: Path) -> None:
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.name != LOCK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _locked(folder: Path, busy: str, option: str) -> IO[str]:
    path = folder / LOCK
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a+")
        except FileNotFoundError:
            continue  # a job that has just ended has removed the folder
        try:
            _lock(file, busy, option)
            if os.fstat(file.fileno()).st_nlink:
                file.truncate(0)
                now = time.strftime("%H:%M on %d %B")
                json.dump({"process": os.getpid(), "host": socket.gethostname(), "since": now}, file)
                file.flush()
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # a lock that has just been removed


def _lock(file: IO[str], busy: str, option: str) -> None:
    with contextlib.suppress(ImportError):  # not on Windows
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except CONTENDED:
            raise ParameterError(
                f"{busy}{_by(file)}. Wait for its end, end it, or choose another {option}."
            ) from None
        except OSError:
            pass  # the file system has no locks


def _by(file: IO[str]) -> str:
    file.seek(0)
    try:
        said = json.load(file)
        return f": process {said['process']} on {said['host']}, since {said['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # about to be written
        return ""
