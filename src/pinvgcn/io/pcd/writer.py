"""Writing a copy of a PCD file with fields replaced or added; comments, viewpoint and grid stay."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from pinvgcn.errors import DataError
from pinvgcn.io.failures import reading
from pinvgcn.io.packed import PackedWriter
from pinvgcn.io.packed.columns import narrowed
from pinvgcn.io.packed.writer import as_bytes
from pinvgcn.io.pcd.header import PcdField
from pinvgcn.io.pcd.source import PcdSource

_WIDTHS = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)}


class PcdWriter(PackedWriter):
    """Writes the encoding of its source."""

    source: PcdSource

    def __init__(self, source: PcdSource, out: Path, columns: dict[str, np.dtype]) -> None:
        super().__init__(source, out, columns)
        self._unpacked: list[np.ndarray] = []
        self._new: dict[str, list[np.ndarray]] = {name: [] for name in columns}
        for number, column in self.replaced.items():
            if "[" in column.name and column is not source.columns[number]:
                raise DataError(
                    f"{column.name!r} is one element of a field of {source.path} and must keep its type "
                    f"{source.fields[column.name]}. Got {column.dtype.name} instead."
                )

    def file_type(self, name: str, dtype: np.dtype) -> np.dtype:
        return narrowed(name, dtype, _WIDTHS, "PCD").newbyteorder("<")

    def header(self) -> bytes:
        fields, number = [], 0
        for field in self.source.header.fields:
            new = self.replaced.get(number)
            fields.append(field if new is None or field.count > 1 else PcdField(field.name, new.dtype))
            number += len(field.columns)
        fields += [PcdField(column.name, column.dtype) for column in self.appended]
        table = {
            b"FIELDS": [field.name for field in fields],
            b"SIZE": [str(field.dtype.itemsize) for field in fields],
            b"TYPE": [field.dtype.kind.upper() for field in fields],
            b"COUNT": [str(field.count) for field in fields],
        }
        return b"".join(_exchanged_values(line, table) for line in self.source.header.lines)

    def _begin(self, stream: IO[bytes]) -> None:
        super()._begin(stream)
        if self.source.header.encoding == "binary_compressed":
            with reading(self.source.path):
                self._unpacked = self.source.unpacked()

    def _write_rows(self, new: dict[str, np.ndarray], count: int) -> None:
        if not self._unpacked:
            super()._write_rows(new, count)
            return
        for name, column in new.items():
            self._new[name].append(as_bytes(column))

    def _end(self) -> None:
        if not self._unpacked:
            super()._end()
            return
        from pinvgcn.io.pcd.compressed import pack

        new = {name: np.concatenate(parts) for name, parts in self._new.items()}
        blocks, number = [], 0
        for field in self.source.header.fields:
            some = range(number, number + len(field.columns))
            parts = [new[self.replaced[n].name] if n in self.replaced else self._unpacked[n] for n in some]
            blocks.append(np.concatenate(parts, axis=1).tobytes())
            number += len(field.columns)
        blocks += [new[column.name].tobytes() for column in self.appended]
        self._to.write(pack(b"".join(blocks)))

    def _release(self) -> None:
        self._unpacked = []
        super()._release()


def _exchanged_values(line: bytes, table: dict[bytes, list[str]]) -> bytes:
    """A line of the header with the values of the table, as it is where they are the same."""
    words = line.split()
    if not words or words[0] not in table:
        return line
    values = [value.encode("latin-1", "replace") for value in table[words[0]]]
    return line if words[1:] == values else b" ".join([words[0], *values]) + line[len(line.rstrip(b"\r\n")) :]
