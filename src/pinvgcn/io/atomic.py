"""Files that are written whole or not at all, and errors of files in one line.

Every file of the package is written through here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pinvgcn.errors import OutputError, ParameterError, PinvGCNError, ScanFileError

_PASSING = (PinvGCNError, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def atomic_file(path: str | Path, *, error: type[PinvGCNError] = OutputError) -> Iterator[Path]:
    """A temporary name beside ``path``, moved there at the end; after an error or Ctrl-C nothing is left.

    What the system refuses is raised as ``error``.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as failed:
        if isinstance(failed, PinvGCNError):
            raise
        raise error(f"{path} could not be written: {reason(failed)}. Nothing was changed.") from None
    finally:
        with suppress(OSError):  # where it could not be begun
            temporary.unlink()


def write_text(path: str | Path, text: str, *, error: type[PinvGCNError] = OutputError) -> None:
    """A text file in UTF-8, with its line ends as they are."""
    with atomic_file(path, error=error) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """All errors inside become a `ScanFileError` that names the file.

    Decoders of packed files are written in other languages and answer damage with errors of many kinds; a
    panic in one of them is not even an ``Exception``.
    """
    try:
        yield
    except _PASSING:
        raise
    except MemoryError as error:
        raise ScanFileError(
            f"{path} needs more memory than there is; its header may be damaged. Read it in smaller pieces."
        ) from error
    except OSError as error:
        raise ScanFileError(f"{path} could not be read ({reason(error)}).") from error
    except BaseException as error:
        raise ScanFileError(f"{path} is damaged and cannot be read ({reason(error)}).") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The same for a scan that is being written; a full disk may hide behind a compressor's complaint."""
    try:
        yield
    except _PASSING:
        raise
    except BaseException as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        raise ScanFileError(
            f"{path} could not be written ({reason(cause or error)}); nothing was left there."
        ) from error


def reason(error: BaseException) -> str:
    """An error in a few words, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__


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
    if not path.parent.is_dir():
        raise ParameterError(f"The output's folder must exist. Got {str(path.parent)!r}; create it first.")
    if not os.access(path.parent, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise ParameterError(f"{path} cannot be written: permission denied. Choose another place.")
    return path
