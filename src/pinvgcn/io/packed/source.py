"""Reading rows of scalars, packed or as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ScanFileError
from pinvgcn.io.packed.columns import LONGEST_ROW, Scalar, row_type
from pinvgcn.io.scan import ScanChunk, ScanSource, as_field
from pinvgcn.io.text.cells import Cells
from pinvgcn.io.text.dialect import Dialect
from pinvgcn.io.text.lines import LineReader


class PackedSource(ScanSource):
    """A format's own class reads the header, and then calls `_describe`."""

    columns: list[Scalar]
    ascii: bool
    offset: int  # where the rows start: a byte, in text a line
    header_bytes: int

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._count = 0

    def _describe(self, columns: list[Scalar], count: int, offset: int, *, ascii: bool) -> None:
        self.columns, self._count, self.offset, self.ascii = columns, count, offset, ascii
        if sum(column.dtype.itemsize for column in columns) > LONGEST_ROW:
            raise ScanFileError(f"{self.path} is damaged: a point must take {LONGEST_ROW:,} bytes at most.")
        lowered = [column.name.lower() for column in columns]
        if not {"x", "y", "z"} <= set(lowered):
            shown = ", ".join(column.name for column in columns[:20]) or "none"
            raise ScanFileError(f"{self.path} must have the columns x, y and z. Got {shown} instead.")
        counts = Counter(column.name for column in columns if not column.padding)
        ((often, times),) = counts.most_common(1)
        if times > 1:
            raise ScanFileError(f"{self.path} is damaged: it has the column {often!r} more than once.")
        if count == 0:
            raise ScanFileError(f"{self.path} holds no points.")
        self.row = row_type(columns)
        self.axes = (lowered.index("x"), lowered.index("y"), lowered.index("z"))
        self._numbers = {
            column.name: number
            for number, column in enumerate(columns)
            if number not in self.axes and not column.padding
        }
        if ascii:
            self.cells = Cells(self.path, self._dialect())

    def _dialect(self) -> Dialect:
        self._words = tuple(f"({n}: {c.name})" if c.padding else c.name for n, c in enumerate(self.columns))
        return Dialect(b"", ".", "latin-1", self._words, self.axes, 0, None, None)

    @property
    def count(self) -> int:
        return self._count

    @property
    def fields(self) -> dict[str, np.dtype]:
        return {name: self.columns[number].dtype.newbyteorder("=") for name, number in self._numbers.items()}

    def number_of(self, name: str) -> int | None:
        """Which column of a row a field is, None if there is none of that name."""
        return self._numbers.get(name)

    def check_size(self, smallest: int) -> None:
        """Refuse a header that promises more rows than ``smallest`` bytes each leave room for."""
        size = self.path.stat().st_size
        start = 0 if self.ascii else self.offset
        if start + self.count * smallest > size:
            there = max(size - start, 0) // max(smallest, 1)
            raise ScanFileError(
                f"{self.path} is truncated: its header promises {self.count:,} points. "
                f"Got {'at most ' if self.ascii else ''}{there:,} instead."
            )

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        with self.path.open("rb") as file:
            if self.ascii:
                yield from self._text_pieces(file, size, names)
            else:
                file.seek(self.offset)
                for start in range(0, self.count, size):
                    yield self._piece(start, self.read_rows(file, min(size, self.count - start)), names)

    def read_rows(self, file: IO[bytes], count: int) -> np.ndarray:
        """The next rows of an open file, as bytes (k, length)."""
        rows = np.fromfile(file, np.uint8, count * self.row.itemsize)
        if len(rows) < count * self.row.itemsize:
            raise ScanFileError(f"{self.path} is truncated: it ends within its points.")
        return rows.reshape(count, self.row.itemsize)

    def _piece(self, start: int, rows: np.ndarray, names: Sequence[str]) -> ScanChunk:
        array = rows.reshape(-1).view(self.row)
        with np.errstate(invalid="ignore"):  # a NaN that signals; it is refused as any other
            points = np.stack([array[f"c{axis}"].astype(np.float64) for axis in self.axes], axis=1)
        fields = self.fields
        return ScanChunk(
            start,
            points,
            {name: as_field(array[f"c{self._numbers[name]}"]).astype(fields[name]) for name in names},
        )

    def start_lines(self, file: IO[bytes]) -> tuple[LineReader, list[bytes]]:
        """The lines of a text from the first point on, and those before it."""
        lines = LineReader(file, self.path)
        return lines, lines.skip(self.offset)

    def scalars(self, lines: list[bytes], first: int) -> list[bytes]:
        """The lines without what is no scalar in them."""
        return lines

    def _text_pieces(self, file: IO[bytes], size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        lines, _ = self.start_lines(file)
        axes = [self._words[axis] for axis in self.axes]
        types: dict[str, np.dtype] = dict.fromkeys(axes, np.dtype(np.float64))
        types |= {name: dtype for name, dtype in self.fields.items() if name in names}
        for start in range(0, self.count, size):
            first = lines.number + 1
            taken, found = lines.take(min(size, self.count - start))
            if found == 0:
                return
            columns = self.cells.columns(self.scalars(taken, first), first, types)
            points = np.stack([columns[axis] for axis in axes], axis=1)  # (k, 3)
            yield ScanChunk(start, points, {name: columns[name] for name in names})

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        """A column takes the type of what replaces it."""
