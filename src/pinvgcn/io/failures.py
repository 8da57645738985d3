"""Whatever goes wrong with a scan becomes one `ScanFileError`.

Decoders of packed files are written in other languages and answer damage with errors of many kinds;
a panic in one of them is not even an ``Exception``. Only what the user did (Ctrl-C) passes through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinvgcn.errors import PinvGCNError, ScanFileError

_PASSING = (PinvGCNError, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Errors inside become a `ScanFileError` that names the file and says that reading it failed."""
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
    """The same for a file that is being written."""
    try:
        yield
    except _PASSING:
        raise
    except BaseException as error:
        raise ScanFileError(
            f"{path} could not be written ({reason(_cause(error))}); nothing was left there."
        ) from error


def reason(error: BaseException) -> str:
    """An error in a few words, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = " ".join(str(error).split())
    return text[:200] if text else type(error).__name__


def _cause(error: BaseException) -> BaseException:
    """The full disk behind a compressor's complaint."""
    seen = error
    while not isinstance(seen, OSError):
        following = seen.__cause__ or seen.__context__
        if following is None:
            return error
        seen = following
    return seen
