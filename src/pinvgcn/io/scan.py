"""What every scan file offers, whatever its format, and the writer of a copy.

::

    source.path, source.format      "las" "laz" "ply" "pcd" "text" "e57"
    source.count                    points
    source.fields                   {name: dtype} of every column other than x, y, z, in the file's order
    source.metres                   metres per unit of the coordinates, None if the file does not say
    source.system                   the name of the coordinate system, None if the file does not say
    source.chunks(size)             pieces of at most ``size`` points, in file order, in constant memory
    source.read()                   one piece with everything
    source.writer(out, columns)     a copy of the file with columns replaced or added: `ScanWriter`

A format's own class sets the attributes, reads in ``_pieces``, and may have a writer of its own kind. A
writer reads the source a second time, piece by piece. The copy gets its name when it is whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from pinvgcn.checks import check_choice, check_count
from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import atomic_file, check_output, reading, reason, writing
from pinvgcn.wording import nearest

PIECE = 1_000_000  # points; a piece with a dozen fields then takes about 100 MB
FORMATS = ("las", "laz", "ply", "pcd", "text")
ENDINGS = {
    ".las": "las",
    ".laz": "laz",
    ".ply": "ply",
    ".pcd": "pcd",
    **dict.fromkeys((".xyz", ".txt", ".csv", ".tsv", ".asc", ".pts"), "text"),
}


@dataclass(frozen=True)
class ScanChunk:
    """Consecutive points of a scan: those from number ``start`` on."""

    start: int
    points: np.ndarray  # (k, 3)
    fields: dict[str, np.ndarray] = field(default_factory=dict)  # name: (k,)

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def joined(cls, pieces: Sequence[ScanChunk], start: int = 0) -> ScanChunk:
        """Pieces with the same fields as one."""
        points = np.concatenate([piece.points for piece in pieces])
        names = pieces[0].fields
        return cls(start, points, {n: np.concatenate([piece.fields[n] for piece in pieces]) for n in names})

    def at(self, rows: slice | np.ndarray) -> ScanChunk:
        return ScanChunk(self.start, self.points[rows], {n: some[rows] for n, some in self.fields.items()})


class ScanSource(ABC):
    """A scan file that was opened and whose header was understood; no file stays open between calls."""

    format: str
    count: int
    fields: dict[str, np.dtype]
    metres: float | None = None
    system: str | None = None
    rounded: float | None = None  # the step to which a copy in LAS may round coordinates; None: no such copy

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}: {self.count:,} points; {', '.join(self.fields)})"

    @abstractmethod
    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        """The points in file order; at most ``size`` at once, with the named fields."""

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        """A writer of the file's own kind; None where this file cannot become the format."""
        return None

    def check_values(self, name: str, values: npt.ArrayLike) -> None:  # noqa: B027
        """Raise now what the writer of this format would raise later about values of a field.

        A class above 31 does not fit point formats 0 to 5 of LAS, for example.
        """

    def _place(self, point: int) -> str:
        """How a message names a point."""
        return f"point {point:,} (counted from 0)"

    def chunks(
        self, size: int = PIECE, *, fields: Collection[str] | None = None
    ) -> Generator[ScanChunk, None, None]:
        """The points in file order in pieces of ``size`` (the last one may be shorter).

        ``fields`` names the columns that are wanted, all by default: those left out cost no time.
        """
        size = check_count("size", size)
        names = list(self.fields) if fields is None else [self.known_field(name) for name in fields]
        return self._checked(self._pieces(size, names))

    def _checked(self, pieces: Iterator[ScanChunk]) -> Generator[ScanChunk, None, None]:
        done = 0
        while True:
            with reading(self.path):
                piece = next(pieces, None)
            if piece is None:
                break
            self._check_finite(piece)
            done += len(piece)
            yield piece
        if done != self.count:
            raise ScanFileError(f"{self.path} must hold {self.count:,} points. Got {done:,} instead.")

    def _check_finite(self, piece: ScanChunk) -> None:
        if np.isfinite(piece.points).all():
            return
        first, *others = np.flatnonzero(~np.isfinite(piece.points).all(axis=1)).tolist()
        shown = ", ".join(f"{value:g}" for value in piece.points[first])
        more = f" and {len(others):,} more like it" if others else ""
        raise ScanFileError(
            f"{self.path}: coordinates must be finite. Got ({shown}) at {self._place(piece.start + first)}"
            f"{more}; remove such points first."
        )

    def read(self, *, fields: Collection[str] | None = None) -> ScanChunk:
        pieces = list(self.chunks(fields=fields))
        with reading(self.path):
            return pieces[0] if len(pieces) == 1 else ScanChunk.joined(pieces)

    def known_field(self, name: str) -> str:
        """The name, if the file has such a field; else an error that lists what there is."""
        if name in self.fields:
            return name
        near = nearest(name, self.fields)
        raise DataError(
            f"{self.path} has no field {name!r}{f'; did you mean {near!r}?' if near else '.'} "
            f"Its fields: {self.listed_fields}."
        )

    @property
    def listed_fields(self) -> str:
        return ", ".join(self.fields) or "none besides x, y, z"

    def writer(
        self, out: str | Path, columns: Mapping[str, npt.DTypeLike], *, format: str | None = None
    ) -> ScanWriter:
        """A writer of this scan with the columns replaced, or added where the file has none of that name.

        The format is ``format``, else the one that the name of ``out`` ends in, else the source's. What can
        be known to fail fails here, before any work is done.
        """
        format = format_of(self, Path(out)) if format is None else check_choice("format", format, FORMATS)
        out = check_output(out, force=True)
        wanted = {str(name): np.dtype(dtype) for name, dtype in columns.items()}
        for name, dtype in wanted.items():
            if name.lower() in ("x", "y", "z"):
                raise DataError(
                    f"A column of results must not be called {name!r}: that is a coordinate's name."
                )
            if dtype.kind not in "biufUO":
                raise DataError(f"Column {name!r} must be of numbers or text. Got dtype {dtype} instead.")
        if (writer := self.own_writer(out, wanted, format)) is not None:
            return writer
        from pinvgcn.io import conversion  # it needs the writers of this file

        if format not in ("las", "laz"):
            return conversion.NewFile(self, out, wanted, format)
        if self.rounded is not None:
            return conversion.NewLas(self, out, wanted, format)
        raise ScanFileError(
            f"{self.path} is {self.format.upper()} and cannot be written as {format.upper()} ({out}), "
            "which would round its coordinates. Give the output a name that ends like the input's."
        )


