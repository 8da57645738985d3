"""Writing a copy of a scan with columns replaced or added.

::

    with source.writer(out, {"classification": np.uint8}) as writer:
        writer.write({"classification": classes})      # consecutive pieces, together all points

The source is read a second time and copied piece by piece, so memory does not depend on its size. The
copy has a temporary name beside its target and gets its own at the end: an interrupt or a full disk leaves
what was there before, and no half file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from pinvgcn.checks import check_choice
from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import atomic_file, check_output, reading, reason, writing
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource

FORMATS = ("las", "laz", "ply", "pcd", "text")
ENDINGS = {
    ".las": "las",
    ".laz": "laz",
    ".ply": "ply",
    ".pcd": "pcd",
    **dict.fromkeys((".xyz", ".txt", ".csv", ".tsv", ".asc", ".pts"), "text"),
}


def open_writer(
    source: ScanSource, out: Path, columns: Mapping[str, npt.DTypeLike], format: str | None
) -> ScanWriter:
    """The writer for a target. What can be known to fail fails here, before any work is done."""
    format = format_of(source, out) if format is None else check_choice("format", format, FORMATS)
    check_output(out, force=True)
    wanted = {str(name): np.dtype(dtype) for name, dtype in columns.items()}
    for name, dtype in wanted.items():
        if name.lower() in ("x", "y", "z"):
            raise DataError(f"A column of results must not be called {name!r}: that is a coordinate's name.")
        if dtype.kind not in "biufUO":
            raise DataError(f"Column {name!r} must be of numbers or text. Got dtype {dtype} instead.")
    writer = source.own_writer(out, wanted, format)
    if writer is None and (format not in ("las", "laz") or source.rounded is not None):
        from pinvgcn.io import conversion  # it needs the writers of this file

        kind = conversion.NewLas if format in ("las", "laz") else conversion.NewFile
        return kind(source, out, wanted, format)
    if writer is None:
        raise ScanFileError(
            f"{source.path} is {source.format.upper()} and cannot be written as {format.upper()} ({out}), "
            "which would round its coordinates. Give the output a name that ends like the input's."
        )
    return writer


def format_of(source: ScanSource, out: Path) -> str:
    """The format that a name promises: by its ending, or that of the source if it ends alike or in none."""
    ending = _ending(out)
    known = ENDINGS.get(ending)
    if known is None and ending not in ("", _ending(source.path)):
        raise ScanFileError(
            f"{out} must end in what scans are called: {', '.join(ENDINGS)}. Got {ending!r} instead."
        )
    format = source.format if known is None else known
    if format not in FORMATS:
        raise ScanFileError(
            f"{format.upper()} is read, not written. Got {out}; give the output a name that ends in .laz, "
            ".las, .ply, .pcd or .csv."
        )
    if format != "text" and out.name.lower().endswith(".gz"):
        raise ScanFileError(
            f"Only text is packed by gzip. Got {out} for {format.upper()}; leave out the .gz."
        )
    return format


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


class ScanWriter(ABC):
    """Copies the source to ``out`` while the columns come in; use it in a ``with`` statement."""

    checked = True  # whether the target holds what the source's format holds, and no more

    def __init__(self, source: ScanSource, out: Path, columns: dict[str, np.dtype]) -> None:
        self.source, self.out, self.columns = source, out, columns
        self.written = 0
        self._opened = ExitStack()  # whatever is to be closed at the end
        self._to: IO[bytes] | None = None
        self._beside: dict[str, Iterator[ScanChunk]] = {}

    @abstractmethod
    def _begin(self, to: IO[bytes]) -> None:
        """Write what comes before the points."""

    @abstractmethod
    def _write(self, values: dict[str, np.ndarray], count: int, to: IO[bytes]) -> None:
        """Copy the next ``count`` points with these columns."""

    def _end(self, to: IO[bytes]) -> None:  # noqa: B027
        """Write what comes after the points."""

    def _open(self, path: Path) -> IO[bytes]:
        return path.open("wb")

    def present(self, name: str, count: int) -> np.ndarray:
        """A field of the source at the next ``count`` points; call it once before each write."""
        if name not in self._beside:
            self._beside[name] = self.source.chunks(count, fields=[name])
        return next(self._beside[name]).fields[name]

    def __enter__(self) -> Self:
        with ExitStack() as self._opened:
            temporary = self._opened.enter_context(atomic_file(self.out, error=ScanFileError))
            self._opened.callback(self._close)
            with writing(self.out):
                self._to = self._open(temporary)
                self._begin(self._to)
            self._opened = self._opened.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._opened:
            if error is not None:
                raise error
            self._finish()

    def write(self, columns: Mapping[str, npt.ArrayLike]) -> None:
        """The next points' columns, as many as there are; all names at once."""
        if self._to is None:
            raise DataError("A scan's writer must be used in a with statement: with source.writer(...) as w.")
        if set(columns) != set(self.columns):
            raise DataError(
                f"write must get the columns {', '.join(self.columns)}. Got {', '.join(columns)} instead."
            )
        values = {name: _as_column(name, columns[name], dtype) for name, dtype in self.columns.items()}
        lengths = {len(column) for column in values.values()}
        if len(lengths) > 1:
            raise DataError(f"The columns must be equally long. Got lengths {sorted(lengths)} instead.")
        (count,) = lengths or {self.source.count - self.written}
        if self.written + count > self.source.count:
            raise DataError(
                f"{self.source.path} has {self.source.count:,} points. "
                f"Got values for {self.written + count:,} instead."
            )
        for name, column in values.items():
            if self.checked:
                self.source.check_values(name, column)
        for first in range(0, count, PIECE):
            block = {name: column[first : first + PIECE] for name, column in values.items()}
            with writing(self.out):
                self._write(block, min(PIECE, count - first), self._to)
        self.written += count

    def _finish(self) -> None:
        assert self._to is not None
        if not self.columns:  # a plain copy has nothing to wait for
            self.write({})
        if self.written != self.source.count:
            raise DataError(
                f"{self.source.path} has {self.source.count:,} points. Got values for {self.written:,} only; "
                f"{self.out} was not written."
            )
        with writing(self.out):
            self._end(self._to)
            self._to.flush()
            self._to.close()

    def _close(self) -> None:
        """Before the copy takes its place or is removed: the target may be the source."""
        self._beside = {}
        if self._to is not None:
            with suppress(OSError, ValueError):  # a full disk fails again when it flushes
                self._to.close()
        self._to = None


