"""The folder that results go to."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from pinvgcn.errors import ParameterError


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
