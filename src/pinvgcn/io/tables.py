"""A table in a file or in several: what it is, its rows in chunks, and a copy of it with more columns.

The format is that of the content, whatever the name says. Nothing is held in memory but a chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar, Protocol

import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ColumnError, ParameterError, TableFileError
from pinvgcn.io.atomic import atomic_file, check_output
from pinvgcn.wording import nearest

ROWS = 100_000  # of a chunk
ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".csv.gz", ".tsv.gz", ".txt.gz")  # of files in a folder


class TableWriter(Protocol):
    """Adds columns to the rows of a source, in their order."""

    def write(self, new: pd.DataFrame) -> None:
        """The new cells of the next ``len(new)`` rows; missing ones stay empty."""

    def finish(self) -> None:
        """All rows have been written; too few are an error."""


class TableSource(ABC):
    """A table that can be read again and again."""

    format: str
    endings: tuple[str, ...]  # of names that promise this format
    packs: ClassVar[bool] = False  # whether a copy whose name ends in .gz is gzipped
    path: Path
    columns: tuple[str, ...]
    count: int | None = None  # rows, where the file tells
    encoding: str | None = None
    separator: str | None = None
    notes: tuple[str, ...] = ()  # what the reader of the results should know
    share: float | None = None  # of the file that ``chunks`` has read so far
    group: Group = ALONE  # of the processes that share its files

    @abstractmethod
    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        """The rows, in frames of at most ``rows``, numbered from 0 through the whole table.

        Text is of pandas' string type with NA for ``MISSING``; Parquet columns keep their types. A table
        without rows is an error.
        """

    @abstractmethod
    def _opened(
        self, temporary: Path, out: Path, columns: tuple[str, ...], decimal: str
    ) -> AbstractContextManager[TableWriter]:
        """A writer of the format to a ``temporary`` name of ``out``."""

    @contextmanager
    def writer(
        self, out: str | Path, columns: Sequence[str], *, force: bool = False, decimal: str = "."
    ) -> Iterator[TableWriter]:
        """Copies the table to ``out`` and adds ``columns`` behind its own, which stay as they are.

        The file appears when all rows have been written; after an error nothing is left of it. ``decimal`` is
        the decimal sign of new numbers in text.
        """
        out = self.check_copy(out, force=force)
        self.check_new(columns)
        with (
            atomic_file(out, error=TableFileError) as temporary,
            self._opened(temporary, out, tuple(columns), decimal) as writer,
        ):
            yield writer
            writer.finish()

    def frame(self) -> pd.DataFrame:
        return pd.concat(list(self.chunks()))

    def column(self, name: str) -> str:
        """The name, if there is such a column; else an error that suggests the nearest."""
        if name in self.columns:
            return name
        near, count = nearest(name, self.columns), len(self.columns)
        shown = ", ".join(self.columns[:20]) + (f" and {count - 20} more" if count > 20 else "")
        meant = f"Did you mean {near!r}? " if near else ""
        raise ColumnError(f"{self.path} has no column {name!r}. {meant}It has: {shown}.")

    def check_copy(self, out: str | Path, *, force: bool = False) -> Path:
        """The path, if a copy of this table can be written there, by its name and the folder."""
        out = check_output(out, force=force)
        name = out.name.lower().removesuffix(".gz") if self.packs else out.name.lower()
        ending = Path(name).suffix
        own = Path(self.path.name.lower().removesuffix(".gz")).suffix
        if ending not in ("", own, *self.endings):
            listed = ", ".join(dict.fromkeys((*self.endings, *filter(None, [own]))))
            raise ParameterError(
                f"The output is written in the format of {self.path}, {self.format}, and must end in {listed}"
                f"{', each also with .gz' if self.packs else ''}. Got the name {out.name!r} instead."
            )
        return out

    def check_new(self, columns: Sequence[str]) -> None:
        """No new column has the name of one that is there."""
        for name in columns:
            if name in self.columns:
                raise ColumnError(
                    f"{self.path} already has a column {name!r}, which would be written. "
                    "Rename or remove it first."
                )


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The names of a table's columns, if there are some and no two are alike."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TableFileError(f"{path} has two columns {twice!r}; rename one of them.")
    if not names:
        raise TableFileError(f"{path} has no column.")
    return tuple(names)


def open_table(path: str | Path) -> TableSource:
    """A CSV, TSV (gzipped or not) or Parquet file, told apart by content."""
    from pinvgcn.io.delimited import DelimitedTable
    from pinvgcn.io.parquet import MAGIC, ParquetTable

    path = Path(path)
    if path.is_dir():
        raise TableFileError(f"The table must be a file. Got the folder {str(path)!r} instead.")
    if not path.exists():
        beside = [file.name for file in path.parent.glob("*") if file.is_file()]
        near = nearest(path.name, beside)
        meant = "" if near is None else f" Did you mean {path.with_name(near)}?"
        raise TableFileError(f"There is no file {path}.{meant}")
    try:
        with path.open("rb") as file:
            parquet = file.read(len(MAGIC)) == MAGIC
        return ParquetTable(path) if parquet else DelimitedTable(path)
    except TableFileError:
        raise
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error.strerror or error}.") from None


class TableParts(TableSource):
    """Files with the same columns; ``parts`` are those of this process, which follow each other."""

    def __init__(
        self, name: str, files: Sequence[Path], mine: Sequence[int], *, group: Group = ALONE
    ) -> None:
        self.path = Path(name)
        self.files = tuple(files)
        self.group = group
        self.parts = tuple(open_table(files[place]) for place in mine)
        own = [
            [str(part.path), list(part.columns), part.format, part.encoding, part.separator, list(part.notes)]
            for part in self.parts
        ]
        told = [one for rank in group.values(own) for one in rank]
        first, names = told[0], told[0][1]
        for one in told:
            for name in sorted(set(one[1]) ^ set(names))[:1]:
                there, lacking = (one, first) if name in one[1] else (first, one)
                raise ColumnError(
                    f"Parts of one table must have the same columns. {lacking[0]} has no column "
                    f"{name!r}, which {there[0]} has."
                )
        self.columns, (self.format, self.encoding, self.separator) = tuple(names), first[2:5]
        prefix = len(files) > 1
        self.notes = tuple(
            f"{Path(one[0]).name}: {note}" if prefix else note for one in told for note in one[5]
        )

    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        """Those of this process's parts, one after the other; each part is numbered from 0."""
        for number, part in enumerate(self.parts):
            for chunk in part.chunks(rows):
                self.share = (number + (part.share or 0.0)) / len(self.parts)
                yield chunk

    def _opened(
        self, temporary: Path, out: Path, columns: tuple[str, ...], decimal: str
    ) -> AbstractContextManager[TableWriter]:
        raise ParameterError(f"A table in parts is written part by part. Got {str(out)!r} for all.")

    def check_copy(self, out: str | Path, *, force: bool = False) -> Path:
        """See ``TableSource``; of a table in one file."""
        for part in self.parts:
            part.check_copy(out, force=force)
        return Path(out)


def parts_of(source: TableSource) -> tuple[TableSource, ...]:
    """The files that a table is read from, in this process."""
    return source.parts if isinstance(source, TableParts) else (source,)
