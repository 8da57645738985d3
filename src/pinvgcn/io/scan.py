"""What every scan file offers, whatever its format.

::

    source.path, source.format      "las" "laz" "ply" "pcd" "text" "e57"
    source.count                    points
    source.fields                   {name: dtype} of every column other than x, y, z, in the file's order
    source.metres                   metres per unit of the coordinates, None if the file does not say
    source.system                   the name of the coordinate system, None if the file does not say
    source.chunks(size)             pieces of at most ``size`` points, in file order, in constant memory
    source.read()                   one piece with everything
    source.writer(out, columns)     a copy of the file with columns replaced or added: `ScanWriter`

A format's own class sets the attributes, reads in ``_pieces``, and may have a writer of its own kind.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pinvgcn.checks import check_count
from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import reading

if TYPE_CHECKING:
    from pinvgcn.io.scan_writer import ScanWriter

PIECE = 1_000_000  # points; a piece with a dozen fields then takes about 100 MB


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


Chunks = Generator[ScanChunk, None, None]


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
        return self._checked(size, names)

    def _checked(self, size: int, names: list[str]) -> Chunks:
        pieces, done = self._pieces(size, names), 0
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
        wrong = np.flatnonzero(~np.isfinite(piece.points).all(axis=1))
        shown = ", ".join(f"{value:g}" for value in piece.points[wrong[0]])
        raise ScanFileError(
            f"{self.path}: coordinates must be finite. Got ({shown}) at "
            f"{self._place(piece.start + int(wrong[0]))}"
            f"{f' and {len(wrong) - 1:,} more like it' if len(wrong) > 1 else ''}; remove such points first."
        )

    def read(self, *, fields: Collection[str] | None = None) -> ScanChunk:
        pieces = list(self.chunks(fields=fields))
        with reading(self.path):
            return pieces[0] if len(pieces) == 1 else ScanChunk.joined(pieces)

    def known_field(self, name: str) -> str:
        """The name, if the file has such a field; else an error that lists what there is."""
        if name in self.fields:
            return name
        near = difflib.get_close_matches(str(name), list(self.fields), n=1)
        near = near or [known for known in self.fields if known.lower() == str(name).lower()]
        raise DataError(
            f"{self.path} has no field {name!r}{f'; did you mean {near[0]!r}?' if near else '.'} "
            f"Its fields: {self.listed_fields}."
        )

    @property
    def listed_fields(self) -> str:
        return ", ".join(self.fields) or "none besides x, y, z"

    def writer(
        self, out: str | Path, columns: Mapping[str, npt.DTypeLike], *, format: str | None = None
    ) -> ScanWriter:
        """A writer of this scan with the columns replaced, or added where the file has none of that name.

        The format is ``format``, else the one that the name of ``out`` ends in, else the source's.
        """
        from pinvgcn.io.scan_writer import open_writer

        return open_writer(self, Path(out), columns, format)


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
