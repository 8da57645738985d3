"""The files that a command's arguments stand for.

An argument is a file; a pattern such as ``parts/*.csv``, quoted so that the shell leaves it; a folder, where
a command takes one; or a list of scans (``.vpc``).
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.io.virtual import is_virtual, listed


def is_pattern(path: Path) -> bool:
    """Whether a name is a pattern; a file that is called so stands for itself."""
    return glob.has_magic(str(path)) and not path.exists()


def stands_for_several(paths: Sequence[Path], *, folders: bool = False) -> bool:
    """Whether arguments may be several files: then copies go into a folder. ``folders`` are taken, too."""
    several = len(paths) > 1 or is_pattern(paths[0]) or is_virtual(paths[0])
    return several or (folders and paths[0].is_dir())


def input_files(
    paths: Sequence[Path], *, out: Path | None = None, endings: tuple[str, ...] = (), group: Group = ALONE
) -> list[Path]:
    """All files in the order of their names, as the first process sees them; a list of scans keeps its own.

    A folder stands for its files with one of the ``endings``. Copies in the folder ``out`` are not taken for
    input when a command is started again, unless nothing else matches.
    """
    mine: list[str] = []
    with together(group):
        if group.rank == 0:
            files = sorted((file for path in paths for file in _matching(path, out, endings)), key=_by_name)
            files = [scan for file in files for scan in (listed(file) if is_virtual(file) else [file])]
            _check_names(files)
            absent = next((file for file in files if len(files) > 1 and not file.exists()), None)
            if absent is not None:  # a single file: the error of opening it suggests similar names
                raise ParameterError(f"There is no file {absent}.")
            mine = [str(path) for path in files]
    return [Path(name) for name in group.values(mine)[0]]


def _matching(path: Path, out: Path | None, endings: tuple[str, ...]) -> list[Path]:
    if endings and path.is_dir():
        found = [file for file in path.iterdir() if file.name.lower().endswith(endings)]
    elif is_pattern(path):
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]
    else:
        return [path]
    # what starts with a dot is being written, or was left by a job that was killed
    found = [file for file in found if file.is_file() and not file.name.startswith(".")]
    if not found:
        raise ParameterError(f"There is no file that {path} stands for.")
    others = [file for file in found if out is None or not file.resolve().is_relative_to(out.resolve())]
    return others or found


def _check_names(files: list[Path]) -> None:
    for one, other in pairwise(sorted(files, key=_by_name)):
        if one.name == other.name:
            raise ParameterError(
                f"Files must have different names, which their copies get, too. Got {one} and {other}."
            )


def _by_name(path: Path) -> tuple[str, str]:
    return path.name, str(path)
