"""Names that stand for several files: ``parts/*.csv``, quoted so that the shell leaves it, and lists."""

from __future__ import annotations

import glob
from pathlib import Path

from pinvgcn.io.virtual import is_virtual


def is_pattern(path: Path) -> bool:
    """Whether a name stands for others; a file that is called so stands for itself."""
    return glob.has_magic(str(path)) and not path.exists()


def stands_for_several(path: Path) -> bool:
    """Whether a name is a pattern, or that of a virtual point cloud."""
    return is_pattern(path) or is_virtual(path)


def matching(pattern: Path) -> list[Path]:
    """The files that a pattern stands for, by their names; ``**`` is any number of folders."""
    found = [Path(name) for name in glob.glob(str(pattern), recursive=True)]
    return sorted((file for file in found if file.is_file()), key=by_name)


def by_name(path: Path) -> tuple[str, str]:
    """The order of files that are one cloud or one table."""
    return path.name, str(path)
