"""The lines of a text, many at a time, without ever holding the file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from pinvgcn.errors import ScanFileError

BLOCK = 1 << 22  # characters read at once
LONGEST = 1 << 16  # characters; a longer line is no line of a scan
COMMENTS = ("#", "//", "%")


def blocks(text: TextIO, path: Path) -> Iterator[list[str]]:
    """Lists of whole lines with their ends, in order; a line ends in LF, CR LF or CR."""
    rest = ""
    while block := text.read(BLOCK):
        block = rest + block
        end = block.rfind("\n") + 1 or block[:-1].rfind("\r") + 1
        rest = block[end:]
        lines = split_lines(block[:end])
        if max(len(rest), *map(len, lines), 0) > LONGEST:
            raise ScanFileError(
                f"{path} is no text scan: a line must be shorter than {LONGEST:,} bytes. Got a longer one."
            )
        if lines:
            yield lines
    if rest:
        yield split_lines(rest)


def split_lines(text: str) -> list[str]:
    """At LF, CR LF and CR only; ``str.splitlines`` takes other characters for line ends, too."""
    return io.StringIO(text, newline="").readlines()


class LineReader:
    """Takes lines from a text until enough of them hold points."""

    def __init__(self, text: TextIO, path: Path) -> None:
        self._blocks = blocks(text, path)
        self._lines: list[str] = []
        self._next = 0
        self.number = 0  # of lines taken

    def skip(self, count: int) -> list[str]:
        """The next ``count`` lines, whatever they hold."""
        taken: list[str] = []
        while len(taken) < count and self._more():
            some = self._lines[self._next : self._next + count - len(taken)]
            self._next += len(some)
            taken += some
        self.number += len(taken)
        return taken

    def take(self, count: int) -> tuple[list[str], int]:
        """Lines with ``count`` data lines among them, the last one being data; how many these are."""
        taken: list[str] = []
        found = 0
        while found < count and self._more():
            some = self._lines[self._next : self._next + count - found]
            self._next += len(some)
            taken += some
            found += sum(are_data(some))
        self.number += len(taken)
        return taken, found

    def rest(self) -> Iterator[list[str]]:
        """All lines that are left."""
        while lines := self.skip(100_000):
            yield lines

    def _more(self) -> bool:
        while self._next >= len(self._lines):
            following = next(self._blocks, None)
            if following is None:
                return False
            self._lines, self._next = following, 0
        return True


def is_data(line: str) -> bool:
    """Neither blank nor a comment."""
    text = line.lstrip()
    return bool(text) and not text.startswith(COMMENTS)


def are_data(lines: Sequence[str]) -> list[bool]:
    """The same of many lines; several times faster where none of them has the mark of a comment in it."""
    text = "".join(lines)
    if any(mark in text for mark in COMMENTS):
        return list(map(is_data, lines))
    return list(map(bool, map(str.strip, lines)))
