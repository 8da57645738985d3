"""A folder of classified parts, in which a command that is started again finds what is done.

A copy of a part appears when it is whole, so that it is done if it is there, and if the note in the folder
says that the same command is to make it from the same file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.io.atomic import write_text
from pinvgcn.jobs.work_folder import stamp

NOTE = ".pinvgcn.json"


@dataclass(frozen=True)
class _Folder:
    """What is there before a command begins."""

    done: set[str]
    stale: set[str]  # copies that are to be made again
    before: dict[str, Any]  # what the note says of parts that the same command has made


def done_before(
    folder: Path, files: Sequence[Path], command: str, *, force: bool = False, group: Group = ALONE
) -> set[str]:
    """The names of the parts that are done; what ``prepare`` would refuse is refused. Nothing is written.

    The first rank looks, and tells the others: on several hosts they must not disagree.
    """
    return _of_first(lambda: _look(folder, files, command, force).done, group)


def prepare(
    folder: Path, files: Sequence[Path], command: str, *, force: bool = False, group: Group = ALONE
) -> set[str]:
    """The same, and the folder and its note are made; with ``force`` without what was there."""

    def made() -> set[str]:
        found = _look(folder, files, command, force)
        folder.mkdir(parents=True, exist_ok=True)
        for name in found.stale:  # or it would count as done when this run has been interrupted
            (folder / name).unlink()
        parts = {**found.before, **{path.name: stamp(path) for path in files}}
        write_text(folder / NOTE, json.dumps({"command": command, "parts": parts}, indent=1))
        return found.done

    return _of_first(made, group)


def _of_first(look: Callable[[], set[str]], group: Group) -> set[str]:
    with together(group):
        names = sorted(look()) if group.rank == 0 else None
    return set(group.values(names)[0])


def _look(folder: Path, files: Sequence[Path], command: str, force: bool) -> _Folder:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"Parts go into a folder. Got the file {str(folder)!r}; choose another name.")
    if any(path.resolve().parent == folder.resolve() for path in files):
        raise ParameterError(f"The copies must not replace the parts. Got their own folder {str(folder)!r}.")
    note, now = _noted(folder / NOTE), {path.name: stamp(path) for path in files}
    there = {path.name for path in files if (folder / path.name).exists()}
    same = note.get("command") == command and not force
    before = note.get("parts", {}) if same else {}
    done = {name for name in there if before.get(name) == now[name]}
    if there - done and not force:
        raise ParameterError(
            f"{folder / min(there - done)} is already there, from another command or another file. Choose "
            "another folder, or pass --force to start over."
        )
    return _Folder(done, there - done, before)


def _noted(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}
