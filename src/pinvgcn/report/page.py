"""HTML from the files in ``templates``, and the versions and threads that a page was computed with.

A page needs no network, no script and no other file. ``base.html`` is the document, ``macros.html`` has the
pieces that pages share, ``style.css`` their looks; each kind of report has a template of its own. What a
template prints is escaped; figures are inserted as they are.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from pinvgcn.wording import counted, decimal, verb, words

PACKAGES = (
    "pinvgcn", "torch", "torch_geometric", "numba", "numpy", "scipy", "scikit-learn", "pandas", "finufft",
    "matplotlib",
)  # fmt: skip
SOURCE = Path(__file__).parents[1]


def render(template: str, **values: Any) -> str:
    """The text of a template that sees ``values``."""
    return _templates().get_template(template).render(values)


def percent(share: float) -> str:
    """0.5 as "50.0 %"."""
    return f"{100 * share:.1f} %"


def sentences(parts: Iterable[str | None]) -> str:
    """Each part that there is as a sentence."""
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def memory_text(memory: int | None) -> str:
    """Bytes in units that people read."""
    if memory is None:
        return "–"
    return f"{memory / 1e9:.1f} GB" if memory >= 1e9 else f"{memory / 1e6:.0f} MB"


def as_markdown(text: str) -> str:
    """Plain text with the signs escaped that Markdown would take for its own."""
    return re.sub(r"([\\|*_<`])", r"\\\1", text)


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("pinvgcn.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {
        "percent": percent,
        "sentences": sentences,
        "thousands": "{:,}".format,
        "decimal": decimal,
        "memory": memory_text,
        "words": words,
        "markdown": as_markdown,
    }
    found.globals |= {"counted": counted, "environment": environment, "verb": verb, "zip": zip}
    return found


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
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str:
    """The commit of the checkout that this package runs from, with a + where its files are changed; else its
    version."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(SOURCE), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # else the checkout is that of something else
        changed = "+" if git("status", "--porcelain", "--", ".") else ""
        return git("rev-parse", "--short=10", "HEAD") + changed
    except (OSError, subprocess.SubprocessError):
        return f"version {package_version('pinvgcn')}"


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