def _as_column(name: str, values: npt.ArrayLike, dtype: np.dtype) -> np.ndarray:
    """The values in the type that was announced; nothing may be lost but digits of floating point."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise DataError(f"Column {name!r} must be one-dimensional. Got shape {given.shape} instead.")
    if given.dtype == dtype or dtype.kind in "UO":
        return given
    return exact_cast(name, given, dtype, f"{dtype}")


def exact_cast(name: str, given: np.ndarray, dtype: np.dtype, holder: str) -> np.ndarray:
    """``given`` as another type, refused where that changes a whole number or overflows."""
    if np.can_cast(given.dtype, dtype, "safe"):
        return given.astype(dtype)
    try:
        with np.errstate(all="ignore"):
            column = given.astype(dtype)
    except (TypeError, ValueError) as error:
        raise DataError(f"Column {name!r} must be numbers ({reason(error)}).") from None
    if dtype.kind == "f":
        lost = np.isfinite(given.astype(np.float64)) & ~np.isfinite(column)
    else:
        lost = column != given
    if lost.any():
        raise DataError(f"Column {name!r} must fit {holder}. Got {given[np.argmax(lost)]} instead.")
    return column


def copy_bytes(source: IO[bytes], target: IO[bytes], count: int, path: Path) -> None:
    while count > 0:
        with reading(path):
            block: Any = source.read(min(count, 1 << 24))
        if not block:
            raise ScanFileError(f"{path} ended {count:,} bytes early while it was copied. Was it changed?")
        target.write(block)
        count -= len(block)
