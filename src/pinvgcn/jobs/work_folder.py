"""The folder in which a job keeps what is done, so that the same command goes on after an interruption.

A step leaves a file that appears when it is whole. What is there at the start is listed once, by the first
process, and told to all. One job uses a folder at a time: the lock is the operating system's, by way of
filelock. It ends with the process that holds it, however that ends: a job can be started again at once after
``kill -9``, on any host. File systems without locks are not guarded.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import OutputError, ParameterError
from pinvgcn.io.atomic import write_text

NAME = ".pinvgcn-work"
JOB = "job.json"
HALF = ("part-*", ".*.part")  # what an interrupted step may leave: folders and files
LOCK, HOLDER = ".lock", ".holder.json"
PATIENCE = 0.2  # seconds: a job that is just ending removes its lock
UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)


def fingerprint(command: dict[str, Any], inputs: Sequence[Path]) -> str:
    """Of what is asked for, of all files that are read, and of this package's version."""
    asked = [version("pinvgcn"), command, [stamp(path) for path in inputs]]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()


def stamp(path: Path) -> list[Any]:
    """By which a changed file is recognised: its path, size and time."""
    state = path.stat()
    return [str(path.resolve()), state.st_size, state.st_mtime_ns]


@dataclass(frozen=True)
class WorkFolder:
    """The folder of a job, and the names of the files ``found`` there, left by an interrupted one."""

    folder: Path
    found: frozenset[str]
    group: Group

    @property
    def resumed(self) -> bool:
        return bool(self.found)

    def path(self, name: str) -> Path:
        return self.folder / name

    def has(self, name: str) -> bool:
        return name in self.found

    def numbers(self, name: str) -> set[int]:
        """The k of all files ``name-k`` and ``name-k.npy`` that were there at the start."""
        ends = [file.removesuffix(".npy").rpartition("-") for file in self.found]
        return {int(number) for before, _, number in ends if before == name and number.isdigit()}

    def note(self, name: str, value: Any = None) -> None:
        """Keep a value as JSON; that the file is there says that a step is done."""
        write_text(self.path(name), json.dumps(value), error=OutputError)

    def noted(self, name: str) -> Any:
        """What was noted, now or before; None where nothing was."""
        try:
            return json.loads(self.path(name).read_text())
        except FileNotFoundError:
            return None

    def begin(self, command: str) -> None:
        """Remove what another job has left, and what an interrupted step has left half done. From here on
        there is something to resume."""
        with together(self.group):
            if self.group.rank == 0:
                try:
                    if not self.resumed:
                        emptied(self.folder)
                    for path in (path for pattern in HALF for path in self.folder.glob(pattern)):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                except OSError as error:
                    raise OutputError(f"{self.folder} cannot be used ({error.strerror}).") from None
                self.note(JOB, command)

    def remove(self) -> None:
        """At the end of a job that succeeded, on all processes."""
        self.group.wait()
        if self.group.rank == 0:
            emptied(self.folder)


def work_place(out: Path, *, several: bool) -> Path:
    """Where a job that writes ``out`` keeps its work: in the folder of several copies, or beside the one."""
    return out / NAME if several else out.with_name(f".{out.name}{NAME}")


@contextmanager
def work_folder(
    folder: Path, command: str, *, force: bool, group: Group, dry_run: bool = False
) -> Iterator[WorkFolder]:
    """The lock of a ``folder``, and what the job with the fingerprint ``command`` has left in it.

    Of another job, or with ``force``, nothing is found. Nothing is removed before ``begin``: a command that
    is refused leaves what was there. A dry run looks, and takes no lock.
    """
    found: list[str] = []
    with ExitStack() as stack:
        with together(group):
            if group.rank == 0:
                if not dry_run:
                    stack.enter_context(locked(folder))
                if not force:
                    found = _left_by(folder, command)
        yield WorkFolder(folder, frozenset(group.values(found)[0]), group)


def _left_by(folder: Path, command: str) -> list[str]:
    """The files that an interrupted job with this fingerprint has left in a folder."""
    try:
        if json.loads((folder / JOB).read_text()) != command:
            return []
        return [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except (OSError, ValueError):
        return []


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
        with suppress(OSError):
            (folder / HOLDER).unlink()
        with suppress(OSError):  # while the lock is held: nobody else has taken it since
            if os.listdir(folder) == [LOCK]:
                (folder / LOCK).unlink()
        if lock is not None:
            lock.release()
        with suppress(OSError):  # what others have put there stays
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
