"""The columns of a text scan: how they are separated and called, and their numbers.

The first lines decide. Separators are tried in this order: semicolon, tab, comma, bar, white space; the
first that makes three columns of numbers wins. Commas come before white space because of ``1, 2, 3``;
``1,5 2,5 3,5`` fails as comma separated, since ``5 2`` is no number. Numbers are read by pandas; what cannot
be a number is named with its line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import ScanFileError
from pinvgcn.io.scan import ScanChunk
from pinvgcn.io.text import COMMENTS, MISSING_NUMBERS, SEPARATORS, are_data, is_number, split

WAYS = (*SEPARATORS, "")  # the last one: white space
MOST = 5000  # columns
NAMES = (("x", "easting"), ("y", "northing"), ("z", "elevation", "height", "altitude"))


@dataclass(frozen=True)
class Dialect:
    """How to read a line; columns are counted from 0."""

    separator: str
    decimal: str
    names: tuple[str, ...]
    places: tuple[int, int, int]  # of x, y, z
    preamble: int = 0  # lines before the first point, comments and all
    header: int | None = None  # the line that names the columns
    promised: int | None = None  # points, where the first line counts them (PTS files)


def detect(path: Path, lines: Sequence[str]) -> Dialect:
    """The dialect of a file that starts with these lines."""
    data = list(compress(range(len(lines)), are_data(lines)))
    if not data:
        raise ScanFileError(f"{path} holds no points: its lines are blank or comments.")
    promised = None
    if len(data) > 1 and re.fullmatch(r"\s*[0-9]{1,18}\s*", lines[data[0]]):
        promised = int(lines[data[0]])
        data = data[1:]
    refusals: list[ScanFileError] = []
    for separator in WAYS:
        first = split(lines[data[0]], separator)
        if len(first) >= 3 and all(map(is_number, first[:3])):
            header = _comment_header(lines[: data[0]], separator, len(first))
            unnamed = ("x", "y", "z", *(f"column_{number}" for number in range(4, len(first) + 1)))
            line, names, places = header or (None, unnamed, (0, 1, 2))
            start = data[0]
        elif len(first) >= 3:
            try:
                names, places = _header(path, lines, data, separator)
            except ScanFileError as refusal:
                refusals.append(refusal)
                continue
            line, start = data[0], data[1]
        else:
            continue
        if len(names) > MOST:
            raise ScanFileError(f"{path} must have {MOST:,} columns at most. Got {len(names):,} instead.")
        rows = [split(lines[number], separator) for number in data if number >= start]
        # a comma that is left in a cell is a decimal one, also in quotes between commas
        commas = any("," in row[place] for row in rows if len(row) == len(names) for place in places)
        return Dialect(separator, "," if commas else ".", tuple(names), places, start, line, promised)
    raise refusals[0] if refusals else _unknown(path, lines, data[0])


def _header(
    path: Path, lines: Sequence[str], data: list[int], separator: str
) -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Names and places of the coordinates, where the first line is a header and others follow."""
    first = split(lines[data[0]], separator)
    names = _unique([_clean(cell) for cell in first])
    places = _coordinates(names)
    second = split(lines[data[1]], separator) if len(data) > 1 else []
    if places is None:
        if any(map(is_number, first[:3])) or not any(map(is_number, second)):
            raise _unknown(path, lines, data[0])
        raise ScanFileError(
            f"{path}, line {data[0] + 1}: the columns of the coordinates must be called x, y and z. "
            f"Got {', '.join(names)} instead."
        )
    if not second:
        raise ScanFileError(f"{path} holds no points: nothing follows its header.")
    return names, places


def _unknown(path: Path, lines: Sequence[str], number: int) -> ScanFileError:
    shown = "".join(sign if sign.isprintable() else "?" for sign in lines[number].strip()[:60])
    return ScanFileError(
        f"{path} is of no known format: LAS, LAZ, E57, PLY and PCD start with marks of their own, and lines "
        "of text must hold numbers in their first three columns or below a header with x, y and z. "
        f"Got {shown!r} in line {number + 1} instead."
    )


def _comment_header(
    before: Sequence[str], separator: str, columns: int
) -> tuple[int, tuple[str, ...], tuple[int, int, int]] | None:
    """The last comment that names as many columns as there are, x, y and z among them."""
    for number in reversed(range(len(before))):
        text = before[number].strip()
        for mark in COMMENTS:
            text = text.removeprefix(mark)
        for way in (separator, *WAYS):
            names = _unique([_clean(cell) for cell in split(text, way)])
            places = _coordinates(names)
            if len(names) == columns and places is not None:
                return number, names, places
    return None


def _clean(cell: str) -> str:
    text = cell.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"').strip()
    return text


def _coordinates(names: Sequence[str]) -> tuple[int, int, int] | None:
    """Where x, y and z stand; also by their names on maps."""
    lowered = [name.lower() for name in names]
    places = [next((lowered.index(name) for name in choices if name in lowered), None) for choices in NAMES]
    x, y, z = places
    return None if x is None or y is None or z is None else (x, y, z)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Columns without a name get one, and those that share one a number."""
    unique: dict[str, None] = {}
    copies: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        plain = name or f"column_{number}"
        candidate = plain
        while candidate in unique:
            copies[plain] = copies.get(plain, 1) + 1
            candidate = f"{plain}_{copies[plain]}"
        unique[candidate] = None
    return tuple(unique)


EMPTY, TEXT = np.dtype("V1"), np.dtype(object)  # a column without any value yet; a column of words
# digits give the nearest number: an option in older versions of pandas
EXACT: dict[str, Any] = (
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
                    **EXACT,
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
            if are_data([line])[0] and (found := len(split(line, separator))) != width:
                raise ScanFileError(
                    f"{self.path}, line {number}: must have {width} columns as the lines before it. "
                    f"Got {found} instead."
                )

    def _wrong_cell(
        self, lines: Sequence[str], first: int, names: Sequence[str], reason: str = ""
    ) -> ScanFileError:
        dialect = self.dialect
        other = "," if dialect.decimal == "." else "."
        places = {name: dialect.names.index(name) for name in names}
        for number, line in enumerate(lines, start=first):
            cells = split(line, dialect.separator) if are_data([line])[0] else []
            for name, place in places.items() if cells else ():
                shown = cells[place].strip()
                missing = shown.strip('"') in MISSING_NUMBERS and place not in dialect.places
                if not missing and (other in shown or not is_number(shown)):
                    return ScanFileError(
                        f"{self.path}, line {number}: column {name!r} must hold a number. "
                        f"Got {shown[:60]!r} instead."
                    )
        return ScanFileError(
            f"{self.path}, lines {first} to {first + len(lines) - 1}: cannot be read as columns of numbers "
            f"({' '.join(reason.split())[:200]})."
        )
