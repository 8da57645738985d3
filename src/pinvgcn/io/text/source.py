"""Reading XYZ, CSV and TSV scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ScanFileError
from pinvgcn.io.failures import reading
from pinvgcn.io.scan import PIECE, ScanChunk, ScanSource
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.text.cells import EMPTY, Cells
from pinvgcn.io.text.dialect import Dialect, detect
from pinvgcn.io.text.lines import LineReader, open_text

_SAMPLE = 1000  # lines that decide the dialect


class TextSource(ScanSource):
    """A text scan. Opening it reads it once, to count its points and to find its columns' types."""

    format = "text"

    def __init__(self, path: Path, *, packed: bool) -> None:
        super().__init__(path)
        self.packed = packed
        with reading(path), open_text(path, packed) as file:
            self.dialect: Dialect = detect(path, LineReader(file, path).skip(_SAMPLE))
        self.cells = Cells(path, self.dialect)
        self._count, self._fields = self._survey()

    @property
    def count(self) -> int:
        return self._count

    @property
    def fields(self) -> dict[str, np.dtype]:
        return dict(self._fields)

    def _survey(self) -> tuple[int, dict[str, np.dtype]]:
        """The number of points, and the types of the columns beside the coordinates."""
        places = self.dialect.places
        types = {name: EMPTY for at, name in enumerate(self.dialect.names) if at not in places}
        count = 0
        with reading(self.path), open_text(self.path, self.packed) as file:
            lines = LineReader(file, self.path)
            lines.skip(self.dialect.preamble)
            while True:
                first = lines.number + 1
                taken, found = lines.take(PIECE // 4)
                if not taken:
                    break
                count += found
                if found:
                    types = self.cells.types(taken, first, types)
        if count == 0:
            raise ScanFileError(f"{self.path} holds no points.")
        if self.dialect.promised not in (None, count):
            raise ScanFileError(
                f"{self.path} is truncated or damaged: its first line promises {self.dialect.promised:,} "
                f"points. Got {count:,} instead."
            )
        return count, {name: np.dtype(float) if dtype == EMPTY else dtype for name, dtype in types.items()}

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        axes = [self.dialect.names[place] for place in self.dialect.places]
        types = {**dict.fromkeys(axes, np.dtype(np.float64)), **{name: self.fields[name] for name in names}}
        start = 0
        with open_text(self.path, self.packed) as file:
            lines = LineReader(file, self.path)
            lines.skip(self.dialect.preamble)
            while True:
                first = lines.number + 1
                taken, found = lines.take(size)
                if not found:
                    return
                columns = self.cells.columns(taken, first, types)
                points = np.stack([columns[axis] for axis in axes], axis=1)  # (k, 3)
                yield ScanChunk(start, points, {name: columns[name] for name in names})
                start += found

    def _place(self, point: int) -> str:
        with reading(self.path), open_text(self.path, self.packed) as file:
            lines = LineReader(file, self.path)
            lines.skip(self.dialect.preamble)
            while True:
                _, found = lines.take(min(point + 1, PIECE))  # the last of these lines is a point
                if found > point or not found:
                    return f"line {lines.number}"
                point -= found

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        """Text holds whatever there is."""

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        if format != "text":
            return None
        from pinvgcn.io.text.writer import TextWriter

        return TextWriter(self, out, columns)
