"""The cells of a line: separators, quotation marks, missing values, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import compress

import numpy as np

SEPARATORS = (";", "\t", ",", "|")
# cells that mean "not known", whatever stands around them: what pandas, R, Excel, SQL and UCI write for it
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "<NA>", "#N/A", "NULL", "null", "?")
MISSING_NUMBERS = (*MISSING, "NAN", "-nan", "None")
WORD = re.compile(r'"(?:[^"]|"")*"|\S+', re.ASCII)
_NUMBER = re.compile(
    r"""\s*"?\s*[+-]?(?:(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf(?:inity)?)\s*"?\s*""",
    re.IGNORECASE,
)


def is_number(cell: str) -> bool:
    """With a point or a comma before the decimals."""
    return _NUMBER.fullmatch(cell) is not None


def split(line: str, separator: str) -> list[str]:
    """The cells of a line, quotation marks and all, which protect separators; "" is white space."""
    line = line.strip("\r\n")
    if not separator:
        return WORD.findall(line)
    if '"' not in line:
        return line.split(separator)
    cells, open_quote, start = [], False, 0
    for at, sign in enumerate(line):
        if sign == '"':
            open_quote = not open_quote
        elif sign == separator and not open_quote:
            cells.append(line[start:at])
            start = at + 1
    return [*cells, line[start:]]


def extended(line: str, separator: str, cells: Sequence[str]) -> str:
    """The line with more cells at its end."""
    body = line.rstrip("\r\n")
    between = separator or ("\t" if "\t" in body else " ")
    return between.join([body, *cells]) + line[len(body) :]


def exchanged(line: str, separator: str, cells: dict[int, str]) -> str:
    """The line with other cells at some places; the space around them stays."""
    body = line.rstrip("\r\n")
    end = line[len(body) :]
    if separator:
        parts = split(body, separator)
        for place, cell in cells.items():
            parts[place] = cell
        return separator.join(parts) + end
    spans = [match.span() for match in WORD.finditer(body)]
    for place, cell in sorted(cells.items(), reverse=True):
        start, stop = spans[place]
        body = body[:start] + cell + body[stop:]
    return body + end


def put_cells(
    lines: list[str],
    data: Sequence[bool],
    separator: str,
    replaced: Sequence[tuple[int, Sequence[str]]],
    appended: Sequence[Sequence[str]],
) -> None:
    """Put new cells into the ``data`` lines: columns in the place of others, and columns at their end."""
    ends = list(zip(*appended, strict=True))
    for point, number in enumerate(compress(range(len(lines)), data)):
        if replaced:
            cells = {place: texts[point] for place, texts in replaced}
            lines[number] = exchanged(lines[number], separator, cells)
        if appended:
            lines[number] = extended(lines[number], separator, ends[point])


def quoted(text: str, separator: str, *, always: bool = False) -> str:
    """In quotation marks where it would otherwise be taken for several cells, or for none."""
    special = text.split() != [text] if not separator else separator in text or text != text.strip()
    if special or (always and text) or any(sign in text for sign in '"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def digits(column: np.ndarray) -> list[str]:
    """Each number in the fewest digits that give it back."""
    texts: list[str] = column.astype(str).tolist()
    return texts
