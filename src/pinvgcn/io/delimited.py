"""CSV and TSV: cells between separators, in quotation marks where they need them.

Records are found by Python's csv module, which tells how many lines each took: a copy is made of these
lines as they stand, with the new cells in front of the line's end. Nothing is formatted anew.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pinvgcn.checks import check_count
from pinvgcn.errors import DataError, TableFileError
from pinvgcn.io.tables import ROWS, TableSource, check_names
from pinvgcn.io.text import GZIP, MISSING, SEPARATORS, TextFile, extended, foreign, open_output, quoted
from pinvgcn.wording import counted

SAMPLE = 1 << 16  # characters from which the separator is found
LONGEST_LINE = 64 << 20  # bytes; a longer one is no line of a table
BLOCK = 5_000  # rows that are Python objects at a time
DIGITS = 6  # of written probabilities
TEXT = {pa.large_string(): pd.StringDtype("pyarrow")}


class DelimitedTable(TableSource):
    """A text file with one record a line, the names of the columns in the first."""

    packs = True

    def __init__(self, path: Path) -> None:
        self.path = path
        _refuse_others(path)
        self.file = TextFile.find(path, longest=LONGEST_LINE, error=TableFileError)
        self.encoding = self.file.encoding
        self.notes = () if self.file.note is None else (self.file.note,)
        self.separator = self._find_separator()
        tabs = self.separator == "\t"
        self.format, self.endings = ("tsv", (".tsv", ".tab", ".txt")) if tabs else ("csv", (".csv", ".txt"))
        head = next((record for record in self._records() if record[0]), None)
        if head is None:
            raise TableFileError(f"{path} has blank lines only. A table needs the names of its columns.")
        cells, self.head, _ = head
        # a nameless column, such as a row number that was saved with the table, gets a name
        named = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, start=1)]
        self.columns = check_names(path, named)
        stripped = self.head.strip()
        self.quotes = len(stripped) > 1 and stripped[0] == stripped[-1] == '"'  # all cells, not only some

    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        check_count("rows", rows)
        records = self.records(watch=True)
        size = max(self.path.stat().st_size, 1)
        start = 0
        while blocks := list(self._blocks(records, rows)):
            columns = {
                name: pa.chunked_array([b[j] for b in blocks]).to_pandas(types_mapper=TEXT.get)
                for j, name in enumerate(self.columns)
            }
            frame = pd.DataFrame(columns)
            frame.index = pd.RangeIndex(start, start + len(frame))
            start += len(frame)
            self.share = 1.0 if self._watched.closed else self._watched.tell() / size
            yield frame
        if start == 0:
            raise TableFileError(f"{self.path} has a line of column names, but no row.")

    @contextmanager
    def _opened(
        self, temporary: Path, out: Path, columns: tuple[str, ...], decimal: str
    ) -> Iterator[DelimitedWriter]:
        with open_output(temporary, out) as file:
            yield DelimitedWriter(self, file, columns, decimal)

    def records(self, *, watch: bool = False) -> Iterator[tuple[list[str], str]]:
        """Cells and text of the records behind the head; no cells for a blank line.

        With ``watch`` it is this reader whose place in the file is kept.
        """
        width, behind = len(self.columns), False
        for cells, text, line in self._records(watch):
            if cells and not behind:
                behind = True
                continue
            if cells and len(cells) != width:
                raise TableFileError(
                    f"{self.path}, line {line} has {counted(len(cells), 'cell')}, where the first line names "
                    f"{width} columns (separator {self.separator!r}). Correct the line."
                )
            yield cells, text

    def _records(self, watch: bool = False) -> Iterator[tuple[list[str], str, int]]:
        """Cells, text with its line end, and last line of each record."""
        with self.file.open() as (text, stored):
            if watch:
                self._watched = stored
            taken: list[str] = []

            def lines() -> Iterator[str]:
                for line in text:
                    taken.append(line)
                    yield line

            reader = csv.reader(lines(), delimiter=self.separator or ",", strict=True)
            try:
                for cells in reader:
                    yield cells, "".join(taken), reader.line_num
                    taken.clear()
            except csv.Error as error:
                first = reader.line_num - len(taken) + 1
                raise TableFileError(
                    f"{self.path}, line {max(first, 1)}: {_why(error)}. Correct the line."
                ) from None

    def _blocks(self, records: Iterator[tuple[list[str], str]], rows: int) -> Iterator[list[Any]]:
        """Arrow arrays, one a column, of at most ``rows`` rows together."""
        filled = (cells for cells, _ in records if cells)
        while rows > 0 and (block := list(itertools.islice(filled, min(BLOCK, rows)))):
            rows -= len(block)
            yield [_text_array(cells) for cells in zip(*block, strict=True)]

    def _find_separator(self) -> str:
        """The one by which the most lines have as many cells as the first, and the most of them."""
        with self.file.open() as (text, _):
            sample = text.read(SAMPLE)
        whole = len(sample) < SAMPLE
        best, best_score = ",", (0.0, 1)
        for separator in sorted(SEPARATORS, key=lambda separator: separator != ","):  # the usual one first
            counts: list[int] = []
            try:
                for cells in csv.reader(io.StringIO(sample, newline=""), delimiter=separator):
                    counts += [len(cells)] if cells else []
            except csv.Error:  # raised when the rows are read
                pass
            counts = counts if whole or len(counts) < 3 else counts[:-1]
            if counts and counts[0] > 1:
                score = (sum(count == counts[0] for count in counts) / len(counts), counts[0])
                if score > best_score:
                    best, best_score = separator, score
        return best


class DelimitedWriter:
    """Reads the source a second time, in step with the rows that are written."""

    def __init__(self, source: DelimitedTable, file: IO[bytes], columns: tuple[str, ...], decimal: str):
        self.source, self.columns, self.decimal = source, columns, decimal
        self._file = file
        self._records = source.records()
        self._file.write(source.file.mark)
        self._put([self._extended(source.head, columns)])

    def write(self, new: pd.DataFrame) -> None:
        lines: list[str] = []
        for cells in zip(*(self._texts(new[name]) for name in self.columns), strict=True):
            for filled, text in self._records:
                if filled:
                    lines.append(self._extended(text, cells))
                    break
                lines.append(text)  # a blank line stays
            else:
                raise DataError("more rows were written than the source has")
        self._put(lines)

    def finish(self) -> None:
        """What follows the last row, which can only be blank lines."""
        for filled, text in self._records:
            if filled:
                raise DataError("fewer rows were written than the source has")
            self._put([text])

    def _extended(self, text: str, cells: Sequence[str]) -> str:
        separator = self.source.separator or ","
        return extended(
            text, separator, [quoted(cell, separator, always=self.source.quotes) for cell in cells]
        )

    def _texts(self, column: pd.Series) -> list[str]:
        if pd.api.types.is_float_dtype(column.dtype):
            texts = [f"{value:.{DIGITS}f}" if value == value else "" for value in column.astype(float)]
            return [text.replace(".", self.decimal) for text in texts] if self.decimal != "." else texts
        return ["" if missing else str(cell) for cell, missing in zip(column, column.isna(), strict=True)]

    def _put(self, lines: Sequence[str]) -> None:
        try:
            self._file.write("".join(lines).encode(self.source.file.encoding))
        except UnicodeEncodeError as error:
            raise TableFileError(
                f"{self.source.path} is {error.encoding} text, which has no sign for "
                f"{error.object[error.start]!r} in the new cells. Save it as UTF-8 first."
            ) from None


def _text_array(cells: Sequence[str]) -> Any:
    array = pa.array(cells, pa.large_string())
    missing = pc.is_in(pc.utf8_trim_whitespace(array), pa.array(MISSING, pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), array)


def _refuse_others(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(16)
    compressed = head.startswith(GZIP)
    if compressed:
        head = TextFile(path, TableFileError, compressed=True).head(16)
    if not head:
        raise TableFileError(f"{path} is empty. A table needs a line with the names of its columns.")
    if compressed and head.startswith((b"PAR1", GZIP)):
        inner = "Parquet" if head.startswith(b"PAR1") else "gzip"
        raise TableFileError(f"{path} is a {inner} file that was compressed once more; unpack it first.")
    if (what := foreign(head)) is not None:
        raise TableFileError(
            f"{path} must be a CSV, TSV or Parquet table. Got {what}; save the table as CSV first. "
            "Scans are for pinvgcn segment."
        )


def _why(error: csv.Error) -> str:
    """The reason of the csv module, in plain words."""
    text = str(error)
    if "unexpected end" in text or "field larger" in text:
        return "a quotation mark opens a cell that never ends"
    if "expected after" in text:
        return "a quotation mark ends a cell, and the cell goes on behind it"
    return text
