"""What a result was computed with: versions, threads, processor family."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = (
    "pinvgcn", "torch", "torch_geometric", "numpy", "scipy", "scikit-learn", "pandas", "finufft",
    "matplotlib",
)  # fmt: skip


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
