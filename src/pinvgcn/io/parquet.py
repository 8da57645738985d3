"""Parquet: columns with types, in groups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pinvgcn.checks import check_count
from pinvgcn.errors import DataError, TableFileError
from pinvgcn.io.tables import ROWS, TableSource, check_names

MAGIC = b"PAR1"
# whole numbers and booleans stay what they are beside missing ones
WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
PANDAS_TYPES: dict[Any, Any] = {
    **dict.fromkeys((pa.string(), pa.large_string()), pd.StringDtype("pyarrow")),
    pa.bool_(): pd.BooleanDtype(),
    **{pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name) for name in WHOLE},
}
LARGEST_STRING = 100 << 20  # bytes of a name or a statistic in a file's description: more is damage


class ParquetTable(TableSource):
    format = "parquet"
    endings = (".parquet", ".pq")

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.schema = file.schema_arrow
            self.count = file.metadata.num_rows
            codecs = set()
            if file.metadata.num_row_groups:
                first = file.metadata.row_group(0)
                codecs = {first.column(j).compression for j in range(first.num_columns)}
            codec = codecs.pop() if len(codecs) == 1 else "SNAPPY"
            self.compression = "none" if codec == "UNCOMPRESSED" else codec.lower()
        self.columns = check_names(path, [str(name) for name in self.schema.names])

    def chunks(self, rows: int = ROWS) -> Iterator[pd.DataFrame]:
        start = 0
        for batch in self.batches(check_count("rows", rows)):
            with self._damage():
                frame = batch.to_pandas(
                    ignore_metadata=True, types_mapper=PANDAS_TYPES.get, date_as_object=False
                )
            frame.index = pd.RangeIndex(start, start + len(frame))
            start += len(frame)
            self.share = start / max(self.count or 1, 1)
            yield frame
        if start == 0:
            raise TableFileError(f"{self.path} has columns, but no row.")

    def _opened(
        self, temporary: Path, out: Path, columns: tuple[str, ...], decimal: str
    ) -> AbstractContextManager[ParquetWriter]:
        return closing(ParquetWriter(self, temporary, columns))

    def batches(self, rows: int) -> Iterator[Any]:
        with self._open() as file:
            batches = file.iter_batches(rows, use_threads=False)
            while True:
                with self._damage():
                    batch = next(batches, None)
                if batch is None:
                    return
                if batch.num_rows:
                    yield batch

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with self._damage():
            file = pq.ParquetFile(
                self.path,
                thrift_string_size_limit=LARGEST_STRING,
                thrift_container_size_limit=1_000_000,
                pre_buffer=False,
                memory_map=False,
            )
        with closing(file):
            yield file

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """What Arrow cannot read is one line that names the file."""
        try:
            yield
        except (pa.ArrowException, OSError, ValueError, OverflowError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")[:160]
            raise TableFileError(
                f"{self.path} is a damaged Parquet file ({reason}). It may be truncated: copy it again."
            ) from None


class ParquetWriter:
    """Reads the source a second time, in step with the rows that are written.

    The types of new columns are those of the first frame.
    """

    def __init__(self, source: ParquetTable, temporary: Path, columns: tuple[str, ...]) -> None:
        self.source, self.columns = source, columns
        self._temporary = temporary
        self._pending: Any = None  # rows that were read and not yet written
        self._batches = source.batches(ROWS)
        self._writer: pq.ParquetWriter | None = None

    def write(self, new: pd.DataFrame) -> None:
        added = [pa.Array.from_pandas(new[name]) for name in self.columns]
        if self._writer is None:
            fields = [
                pa.field(name, pa.string() if pa.types.is_null(array.type) else array.type)
                for name, array in zip(self.columns, added, strict=True)
            ]
            self._schema = pa.schema([*self.source.schema, *fields], metadata=self.source.schema.metadata)
            self._writer = pq.ParquetWriter(
                self._temporary, self._schema, compression=self.source.compression
            )
        rows = self._take(len(new))
        fields = list(self._schema)[len(self.source.columns) :]
        arrays = [array.cast(field.type) for array, field in zip(added, fields, strict=True)]
        self._writer.write_table(pa.Table.from_arrays([*rows.columns, *arrays], schema=self._schema))

    def finish(self) -> None:
        if (self._pending is not None and self._pending.num_rows) or next(self._batches, None) is not None:
            raise DataError("fewer rows were written than the source has")

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _take(self, count: int) -> pa.Table:
        parts, missing = [], count
        while missing:
            if self._pending is None or not self._pending.num_rows:
                self._pending = next(self._batches, None)
                if self._pending is None:
                    raise DataError("more rows were written than the source has")
            parts.append(self._pending.slice(0, missing))
            self._pending = self._pending.slice(parts[-1].num_rows)
            missing -= parts[-1].num_rows
        return pa.Table.from_batches(parts, schema=self.source.schema)
