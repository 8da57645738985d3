"""What a result was computed with: source, versions, threads, processor family."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "pinvgcn", "torch", "torch_geometric", "numba", "numpy", "scipy", "scikit-learn", "pandas", "finufft",
    "matplotlib",
)  # fmt: skip
SOURCE = Path(__file__).parents[1]


def environment() -> dict[str, Any]:
    """Versions and threads; nothing that names the machine or its user."""
    import torch

    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count() or 1,
        "torch_threads": torch.get_num_threads(),
        "versions": {name: package_version(name) for name in PACKAGES},
    }


def package_version(name: str) -> str:
    """The installed version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def source_digest(folder: Path = SOURCE) -> str:
    """A name of this state of the code: 12 digits of the SHA-256 of the package's own Python files.

    A version stays the same from one commit to the next; this does not.
    """
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
        name, content = path.relative_to(folder).as_posix().encode(), path.read_bytes()
        whole.update(b"%d %s %d " % (len(name), name, len(content)))
        whole.update(content)
    return whole.hexdigest()[:12]
