"""What separates the columns of a text scan, whether its decimals are commas, what its columns are called.

The first lines decide. Separators are tried in this order: semicolon, tab, comma, bar, white space; the
first that makes three columns of numbers wins. Commas come before white space because of ``1, 2, 3``;
``1,5 2,5 3,5`` fails as comma separated, since ``5 2`` is no number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinvgcn.errors import ScanFileError
from pinvgcn.io.text.cells import SEPARATORS, is_number, split
from pinvgcn.io.text.lines import COMMENTS, is_data

_WAYS = (*SEPARATORS, "")  # the last one: white space
_MOST = 5000  # columns
_NAMES = (("x", "easting"), ("y", "northing"), ("z", "elevation", "height", "altitude"))


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
    data = [number for number, line in enumerate(lines) if is_data(line)]
    if not data:
        raise ScanFileError(f"{path} holds no points: its lines are blank or comments.")
    promised = None
    if len(data) > 1 and re.fullmatch(r"\s*[0-9]{1,18}\s*", lines[data[0]]):
        promised = int(lines[data[0]])
        data = data[1:]
    refusals: list[ScanFileError] = []
    for separator in _WAYS:
        first = split(lines[data[0]], separator)
        if _are_numbers(first, (0, 1, 2)):
            header = _comment_header(lines[: data[0]], separator, len(first))
            names, places = header[1:] if header else (_unnamed(len(first)), (0, 1, 2))
            line, start = header[0] if header else None, data[0]
        elif len(first) >= 3:
            try:
                names, places = _header(path, lines, data, separator)
            except ScanFileError as refusal:
                refusals.append(refusal)
                continue
            line, start = data[0], data[1]
        else:
            continue
        if len(names) > _MOST:
            raise ScanFileError(f"{path} must have {_MOST:,} columns at most. Got {len(names):,} instead.")
        rows = [split(lines[number], separator) for number in data if number >= start]
        return Dialect(
            separator=separator,
            decimal=_decimal(rows, len(names), places),
            names=tuple(names),
            places=places,
            preamble=start,
            header=line,
            promised=promised,
        )
    raise refusals[0] if refusals else _unknown(path, lines, data[0])


def _header(
    path: Path, lines: Sequence[str], data: list[int], separator: str
) -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Names and places of the coordinates, where the first line is a header and the second has numbers."""
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
    if len(second) != len(names):
        raise ScanFileError(
            f"{path}, line {data[1] + 1}: must have {len(names)} columns as its header. "
            f"Got {len(second)} instead."
        )
    for place in places:
        if not is_number(second[place]):
            raise ScanFileError(
                f"{path}, line {data[1] + 1}: column {names[place]!r} must hold a number. "
                f"Got {_clean(second[place])[:60]!r} instead."
            )
    return names, places


def _unknown(path: Path, lines: Sequence[str], number: int) -> ScanFileError:
    shown = lines[number].strip()[:60]
    shown = "".join(letter if letter.isprintable() else "?" for letter in shown)
    return ScanFileError(
        f"{path} is of no known format: LAS, LAZ, PLY and PCD start with marks of their own, and lines of "
        "text must hold numbers in their first three columns or below a header with x, y and z. "
        f"Got {shown!r} in line {number + 1} instead."
    )


def _are_numbers(cells: list[str], places: tuple[int, ...]) -> bool:
    return len(cells) > max(places, default=len(cells)) and all(is_number(cells[place]) for place in places)


def _decimal(rows: list[list[str]], columns: int, places: tuple[int, ...]) -> str:
    """A comma that is left in a cell is a decimal one, also in quotes between commas."""
    cells = [row[place] for row in rows if len(row) == columns for place in places]
    return "," if any("," in cell for cell in cells) else "."


def _comment_header(
    before: Sequence[str], separator: str, columns: int
) -> tuple[int, tuple[str, ...], tuple[int, int, int]] | None:
    """The last comment that names as many columns as there are, x, y and z among them."""
    for number in reversed(range(len(before))):
        text = before[number].strip()
        for mark in COMMENTS:
            text = text.removeprefix(mark)
        for way in (separator, *_WAYS):
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
    places = [next((lowered.index(name) for name in choices if name in lowered), None) for choices in _NAMES]
    x, y, z = places
    return None if x is None or y is None or z is None else (x, y, z)


def _unnamed(count: int) -> tuple[str, ...]:
    return ("x", "y", "z", *(f"column_{number}" for number in range(4, count + 1)))


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
