"""The lines of a text file, many at a time, without ever holding the file."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from pinvgcn.errors import ScanFileError

BLOCK = 1 << 22  # bytes read at once
LONGEST = 1 << 16  # bytes; a longer line is no line of a scan
MARK = b"\xef\xbb\xbf"  # some programs start UTF-8 with it
COMMENTS = (b"#", b"//", b"%")


def open_text(path: Path, packed: bool) -> IO[bytes]:
    """The bytes of the text, unpacked."""
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def blocks(file: IO[bytes], path: Path) -> Iterator[list[bytes]]:
    """Lists of whole lines with their ends, in order; a line ends in LF, CR LF or CR."""
    rest = b""
    while block := file.read(BLOCK):
        text = rest + block
        end = text.rfind(b"\n") + 1 or text[:-1].rfind(b"\r") + 1
        rest = text[end:]
        lines = text[:end].splitlines(keepends=True)
        if max(len(rest), *map(len, lines), 0) > LONGEST:
            raise ScanFileError(
                f"{path} is no text scan: a line must be shorter than {LONGEST:,} bytes. Got a longer one."
            )
        if lines:
            yield lines
    if rest:
        yield rest.splitlines(keepends=True)


class LineReader:
    """Takes lines from a file until enough of them hold points."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._blocks = blocks(file, path)
        self._lines: list[bytes] = []
        self._next = 0
        self.number = 0  # of lines taken

    def skip(self, count: int) -> list[bytes]:
        """The next so many lines, whatever they hold."""
        taken: list[bytes] = []
        while len(taken) < count and self._more():
            some = self._lines[self._next : self._next + count - len(taken)]
            self._next += len(some)
            taken += some
        self.number += len(taken)
        return taken

    def take(self, count: int) -> tuple[list[bytes], int]:
        """Lines with so many data lines among them, the last one being data; how many these are."""
        taken: list[bytes] = []
        found = 0
        while found < count and self._more():
            some = self._lines[self._next : self._next + count - found]
            self._next += len(some)
            taken += some
            found += sum(are_data(some))
        self.number += len(taken)
        return taken, found

    def _more(self) -> bool:
        while self._next >= len(self._lines):
            following = next(self._blocks, None)
            if following is None:
                return False
            self._lines, self._next = following, 0
        return True


def is_data(line: bytes) -> bool:
    """Neither blank nor a comment."""
    text = line.lstrip()
    return bool(text) and not text.startswith(COMMENTS)


def are_data(lines: Sequence[bytes]) -> list[bool]:
    """The same of many lines; several times faster where none of them has the mark of a comment in it."""
    text = b"".join(lines)
    if any(mark in text for mark in COMMENTS):
        return list(map(is_data, lines))
    return list(map(bool, map(bytes.strip, lines)))
