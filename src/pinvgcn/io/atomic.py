"""Files that are written whole or not at all. Every file of the package is written through here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pinvgcn.errors import OutputError, ParameterError, PinvGCNError


@contextmanager
def atomic_file(path: str | Path, *, error: type[PinvGCNError] = OutputError) -> Iterator[Path]:
    """A temporary name beside ``path``, moved there at the end; after an error or Ctrl-C nothing is left.

    What the system refuses is raised as ``error``.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with write_errors(path, error=error):
            yield temporary
            os.replace(temporary, path)
    finally:
        with suppress(OSError):  # where it could not be begun
            temporary.unlink()


def write_text(path: str | Path, text: str, *, error: type[PinvGCNError] = OutputError) -> None:
    """A text file in UTF-8, with its line ends as they are."""
    with atomic_file(path, error=error) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


@contextmanager
def write_errors(path: Path, *, error: type[PinvGCNError]) -> Iterator[None]:
    """What the system refuses while ``path`` is written is raised as ``error``, in one line."""
    try:
        yield
    except OSError as failed:
        if isinstance(failed, PinvGCNError):
            raise
        reason = failed.strerror or str(failed)
        raise error(f"{path} could not be written: {reason}. Nothing was changed.") from None


def remove_leftovers(path: str | Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote ``path``."""
    path = Path(path)
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+\.part")
    for file in path.parent.iterdir():
        if name.fullmatch(file.name):
            file.unlink(missing_ok=True)


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """The path, if a file can be written there. Called before the work starts, which would be lost else."""
    path = Path(path)
    if path.is_dir():
        raise ParameterError(f"The output must be a file. Got the folder {str(path)!r}; add a file name.")
    if path.exists() and not force:
        raise ParameterError(f"{path} is already there. Choose another name, or pass --force to replace it.")
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(f"The output's folder must exist. Got {str(folder)!r}; create it first.")
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise ParameterError(f"{path} cannot be written: permission denied. Choose another place.")
    return path
