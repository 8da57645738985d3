"""The encoding of a text file, found by reading all of its bytes once.

A byte order mark decides. Without one the file is UTF-8 if every byte of it is; else Windows-1252, which
Excel writes, or Latin-1, if it has bytes that only the other can be. In these each byte is a character, so
that nothing is lost and a copy has the same bytes. A note says so.
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

from pinvgcn.errors import PinvGCNError

BLOCK = 1 << 20
GZIP = b"\x1f\x8b"
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
WINDOWS = bytes(range(0x80, 0xA0))  # where Windows-1252 has characters and Latin-1 has controls ...
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # ... except these


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
        """The first bytes, unpacked."""
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
        decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder(name)()
        wide = name != "utf-8"
        line, length, wrong, windows, undefined = 1, 0, None, False, False
        block = head
        while block:
            following = file.read(BLOCK)
            if decoder is not None:
                try:
                    text = decoder.decode(block, final=not following)
                    if wide and "\0" in text:
                        raise self._no_text(line + text[: text.index("\0")].count("\n"))
                except UnicodeDecodeError as error:
                    line_of_it = line + error.object[: error.start].count(b"\n")
                    wrong, decoder = f"byte 0x{error.object[error.start]:02X} in line {line_of_it}", None
                    if marked:
                        raise self.error(
                            f"{self.path} begins as {name.upper()} text, but has {wrong}, which is none. "
                            "Save it again as UTF-8."
                        ) from None
            if not wide and b"\0" in block:
                raise self._no_text(line + block[: block.index(b"\0")].count(b"\n"))
            windows = windows or len(block.translate(None, WINDOWS)) < len(block)
            undefined = undefined or len(block.translate(None, UNDEFINED)) < len(block)
            line += block.count(b"\n")
            end = max(block.rfind(b"\n"), block.rfind(b"\r"))
            length = length + len(block) if end < 0 else len(block) - end
            if length > longest:
                raise self.error(
                    f"{self.path} has no line break in {length:,} bytes of line {line}. "
                    f"A line must be shorter than {longest:,} bytes."
                )
            block = following
        return wrong, "cp1252" if windows and not undefined else "latin-1"

    def _no_text(self, line: int) -> PinvGCNError:
        return self.error(
            f"{self.path} must be text. Got a NUL byte in line {line}; "
            "it may be another kind of file, or UTF-16 without its mark: save it as UTF-8."
        )


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