def in_pieces(pieces: Iterable[ScanChunk], size: int) -> Iterator[ScanChunk]:
    """The same points in pieces of ``size``, the last one maybe shorter, numbered from 0."""
    held: list[ScanChunk] = []
    start = 0
    for piece in pieces:
        held.append(piece)
        while sum(map(len, held)) >= size:
            whole = ScanChunk.joined(held, start)
            yield whole.at(slice(size))
            start += size
            held = [whole.at(slice(size, None))]
    if sum(map(len, held)):
        yield ScanChunk.joined(held, start)


def format_of(source: ScanSource, out: Path) -> str:
    """The format that a name promises: by its ending, or that of the source if it ends alike or in none."""
    ending = _ending(out)
    known = ENDINGS.get(ending)
    if known is None and ending not in ("", _ending(source.path)):
        raise ScanFileError(
            f"{out} must end as a scan that can be written: {', '.join(ENDINGS)}. Got {ending!r} instead."
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
        done, whole = self.written + count, self.source.count
        if done > whole:
            raise DataError(f"{self.source.path} has {whole:,} points. Got values for {done:,} instead.")
        for name, column in values.items() if self.checked else ():
            self.source.check_values(name, column)
        for first in range(0, count, PIECE):
            block = {name: column[first : first + PIECE] for name, column in values.items()}
            with writing(self.out):
                self._write(block, min(PIECE, count - first), self._to)
        self.written = done

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
    return given if given.dtype == dtype or dtype.kind in "UO" else exact_cast(name, given, dtype, f"{dtype}")


def exact_cast(name: str, given: np.ndarray, dtype: np.dtype, holder: str) -> np.ndarray:
    """``given`` as another type, refused where that changes a whole number or overflows."""
    if np.can_cast(given.dtype, dtype, "safe"):
        return given.astype(dtype)
    try:
        with np.errstate(all="ignore"):
            column = given.astype(dtype)
    except (TypeError, ValueError) as error:
        raise DataError(f"Column {name!r} must be numbers ({reason(error)}).") from None
    overflown = np.isfinite(given.astype(np.float64)) & ~np.isfinite(column)
    lost = overflown if dtype.kind == "f" else column != given
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
