"""Lines of text to columns of numbers, by pandas; what cannot be a number is named with its line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import ScanFileError
from pinvgcn.io.scan import ScanChunk
from pinvgcn.io.text.cells import MISSING_NUMBERS, is_number, split
from pinvgcn.io.text.dialect import Dialect
from pinvgcn.io.text.lines import are_data, is_data

EMPTY, TEXT = np.dtype("V1"), np.dtype(object)  # a column without any value yet; a column of words
# digits give the nearest number: an option in older versions of pandas
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
)


class NumberReader:
    """Reads blocks of lines; ``first`` in its methods is the number of a block's first line, from 1."""

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path = path
        self.dialect = dialect

    def chunk(self, start: int, lines: Sequence[str], first: int, types: dict[str, np.dtype]) -> ScanChunk:
        """The points of the data lines with the named columns, each in its type."""
        axes = [self.dialect.names[place] for place in self.dialect.places]
        every = {**dict.fromkeys(axes, np.dtype(np.float64)), **types}
        frame = self._frame(lines, first, every, list(every))
        columns = {name: frame[name].to_numpy(dtype, copy=True) for name, dtype in every.items()}
        points = np.stack([columns[axis] for axis in axes], axis=1)  # (k, 3)
        return ScanChunk(start, points, {name: columns[name] for name in types})

    def types(self, lines: Sequence[str], first: int, types: dict[str, np.dtype]) -> dict[str, np.dtype]:
        """The types widened so that they hold these lines too: nothing → whole numbers → numbers, or words.

        A column's first value says whether it holds numbers. Words below them, or among coordinates, are
        a mistake in the file: the line is named.
        """
        names = self.dialect.names
        fixed: dict[str, np.dtype] = {names[place]: np.dtype(np.float64) for place in self.dialect.places}
        fixed |= {name: TEXT for name, dtype in types.items() if dtype == TEXT}
        frame = self._frame(lines, first, fixed, list(names))
        return {name: self._wider(name, types[name], frame[name], lines, first) for name in types}

    def _wider(
        self, name: str, before: np.dtype, column: pd.Series, lines: Sequence[str], first: int
    ) -> np.dtype:
        present = column.dropna()
        if before == TEXT or present.empty:
            return np.dtype(np.float64) if before.kind == "i" else before
        kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
        if kind == "i":
            return np.dtype(np.int64) if before in (EMPTY, np.int64) else before
        if kind in "uf":
            return np.dtype(np.float64)
        if before == EMPTY and not is_number(str(present.iloc[0])):
            return TEXT
        raise self._wrong_cell(lines, first, [name])

    def _frame(
        self,
        lines: Sequence[str],
        first: int,
        types: dict[str, np.dtype],
        names: list[str],
    ) -> pd.DataFrame:
        """The named columns; those without a type get the narrowest that fits."""
        dialect = self.dialect
        data = list(compress(lines, are_data(lines)))
        text = "".join(data)
        if "\0" in text or self._has_odd(data):
            self._refuse_line(lines, first)
        # whole numbers cannot be missing, and words never are
        gaps = [name for name in names if name not in types or types[name].kind == "f"]
        try:
            with np.errstate(invalid="raise"):  # infinity as a whole number
                frame = pd.read_csv(
                    io.StringIO(text),
                    header=None,
                    names=list(dialect.names),
                    index_col=False,
                    usecols=names,
                    sep=dialect.separator or r"\s+",
                    decimal=dialect.decimal,
                    dtype=types,
                    keep_default_na=False,
                    na_values={name: list(MISSING_NUMBERS) for name in gaps},
                    **_EXACT,
                    skip_blank_lines=False,
                    low_memory=False,
                )
        except (ValueError, ArithmeticError) as error:  # a parser's error is a ValueError too
            numbers = [name for name in types if types[name] != TEXT]
            raise self._wrong_cell(lines, first, numbers, str(error)) from None
        if len(frame) != len(data):  # a quote that opens in one line and closes in another
            number = next((n for n, line in enumerate(lines, first) if line.count('"') % 2), first)
            raise ScanFileError(f"{self.path}, line {number}: a quotation mark opens and does not close.")
        return frame

    def _has_odd(self, data: list[str]) -> bool:
        """Whether a line has more or fewer cells than there are columns; quotes are looked at only then."""
        separator, width = self.dialect.separator, len(self.dialect.names)
        if separator:
            found = [line.count(separator) + 1 for line in data]
        else:
            found = list(map(len, map(str.split, data)))  # counted anew where it may be wrong
        if found.count(width) == len(found):
            return False
        odd = compress(data, [n != width for n in found])
        return any(len(split(line, separator)) != width for line in odd)

    def _refuse_line(self, lines: Sequence[str], first: int) -> None:
        """Raise at the first line that is no text or has another number of cells."""
        separator, width = self.dialect.separator, len(self.dialect.names)
        for number, line in enumerate(lines, start=first):
            if "\0" in line:
                raise ScanFileError(f"{self.path}, line {number}: must be text. Got a zero byte in it.")
            if is_data(line) and (found := len(split(line, separator))) != width:
                raise ScanFileError(
                    f"{self.path}, line {number}: must have {width} columns as the lines before it. "
                    f"Got {found} instead."
                )

    def _wrong_cell(
        self, lines: Sequence[str], first: int, names: Sequence[str], reason: str = ""
    ) -> ScanFileError:
        dialect = self.dialect
        for number, line in enumerate(lines, start=first):
            if not is_data(line):
                continue
            cells = split(line, dialect.separator)
            for name in names:
                cell = cells[dialect.names.index(name)]
                shown = cell.strip()
                decimal = "," if dialect.decimal == "." else "."
                place = dialect.names.index(name)
                missing = shown.strip('"') in MISSING_NUMBERS and place not in dialect.places
                if missing or (is_number(cell) and decimal not in shown):
                    continue
                return ScanFileError(
                    f"{self.path}, line {number}: column {name!r} must hold a number. "
                    f"Got {shown[:60]!r} instead."
                )
        return ScanFileError(
            f"{self.path}, lines {first} to {first + len(lines) - 1}: cannot be read as columns of numbers "
            f"({' '.join(reason.split())[:200]})."
        )
