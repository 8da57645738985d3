"""Writing a copy of a LAS or LAZ file: every byte that need not change is the source's own.

Points are copied as the bytes they are, so coordinates keep their integers. Columns that the file has
are changed in place; new ones are appended to each point as extra bytes. Then the header's record length
and the positions behind it move, and nothing else does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.failures import reading
from pinvgcn.io.las.extra_bytes import Slot, column_type, slots_of, with_columns, with_descriptions
from pinvgcn.io.las.layout import (
    AT_EVLR,
    AT_FORMAT,
    AT_LENGTH,
    AT_OFFSET,
    AT_WAVES,
    COMPRESSED,
    LASZIP,
    VLR_HEADER,
    Record,
    read_evlrs,
)
from pinvgcn.io.las.source import LasSource
from pinvgcn.io.scan_writer import ScanWriter, copy_bytes

if TYPE_CHECKING:
    import lazrs

AT_COUNT, AT_EXTENT, AT_LONG_COUNT = 107, 179, 247  # of numbers of points, and of the box around them
# The compressor loses references to waveforms (formats 9, 10), or writes them in a way that LASzip does
# not read (4, 5). Reading them is right.
_WAVEFORMS = (4, 5, 9, 10)
# An octree over the packed points (COPC): the copy packs them anew, so the index would point nowhere.
_INDEX = "copc"


class LasWriter(ScanWriter):
    """Writes LAS, or LAZ where ``compressed``."""

    source: LasSource

    def __init__(
        self, source: LasSource, out: Path, columns: dict[str, np.dtype], *, compressed: bool
    ) -> None:
        super().__init__(source, out, columns)
        self.compressed = compressed
        if compressed and source.layout.point_format in _WAVEFORMS:
            raise ScanFileError(
                f"{source.path} has point format {source.layout.point_format}, with waveforms, which can be "
                f"written as LAS only. Got {out.name}; give the output a name that ends in .las."
            )
        # what keeps its place and type is changed there; the rest becomes extra bytes of its own
        self.added = {
            name: column_type(name, dtype) for name, dtype in columns.items() if not source.holds(name, dtype)
        }
        self._slots = self._plan()
        self._length = source.standard_bytes + sum(self._size(slot) for slot in self._slots)
        self._vlr: lazrs.LazVlr | None = None
        self._compressor: Any = None
        self._reader: Any = None
        self._totals = HeaderTotals()
        self._ahead: Any = None  # points that were read and not yet written
        self._vlrs = self._records()  # now: what cannot be described must fail before the work

    def _plan(self) -> list[Slot]:
        source = self.source
        slots = slots_of(source.layout.vlrs, source.standard_bytes, source.described, source.undescribed)
        return with_columns(slots, self.added)

    def _size(self, slot: Slot) -> int:
        return slot.stop - slot.start if slot.column is None else self.added[slot.column].itemsize

    def _records(self) -> list[Record]:
        vlrs = [record for record in self.source.layout.vlrs if record.user != _INDEX]
        if self.added:
            vlrs = with_descriptions(vlrs, self._slots)
        old = next((record for record in vlrs if record.key == LASZIP), None)
        if not self.compressed:
            return [record for record in vlrs if record is not old]
        record = self._compression(old)
        return [record if other is old else other for other in vlrs] if old else [*vlrs, record]

    def _compression(self, old: Record | None) -> Record:
        """How the points are packed: as in the source where its way still fits."""
        import lazrs

        extra = self._length - self.source.standard_bytes
        fresh = lazrs.LazVlr.new_for_compression(self.source.layout.point_format, extra)
        if old is not None and _same_way(old.data, fresh.record_data()):
            self._vlr = lazrs.LazVlr(old.data)
            return old
        self._vlr = fresh
        data = bytes(fresh.record_data())
        head = VLR_HEADER.pack(b"", LASZIP[0].encode(), LASZIP[1], len(data), b"packed by pinvgcn")
        return Record(*LASZIP, head, data)

    def _begin(self, stream: IO[bytes]) -> None:
        layout = self.source.layout
        records = b"".join(record.head + record.data for record in self._vlrs)
        header = bytearray(layout.header)
        start = len(header) + len(records) + len(layout.gap)
        struct.pack_into("<II", header, AT_OFFSET, start, len(self._vlrs))
        flag = COMPRESSED if self.compressed else 0
        if self.compressed != layout.compressed:
            struct.pack_into("<B", header, AT_FORMAT, layout.point_format | flag)
        struct.pack_into("<H", header, AT_LENGTH, self._length)
        stream.write(header + records + layout.gap)
        self._to = stream
        self._watched = _Watched(stream)
        if self.compressed:
            import lazrs

            stream.flush()
            self._compressor = lazrs.ParLasZipCompressor(self._watched, self._vlr)
        with reading(self.source.path):
            self._reader = self.source.open()

    def present(self, name: str, count: int) -> np.ndarray:
        if self._ahead is None:
            self._ahead = self._next(count)
        return self.source.field(self._ahead, name)

    def _next(self, count: int) -> Any:
        with reading(self.source.path):
            return self._reader.read_points(count)

    def _write(self, values: dict[str, np.ndarray], count: int) -> None:
        record = self._next(count) if self._ahead is None else self._ahead
        self._ahead = None
        for name, column in values.items():
            if name in self.added:
                continue
            dimension, index = self.source.dimension(name)
            target = record[dimension]
            target[...] = column if index is None else _replaced(target, index, column)
        if self.source.partial:
            self._totals.add(record)
        array = record.array
        raw = array.view(np.uint8).reshape(count, array.dtype.itemsize)  # (k, bytes)
        if self.added:
            standard = raw[:, : self.source.standard_bytes]
            raw = np.concatenate(
                [standard, *(self._bytes(slot, raw, values) for slot in self._slots)], axis=1
            )
        if self._compressor is None:
            self._to.write(raw.data)
        else:
            with self._watched:
                self._compressor.compress_many(raw.reshape(-1))

    def _bytes(self, slot: Slot, raw: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
        if slot.column is None:
            return raw[:, slot.start : slot.stop]
        column = np.ascontiguousarray(values[slot.column], dtype=self.added[slot.column])
        return column.view(np.uint8).reshape(len(raw), column.itemsize)

    def _end(self) -> None:
        if self._compressor is not None:
            with self._watched:
                self._compressor.done()
            self._compressor = None
        if self.source.partial:
            self._totals.patch(self._to, self.source.header)
        self._to.seek(0, 2)
        layout, end = self.source.layout, self._to.tell()
        if any(record.user == _INDEX for record in layout.vlrs):
            self._copy_records(end)
        elif layout.tail < layout.size:
            with self.source.path.open("rb") as file:
                file.seek(layout.tail)
                copy_bytes(file, self._to, layout.size - layout.tail, self.source.path)
            for place, start in ((AT_WAVES, layout.waves), (AT_EVLR, layout.evlr if layout.evlrs else 0)):
                if start >= layout.tail:
                    self._patch(place, struct.pack("<Q", start - layout.tail + end))

    def _copy_records(self, end: int) -> None:
        """The EVLRs without the index of the points."""
        kept = [
            record
            for record in read_evlrs(self.source.path, self.source.layout, largest=self.source.layout.size)
            if record.user != _INDEX
        ]
        for record in kept:
            self._to.write(record.head + record.data)
        self._patch(AT_EVLR, struct.pack("<QI", end if kept else 0, len(kept)))

    def _patch(self, place: int, data: bytes) -> None:
        self._to.seek(place)
        self._to.write(data)
        self._to.seek(0, 2)

    def _release(self) -> None:
        self._compressor = None
        if self._reader is not None:
            self._reader.close()
        self._reader = None


class HeaderTotals:
    """What a header says of all points: their number, in all and by return, and their extent."""

    def __init__(self) -> None:
        self.count, self.returns = 0, np.zeros(16, dtype=np.int64)
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)

    def add(self, record: Any) -> None:
        """Further points."""
        if not len(record):
            return
        self.count += len(record)
        self.returns += np.bincount(np.asarray(record.return_number), minlength=16)[:16]
        points = np.stack([record.x, record.y, record.z], axis=1)
        self.low, self.high = np.minimum(self.low, points.min(0)), np.maximum(self.high, points.max(0))

    def patch(self, stream: IO[bytes], header: Any) -> None:
        """Into the header that is written already."""
        legacy = header.point_format.id < 6 and self.count < 2**32
        stream.seek(AT_COUNT)
        stream.write(struct.pack("<6I", *([self.count, *self.returns[1:6]] if legacy else [0] * 6)))
        stream.seek(AT_EXTENT)
        stream.write(struct.pack("<6d", *np.stack([self.high, self.low], axis=1).ravel()))
        if header.version.minor >= 4:
            stream.seek(AT_LONG_COUNT)
            stream.write(struct.pack("<16Q", self.count, *self.returns[1:]))


class _Watched:
    """The stream as the compressor sees it; the compressor hides why a write failed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._error: OSError | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def tried(*arguments: Any) -> Any:
            try:
                return getattr(self._stream, name)(*arguments)
            except OSError as error:
                self._error = self._error or error
                raise

        return tried

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._error is not None:
            raise self._error from None


def _same_way(old: bytes, fresh: bytes) -> bool:
    """The same kind of compressor on the same items, in chunks of one size."""
    variable = old[12:16] == b"\xff\xff\xff\xff"
    return not variable and len(old) >= 34 and old[:2] == fresh[:2] and old[32:] == fresh[32:]


def _replaced(target: Any, index: int, column: np.ndarray) -> np.ndarray:
    whole = np.array(target)
    whole[:, index] = column
    return whole
