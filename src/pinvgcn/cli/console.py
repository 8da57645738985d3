"""What the commands print with: results on stdout, progress and hints on stderr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table


def out() -> Console:
    return Console(highlight=False)


def err() -> Console:
    return Console(stderr=True, highlight=False)


@contextmanager
def loading() -> Iterator[None]:
    """Says, on a terminal, that the numerical libraries are being loaded."""
    with err().status("Loading the libraries"):
        yield


def say(*lines: str) -> None:
    """Lines of the result, as they are."""
    for line in lines:
        out().print(line, markup=False, soft_wrap=True)


def note(*lines: str) -> None:
    """What deserves attention."""
    for line in lines:
        err().print(f"note: {line}", markup=False, soft_wrap=True)


def table(title: str | None = None, first: str = "", *numbers: str) -> Table:
    """One in the looks of all, with a column of words, if it has a name, and columns of numbers."""
    made = Table(
        title=title, title_justify="left", title_style="bold", caption_justify="left", box=box.SIMPLE_HEAD,
        pad_edge=False,
    )  # fmt: skip
    if first:
        made.add_column(first, overflow="fold")
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made
