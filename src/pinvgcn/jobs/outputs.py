"""What a job would write: nothing twice, nothing that it reads, nothing that is there already."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pinvgcn.errors import ParameterError
from pinvgcn.io.atomic import check_output
from pinvgcn.io.question_file import check_question_file


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
        if option == "--questions":
            check_question_file(path)
        if folder is None or folder.exists() or place.parent != folder.resolve():
            check_output(path, force=force or output.own)


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
