"""The folder in which a job over several files keeps what is done, so that it can be started again.

A step leaves a file that appears when it is whole. What was there at the start is listed once, by the first
rank, and told to all: ranks on several hosts must not disagree about what is done.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ScanFileError
from pinvgcn.io.unfinished import unfinished
from pinvgcn.scans.held import emptied, held

NAME = ".pinvgcn-work"
JOB = "job.json"


def fingerprint(command: dict[str, Any], inputs: list[Path]) -> str:
    """Of what is asked for, and of the names, sizes and times of all that is read."""
    files = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in inputs]
    text = json.dumps([command, files], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Work:
    """The folder, and the ``found`` names of what an interrupted job has left there."""

    folder: Path
    found: frozenset[str]
    group: Group

    @property
    def resumed(self) -> bool:
        """Whether there is something to go on from."""
        return bool(self.found)

    def path(self, name: str) -> Path:
        """A file of the folder."""
        return self.folder / name

    def has(self, name: str) -> bool:
        """Whether it was there at the start."""
        return name in self.found

    def numbers(self, name: str) -> set[int]:
        """The k of all files ``name-k`` and ``name-k.npy`` that were there at the start."""
        ends = [file.removesuffix(".npy").rpartition("-") for file in self.found]
        return {int(number) for before, _, number in ends if before == name and number.isdigit()}

    def note(self, name: str, value: Any = None) -> None:
        """Keep a value as JSON; that the file is there says that a step is done."""
        with unfinished(self.path(name), error=ScanFileError) as path:
            path.write_text(json.dumps(value))

    def noted(self, name: str) -> Any:
        """What was noted."""
        return json.loads(self.path(name).read_text())

    def remove(self) -> None:
        """At the end of success."""
        self.group.wait()
        if self.group.rank == 0:
            emptied(self.folder)


@contextmanager
def work_folder(folder: Path, command: str, *, force: bool, group: Group) -> Iterator[Work]:
    """What is in ``folder`` of the job with this fingerprint; of another one, or by ``force``, nothing.

    The first rank has the folder until the end, but makes no note of the job before `begin`: what is refused
    leaves nothing to go on from, and what another job has left stays.
    """
    found: list[str] = []
    with ExitStack() as stack:
        with together(group):
            if group.rank == 0:
                stack.enter_context(held(folder))
                if not force and is_of(folder, command):
                    found = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
        yield Work(folder, frozenset(group.values(found)[0]), group)


def is_of(folder: Path, command: str) -> bool:
    """Whether a job with this fingerprint has begun there."""
    try:
        return bool(json.loads((folder / JOB).read_text()) == command)
    except (OSError, ValueError):
        return False


def begin(work: Work, command: str) -> None:
    """Remove what is left of another job, or half of this one; from here on there is something to resume."""
    with together(work.group):
        if work.group.rank == 0:
            try:
                if not work.resumed:
                    emptied(work.folder)
                for path in work.folder.glob("part-*"):
                    shutil.rmtree(path)
                for path in work.folder.glob(".*.part"):
                    path.unlink()
            except OSError as error:
                raise ScanFileError(f"{work.folder} cannot be used ({error.strerror}).") from None
            work.note(JOB, command)
