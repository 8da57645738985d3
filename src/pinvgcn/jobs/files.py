"""The files that a command reads, and those that it writes.

An argument is a file; a pattern such as ``parts/*.csv``, quoted so that the shell leaves it; a folder, where
a command takes one; or a list of scans (``.vpc``). Nothing is written twice, or over what is read.

``--questions`` is a CSV file of what to label next, best first. A question is about what stands for others:
points around it, rows with the same values. Their doubt, the sum of 1 − confidence, is how many of them are
expected to be wrong; the largest sums are asked for first, and no two questions are about the same.
"""

from __future__ import annotations

import csv
import glob
import io
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ParameterError, PinvGCNError
from pinvgcn.io.atomic import check_output, write_text
from pinvgcn.io.formats import is_virtual, listed

COUNT = 50  # questions at most
DIGITS = 6  # after the point of a number in them


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
            for one, other in pairwise(sorted(files, key=_by_name)):
                if one.name == other.name:
                    raise ParameterError(
                        f"Files must have different names, which copies get, too. Got {one} and {other}."
                    )
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


def _by_name(path: Path) -> tuple[str, str]:
    return path.name, str(path)


@dataclass(frozen=True)
class Output:
    """A file that an option names; ``own`` if it may be there, since this job wrote it before."""

    option: str
    path: Path
    own: bool = False


def check_outputs(
    outputs: Iterable[Output], *, inputs: Iterable[Path], force: bool = False, folder: Path | None = None
) -> None:
    """Refuse what cannot be written, before there is work to lose.

    ``folder`` is one for copies, which may still have to be made.
    """
    read = {path.resolve() for path in inputs}
    taken: dict[Path, str] = {}
    for output in outputs:
        option, path, place = output.option, output.path, output.path.resolve()
        if place in read:
            raise ParameterError(f"{option} must not write over a file that is read. Got {path}.")
        if place in taken:
            raise ParameterError(f"{taken[place]} and {option} must be different files. Got {path} twice.")
        taken[place] = option
        if option == "--questions" and path.suffix.lower() != ".csv":
            raise ParameterError(f"--questions are CSV: the name must end in .csv. Got {path}.")
        if folder is None or folder.exists() or place.parent != folder.resolve():
            check_output(path, force=force or output.own)


def check_folder(folder: Path, files: Iterable[Path], endings: tuple[str, ...]) -> None:
    """Refuse what cannot be a folder for copies of ``files``, whose names have such ``endings``."""
    if folder.name.lower().endswith(endings) and not folder.is_dir():
        raise ParameterError(f"The copies of several go into a folder. Got {str(folder)!r}; name a folder.")
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"The copies of several go into a folder. Got the file {str(folder)!r} instead.")
    if any(path.resolve().parent == folder.resolve() for path in files):
        raise ParameterError(f"The copies must not replace the parts. Got their own folder {str(folder)!r}.")


def prepare_folder(path: str | Path) -> Path:
    """Create the folder where it is missing, and make sure that files can be written there.

    Called before the work starts: an hour's results must not end at a wrong path.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = "it is a file" if folder.is_file() else (error.strerror or str(error)).lower()
        raise ParameterError(
            f"The output folder must be one that can be written to. Got {str(folder)!r} ({reason}); "
            "choose another."
        ) from None
    return folder


def check_absent(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse to replace results that are there, but for ``force``."""
    there = next((folder / name for name in names if (folder / name).exists()), None)
    if there is not None and not force:
        raise ParameterError(f"{there} is there already. Choose another folder with --out, or add --force.")


def write_question_file(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    error: type[PinvGCNError],
    separator: str = ",",
    decimal: str = ".",
) -> None:
    """The file appears when it is whole; what the system refuses is raised as ``error``."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(columns)
    writer.writerows([_text(value, decimal) for value in row] for row in rows)
    write_text(path, text.getvalue(), error=error)


def expected_wrong(wrong: float) -> str:
    """How many are expected to be wrong, in digits that say something."""
    return f"{wrong:.1f}" if wrong < 10 else f"{wrong:,.0f}"


def _text(value: Any, decimal: str) -> str:
    if isinstance(value, float):
        return f"{value:.{DIGITS}f}".rstrip("0").rstrip(".").replace(".", decimal)
    return "" if value is None else str(value)
