"""What the commands print with: results on stdout, progress and hints on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


def out() -> Console:
    """Where results go."""
    return Console(highlight=False)


def err() -> Console:
    """Where everything else goes."""
    return Console(stderr=True, highlight=False)


@contextmanager
def loading() -> Iterator[None]:
    """Says, on a terminal, that the numerical libraries are being loaded."""
    with err().status("Loading the libraries"):
        yield
