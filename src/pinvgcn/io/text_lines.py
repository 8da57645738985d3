"""Lines of text and their cells, for scans and tables: many at a time, without ever holding the file."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import TextIO

import numpy as np

from pinvgcn.errors import ScanFileError

BLOCK = 1 << 22  # characters read at once
LONGEST = 1 << 16  # characters; a longer line is no line of a scan
COMMENTS = ("#", "//", "%")
SEPARATORS = (";", "\t", ",", "|")
# cells that mean "not known", whatever stands around them: what pandas, R, Excel, SQL and UCI write for it
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "<NA>", "#N/A", "NULL", "null", "?")
MISSING_NUMBERS = (*MISSING, "NAN", "-nan", "None")
WORD = re.compile(r'"(?:[^"]|"")*"|\S+', re.ASCII)
_NUMBER = re.compile(
    r"""\s*"?\s*[+-]?(?:(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf(?:inity)?)\s*"?\s*""",
    re.IGNORECASE,
)


def is_number(cell: str) -> bool:
    """With a point or a comma before the decimals."""
    return _NUMBER.fullmatch(cell) is not None


def split(line: str, separator: str) -> list[str]:
    """The cells of a line, quotation marks and all, which protect separators; "" is white space."""
    line = line.strip("\r\n")
    if not separator:
        return WORD.findall(line)
    if '"' not in line:
        return line.split(separator)
    cells, open_quote, start = [], False, 0
    for at, sign in enumerate(line):
        if sign == '"':
            open_quote = not open_quote
        elif sign == separator and not open_quote:
            cells.append(line[start:at])
            start = at + 1
    return [*cells, line[start:]]


def extended(line: str, separator: str, cells: Sequence[str]) -> str:
    """The line with more cells at its end."""
    body = line.rstrip("\r\n")
    between = separator or ("\t" if "\t" in body else " ")
    return between.join([body, *cells]) + line[len(body) :]


def exchanged(line: str, separator: str, cells: dict[int, str]) -> str:
    """The line with other cells at some places; the space around them stays."""
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    if separator:
        parts = split(body, separator)
        for place, cell in cells.items():
            parts[place] = cell
        return separator.join(parts) + end
    spans = [match.span() for match in WORD.finditer(body)]
    for place, cell in sorted(cells.items(), reverse=True):
        start, stop = spans[place]
        body = body[:start] + cell + body[stop:]
    return body + end


def put_cells(
    lines: list[str],
    data: Sequence[bool],
    separator: str,
    replaced: Sequence[tuple[int, Sequence[str]]],
    appended: Sequence[Sequence[str]],
) -> None:
    """Put new cells into the ``data`` lines: columns in the place of others, and columns at their end."""
    ends = list(zip(*appended, strict=True))
    for point, number in enumerate(compress(range(len(lines)), data)):
        if replaced:
            cells = {place: texts[point] for place, texts in replaced}
            lines[number] = exchanged(lines[number], separator, cells)
        if appended:
            lines[number] = extended(lines[number], separator, ends[point])


def quoted(text: str, separator: str, *, always: bool = False) -> str:
    """In quotation marks where it would otherwise be taken for several cells, or for none."""
    special = text.split() != [text] if not separator else separator in text or text != text.strip()
    if special or (always and text) or any(sign in text for sign in '"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def digits(column: np.ndarray) -> list[str]:
    """Each number in the fewest digits that give it back."""
    plain = column.astype(np.uint8) if column.dtype.kind == "b" else column
    texts: list[str] = plain.astype(str).tolist()
    return texts


def _blocks(text: TextIO, path: Path) -> Iterator[list[str]]:
    """Lists of whole lines with their ends, in order: LF, CR LF or CR. ``str.splitlines`` takes other
    characters for line ends, too."""
    rest = ""
    while block := text.read(BLOCK):
        block = rest + block
        end = block.rfind("\n") + 1 or block[:-1].rfind("\r") + 1
        rest = block[end:]
        lines = io.StringIO(block[:end], newline="").readlines()
        if max(len(rest), *map(len, lines), 0) > LONGEST:
            raise ScanFileError(
                f"{path} is no text scan: a line must be shorter than {LONGEST:,} bytes. Got a longer one."
            )
        if lines:
            yield lines
    if rest:
        yield io.StringIO(rest, newline="").readlines()


class LineReader:
    """Takes lines from a text until enough of them hold points."""

    def __init__(self, text: TextIO, path: Path) -> None:
        self._blocks = _blocks(text, path)
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
    return are_data([line])[0]


def are_data(lines: Sequence[str]) -> list[bool]:
    """The same of many lines; several times faster where none of them has the mark of a comment in it."""
    stripped = list(map(str.strip, lines))
    text = "".join(lines)
    if any(mark in text for mark in COMMENTS):
        return [bool(line) and not line.startswith(COMMENTS) for line in stripped]
    return list(map(bool, stripped))
