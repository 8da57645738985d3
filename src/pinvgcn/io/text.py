"""Text in files, of scans and of tables: its encoding, its lines, their cells; never a whole file in memory.

The encoding is found by reading all bytes once. A byte order mark decides. Without one the file is UTF-8 if
every byte of it is; else Windows-1252, which Excel writes, or Latin-1, if it has bytes that only the other
can be. In these each byte is a character, so that nothing is lost and a copy has the same bytes; a note says
which it was.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np

from pinvgcn.errors import PinvGCNError, ScanFileError

BLOCK = 1 << 22  # bytes or characters that are read at once
GZIP = b"\x1f\x8b"
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# of the other bytes Windows-1252 has characters where Latin-1 has controls, except for the undefined ones
COMMON, UNDEFINED = bytes({*range(256)} - {*range(0x80, 0xA0)}), b"\x81\x8d\x8f\x90\x9d"
LONGEST = 1 << 16  # characters; a longer line is no line of a scan
FOREIGN = {  # what other files begin with
    b"PAR1": "a Parquet table",
    b"PK\x03\x04": "a zip archive, or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"LASF": "a LAS scan",
    b"\x89PNG": "a picture",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "a database",
}
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


def foreign(head: bytes) -> str | None:
    """What a file is that begins so, if it is none of text."""
    return next((what for first, what in FOREIGN.items() if head.startswith(first)), None)


@dataclass(frozen=True)
class TextFile:
    """How the text of a file is stored; ``error`` is what its damage is raised as."""

    path: Path
    error: type[PinvGCNError]
    encoding: str = "latin-1"
    mark: bytes = b""  # the byte order mark, or nothing
    compressed: bool = False
    note: str | None = None  # what the reader should know

    @classmethod
    def find(cls, path: Path, *, longest: int, error: type[PinvGCNError]) -> TextFile:
        """Read the whole file once, in constant memory; no line may have more than ``longest`` bytes."""
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP
        plain = cls(path, error, compressed=compressed)
        with plain._bytes() as (file, _):
            head = file.read(4)
            mark, name = next(((m, n) for m, n in MARKS if head.startswith(m)), (b"", "utf-8"))
            wrong, fallback = plain._first_error(file, head[len(mark) :], name, bool(mark), longest)
        if wrong is None:
            return cls(path, error, name, mark, compressed)
        called = "Windows-1252" if fallback == "cp1252" else "Latin-1"
        note = f"{path} is not UTF-8 ({wrong}); it was read as {called} and is written as such."
        return cls(path, error, fallback, b"", compressed, note)

    @contextmanager
    def open(self) -> Iterator[tuple[io.TextIOWrapper, Any]]:
        """The text behind the byte order mark, with its line ends as they are; and the file as stored."""
        with self._bytes() as (file, stored):
            file.read(len(self.mark))
            with io.TextIOWrapper(file, encoding=self.encoding, newline="") as text:
                yield text, stored

    def head(self, size: int) -> bytes:
        with self._bytes() as (file, _):
            found: bytes = file.read(size)
            return found

    @contextmanager
    def _bytes(self) -> Iterator[tuple[Any, Any]]:
        try:
            with self.path.open("rb") as stored:
                if not self.compressed:
                    yield stored, stored
                    return
                with gzip.GzipFile(fileobj=stored) as file:
                    yield file, stored
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.error(
                f"{self.path} is a damaged gzip file ({error}). It may be truncated: copy it again."
            ) from None

    def _first_error(
        self, file: IO[bytes], head: bytes, name: str, marked: bool, longest: int
    ) -> tuple[str | None, str]:
        """Where the bytes first are not of this encoding, None where all are, and what they are otherwise."""
        decoder = codecs.getincrementaldecoder(name)()
        line, length, wrong = 1, 0, None
        odd: set[int] = set()
        block = head
        while block:
            following = file.read(BLOCK)
            try:
                text = decoder.decode(block, final=not following)
            except UnicodeDecodeError as error:
                line_of_it = line + error.object[: error.start].count(b"\n")
                wrong = f"byte 0x{error.object[error.start]:02X} in line {line_of_it}"
                if marked:
                    raise self.error(
                        f"{self.path} begins as {name.upper()} text, but has {wrong}, which is none. "
                        "Save it again as UTF-8."
                    ) from None
                decoder = codecs.getincrementaldecoder("latin-1")()  # in which all bytes are characters
                text = decoder.decode(block)
            if "\0" in text:
                number = line + text[: text.index("\0")].count("\n")
                raise self.error(
                    f"{self.path} must be text. Got a NUL byte in line {number}; it may be another kind of "
                    "file, or UTF-16 without its mark: save it as UTF-8."
                )
            odd.update(block.translate(None, COMMON))
            line += text.count("\n")
            end = max(text.rfind("\n"), text.rfind("\r"))
            length = length + len(text) if end < 0 else len(text) - end
            if length > longest:
                raise self.error(
                    f"{self.path} has no line break in {length:,} bytes of line {line}. "
                    f"A line must be shorter than {longest:,} bytes."
                )
            block = following
        return wrong, "cp1252" if odd and odd.isdisjoint(UNDEFINED) else "latin-1"


class PackedOutput(gzip.GzipFile):
    """A gzip file without name and time inside: equal results are equal files."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("wb")
        super().__init__(filename="", mode="wb", fileobj=self._raw, mtime=0)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._raw.close()


def open_output(path: Path, out: Path) -> IO[bytes]:
    """A new text file at ``path``, packed if its final name ``out`` ends in .gz."""
    if out.name.lower().endswith(".gz"):
        return PackedOutput(path)  # type: ignore[return-value]
    return path.open("wb")


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


class LineReader:
    """Takes lines from a text until enough of them hold points."""

    def __init__(self, text: TextIO, path: Path) -> None:
        self._text, self._path = text, path
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
        while lines := self.skip(100_000):
            yield lines

    def _more(self) -> bool:
        if self._next == len(self._lines):
            self._lines, self._next = self._text.readlines(BLOCK), 0
            if max(map(len, self._lines), default=0) > LONGEST:
                raise ScanFileError(
                    f"{self._path} is no text scan: a line must be shorter than {LONGEST:,} bytes. "
                    "Got a longer one."
                )
        return bool(self._lines)


def are_data(lines: Sequence[str]) -> list[bool]:
    """Which lines are neither blank nor a comment; several times faster where none has a comment's mark."""
    stripped = list(map(str.strip, lines))
    text = "".join(lines)
    if any(mark in text for mark in COMMENTS):
        return [bool(line) and not line.startswith(COMMENTS) for line in stripped]
    return list(map(bool, stripped))
