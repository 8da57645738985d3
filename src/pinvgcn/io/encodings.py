"""Which characters the bytes of a text file stand for, found by reading all of them once.

A byte order mark decides. Without one the file is UTF-8 if every byte of it is; else Windows-1252, which
Excel writes, or Latin-1, if it has bytes that only the other can be. In these each byte is a character, so
that nothing is lost and what is copied stays the same bytes. That is said.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pinvgcn.errors import TableFileError

BLOCK = 1 << 20
LONGEST_LINE = 64 << 20  # bytes without a line break: no table of anyone
GZIP = b"\x1f\x8b"
MARKS = (  # the longer ones first: UTF-32 begins as UTF-16 does
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
WINDOWS = bytes(range(0x80, 0xA0))  # where Windows-1252 has characters and Latin-1 has controls ...
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # ... except these
OTHERS = {  # what people hand in for a table, by its first bytes
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; save the table as CSV first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV first",
    b"LASF": "a laser scan; use pinvgcn segment",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"SQLite format 3": "a database; export the table as CSV first",
}


@dataclass(frozen=True)
class Encoding:
    """How the text of a file is stored."""

    name: str
    mark: bytes  # the byte order mark, or nothing
    compressed: bool
    note: str | None = None  # what the reader should know


@contextmanager
def raw_bytes(path: Path, *, compressed: bool) -> Iterator[tuple[Any, Any]]:
    """The file's bytes, unpacked, and the file as stored; damage of a gzip file is an error that names it."""
    try:
        with path.open("rb") as stored:
            if not compressed:
                yield stored, stored
                return
            with gzip.GzipFile(fileobj=stored) as file:
                yield file, stored
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableFileError(
            f"{path} is a damaged gzip file ({error}). It may be truncated: copy it again."
        ) from None


@contextmanager
def text_lines(path: Path, encoding: Encoding) -> Iterator[tuple[io.TextIOWrapper, Any]]:
    """The lines of the file with their ends as they are, behind the byte order mark; and the stored file."""
    with raw_bytes(path, compressed=encoding.compressed) as (file, stored):
        file.read(len(encoding.mark))
        with io.TextIOWrapper(file, encoding=encoding.name, newline="") as text:
            yield text, stored


def find_encoding(path: Path) -> Encoding:
    """Read the whole file once, in constant memory, and see that it is text."""
    with path.open("rb") as file:
        compressed = file.read(2) == GZIP
    with raw_bytes(path, compressed=compressed) as (file, _):
        head = file.read(16)
        if not head:
            raise TableFileError(f"{path} is empty. A table needs a line with the names of its columns.")
        _refuse_others(path, head, compressed)
        mark, name = next(((m, n) for m, n in MARKS if head.startswith(m)), (b"", "utf-8"))
        wrong, fallback = _first_error(path, file, head[len(mark) :], name, marked=bool(mark))
    if wrong is None:
        return Encoding(name, mark, compressed)
    called = "Windows-1252" if fallback == "cp1252" else "Latin-1"
    note = f"{path} is not UTF-8 ({wrong}); it was read as {called} and is written as such."
    return Encoding(fallback, b"", compressed, note)


def _first_error(
    path: Path, file: IO[bytes], head: bytes, name: str, *, marked: bool
) -> tuple[str | None, str]:
    """Where the bytes first are not of this encoding, None where all are, and what they are otherwise.

    No encoding makes NUL a text.
    """
    decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder(name)()
    wide = not name.startswith("utf-8")
    line, length, wrong, windows, undefined = 1, 0, None, False, False
    block = head
    while block:
        following = file.read(BLOCK)
        if decoder is not None:
            try:
                text = decoder.decode(block, final=not following)
                if wide and "\0" in text:
                    raise _no_text(path, line + text[: text.index("\0")].count("\n"))
            except UnicodeDecodeError as error:
                line_of_it = line + error.object[: error.start].count(b"\n")
                found = f"byte 0x{error.object[error.start]:02X} in line {line_of_it}"
                if marked:
                    raise TableFileError(
                        f"{path} begins as {name.upper()} text, but has {found}, which is none. "
                        "Save it again as UTF-8."
                    ) from None
                wrong, decoder = found, None
        if not wide and b"\0" in block:
            raise _no_text(path, line + block[: block.index(b"\0")].count(b"\n"))
        windows = windows or len(block.translate(None, WINDOWS)) < len(block)
        undefined = undefined or len(block.translate(None, UNDEFINED)) < len(block)
        line += block.count(b"\n")
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        length = length + len(block) if end < 0 else len(block) - end
        if length > LONGEST_LINE:
            raise TableFileError(f"{path} has no line break in {length >> 20} MiB of line {line}: no table.")
        block = following
    return wrong, "cp1252" if windows and not undefined else "latin-1"


def _no_text(path: Path, line: int) -> TableFileError:
    return TableFileError(
        f"{path} must be text. Got a NUL byte in line {line}; "
        "it may be another kind of file, or UTF-16 without its mark: save it as UTF-8."
    )


def _refuse_others(path: Path, head: bytes, compressed: bool) -> None:
    for first, what in OTHERS.items():
        if head.startswith(first):
            raise TableFileError(f"{path} must be a CSV, TSV or Parquet table. Got {what}.")
    if compressed and head.startswith((b"PAR1", GZIP)):
        inner = "Parquet" if head.startswith(b"PAR1") else "gzip"
        raise TableFileError(f"{path} is a {inner} file that was compressed once more; unpack it first.")
