"""A table in several files, one below the other, which the ranks of a group may share out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import pandas as pd

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ColumnError, ParameterError, TableFileError
from pinvgcn.io.patterns import by_name, is_pattern, matching
from pinvgcn.io.tables import ROWS, TableSource, TableWriter, open_table

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".csv.gz", ".tsv.gz", ".txt.gz")


def in_parts(paths: Sequence[Path]) -> bool:
    """Whether these names stand for a table in parts: several files, a pattern or a folder."""
    return len(paths) > 1 or paths[0].is_dir() or is_pattern(paths[0])


def part_files(paths: Sequence[Path], *, out: Path | None = None, group: Group = ALONE) -> list[Path]:
    """The files that names, patterns and folders stand for, by their names; as the first rank sees them.

    What is in ``out`` are copies, which ``parts/**/*.csv`` finds, too, when a command is started again.
    """
    with together(group):
        mine = [str(path) for path in _files(paths, out)] if group.rank == 0 else None
    return [Path(name) for name in group.values(mine)[0]]


def files_in(folder: Path) -> list[Path]:
    """Those that are tables by their names."""
    return sorted((path for path in folder.iterdir() if path.name.lower().endswith(ENDINGS)), key=by_name)


def _files(paths: Sequence[Path], out: Path | None) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        files = [path]
        if path.is_dir() or is_pattern(path):
            files = files_in(path) if path.is_dir() else matching(path)
            # where all are in it, it is refused, with its own words
            files = [file for file in files if out is None or not _is_in(file, out)] or files
        # what another run is writing, or has left, is no part
        files = [file for file in files if not file.name.startswith(".")]
        if not files:
            raise TableFileError(f"There is no table that {path} stands for.")
        absent = next((file for file in files if not file.exists()), None)
        if absent is not None:
            open_table(absent)  # says what may have been meant
        found += files
    found.sort(key=by_name)
    for one, other in pairwise(found):
        if one.name == other.name:
            raise ParameterError(
                f"Parts must have different names, which their copies get, too. Got {one} and {other}."
            )
    return found


def _is_in(file: Path, folder: Path) -> bool:
    return file.resolve().is_relative_to(folder.resolve())


class TableParts(TableSource):
    """Files with the same columns; ``parts`` are those of this rank, which follow each other."""

    def __init__(
        self, name: str, files: Sequence[Path], mine: Sequence[int], *, group: Group = ALONE
    ) -> None:
        self.path = Path(name)
        self.files = tuple(files)
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
        self.notes = tuple(f"{Path(one[0]).name}: {note}" for one in told for note in one[5])

    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        """Those of this rank's parts, one after the other; each part is numbered from 0."""
        for number, part in enumerate(self.parts):
            for chunk in part.chunks(rows):
                self.share = (number + (part.share or 0.0)) / len(self.parts)
                yield chunk

    def writer(
        self, out: str | Path, columns: Sequence[str], *, force: bool = False, decimal: str = "."
    ) -> AbstractContextManager[TableWriter]:
        """Each part has a writer of its own."""
        raise ParameterError(f"A table in parts is written part by part. Got {str(out)!r} for all.")

    def check_new(self, columns: Sequence[str]) -> None:
        """See ``TableSource``."""
        for part in self.parts:
            part.check_new(columns)


def parts_of(source: TableSource) -> tuple[TableSource, ...]:
    """The files that a table is read from, on this rank."""
    return source.parts if isinstance(source, TableParts) else (source,)
