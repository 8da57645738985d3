"""A table in one file or several, one below the other, which processes may share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ColumnError, ParameterError
from pinvgcn.io.tables import ROWS, TableSource, TableWriter, open_table

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".csv.gz", ".tsv.gz", ".txt.gz")


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
        first = told[0]
        for one in told:
            unlike = sorted(set(one[1]) ^ set(first[1]))
            if unlike:
                there, lacking = (one, first) if unlike[0] in one[1] else (first, one)
                raise ColumnError(
                    f"Parts of one table must have the same columns. {lacking[0]} has no column "
                    f"{unlike[0]!r}, which {there[0]} has."
                )
        self.columns, self.format = tuple(first[1]), first[2]
        self.encoding, self.separator = first[3], first[4]
        self.notes = tuple(
            f"{Path(one[0]).name}: {note}" if len(files) > 1 else note for one in told for note in one[5]
        )

    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        """Those of this process's parts, one after the other; each part is numbered from 0."""
        for number, part in enumerate(self.parts):
            for chunk in part.chunks(rows):
                self.share = (number + (part.share or 0.0)) / len(self.parts)
                yield chunk

    def writer(
        self, out: str | Path, columns: Sequence[str], *, force: bool = False, decimal: str = "."
    ) -> AbstractContextManager[TableWriter]:
        """Each part has a writer of its own."""
        raise ParameterError(f"A table in parts is written part by part. Got {str(out)!r} for all.")

    def check_copy(self, out: str | Path, *, force: bool = False) -> Path:
        """See ``TableSource``; of a table in one file."""
        for part in self.parts:
            part.check_copy(out, force=force)
        return Path(out)

    def check_new(self, columns: Sequence[str]) -> None:
        """See ``TableSource``."""
        for part in self.parts:
            part.check_new(columns)


def parts_of(source: TableSource) -> tuple[TableSource, ...]:
    """The files that a table is read from, in this process."""
    return source.parts if isinstance(source, TableParts) else (source,)
