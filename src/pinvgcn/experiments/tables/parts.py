"""A folder of classified parts, in which a command that is started again finds what is done.

A copy of a part appears when it is whole, so that it is done if it is there, and if the note in the folder
says that the same command is to make it from the same file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pinvgcn.errors import ParameterError
from pinvgcn.group import ALONE, Group
from pinvgcn.io.unfinished import unfinished

NOTE = ".pinvgcn.json"


def fingerprint(command: dict[str, Any], files: Sequence[Path]) -> str:
    """Of what is asked for, and of the names, sizes and times of files on which every part depends."""
    text = json.dumps([command, [stamp(path) for path in files]], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def stamp(path: Path) -> list[Any]:
    """By which it is seen that a file is another one."""
    state = path.stat()
    return [path.name, state.st_size, state.st_mtime_ns]


def prepare(
    folder: Path, files: Sequence[Path], command: str, *, force: bool = False, group: Group = ALONE
) -> set[str]:
    """Make the folder and its note; the names of the parts that are done. ``force`` starts over.

    The first rank does, and tells the others: on several hosts they must not disagree.
    """
    told = group.values(sorted(_prepare(folder, files, command, force)) if group.rank == 0 else None)
    return set(told[0])


def _prepare(folder: Path, files: Sequence[Path], command: str, force: bool) -> set[str]:
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"Parts go into a folder. Got the file {str(folder)!r}; choose another name.")
    if any(path.resolve().parent == folder.resolve() for path in files):
        raise ParameterError(f"The copies must not replace the parts. Got their own folder {str(folder)!r}.")
    folder.mkdir(parents=True, exist_ok=True)
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
    for name in there - done:  # or it would count as done when this run has been interrupted
        (folder / name).unlink()
    with unfinished(folder / NOTE) as temporary:
        temporary.write_text(json.dumps({"command": command, "parts": {**before, **now}}, indent=1))
    return done


def _noted(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}
