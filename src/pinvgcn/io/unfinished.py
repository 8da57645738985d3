"""A file that appears under its name only when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinvgcn.errors import ParameterError, TableFileError


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


@contextmanager
def unfinished(path: str | Path) -> Iterator[Path]:
    """A temporary name beside ``path``, moved there at the end; after an error or Ctrl-C nothing is left."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if isinstance(error, TableFileError):
            raise
        reason = error.strerror or str(error)
        raise TableFileError(f"{path} could not be written: {reason}. Nothing was changed.") from None
    finally:
        temporary.unlink(missing_ok=True)
