"""Reading PCD: text, packed rows, or packed columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from pinvgcn.io.failures import reading
from pinvgcn.io.packed import PackedSource
from pinvgcn.io.pcd.header import PcdHeader, read_header
from pinvgcn.io.scan import ScanChunk
from pinvgcn.io.scan_writer import ScanWriter


class PcdSource(PackedSource):
    """A PCD file."""

    format = "pcd"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.header: PcdHeader = read_header(path)
            self.header_bytes = self.header.size
            text = self.header.encoding == "ascii"
            columns = [column for field in self.header.fields for column in field.columns]
            offset = len(self.header.lines) if text else self.header_bytes
            self._describe(columns, self.header.count, offset, ascii=text)
            if self.header.encoding == "binary":
                self.check_size(self.row.itemsize)
            elif text:
                self.check_size(2 * len(columns) - 1)

    def unpacked(self) -> list[np.ndarray]:
        """The bytes of each column, (n, width), of a file that is packed by columns.

        A field with several elements is stored point by point.
        """
        from pinvgcn.io.pcd.compressed import unpack

        whole = unpack(self.path, self.offset, self.count * self.row.itemsize)
        columns, at = [], 0
        for field in self.header.fields:
            width = sum(column.dtype.itemsize for column in field.columns)
            block = whole[at : at + width * self.count].reshape(self.count, width)
            start = 0
            for column in field.columns:
                columns.append(block[:, start : start + column.dtype.itemsize])
                start += column.dtype.itemsize
            at += width * self.count
        return columns

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        if self.header.encoding != "binary_compressed":
            yield from super()._pieces(size, names)
            return
        columns = self.unpacked()
        for start in range(0, self.count, size):
            rows = np.concatenate([column[start : start + size] for column in columns], axis=1)
            yield self._piece(start, rows, names)

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        if format != "pcd":
            return None
        from pinvgcn.io.pcd.writer import PcdWriter

        return PcdWriter(self, out, columns)
