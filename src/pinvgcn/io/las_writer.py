"""Writing a copy of a LAS or LAZ file: every byte that need not change is the source's own.

Points are copied as the bytes they are, so coordinates keep their integers. Columns that the file has are
changed in place; new ones are appended to each point as extra bytes. Then the header's record length and the
positions behind it move, and nothing else does.

A record (LASF_Spec, 4) describes the extra bytes: a list of 192-byte descriptions, one for each extra
dimension in the order of its bytes. Readers look at the first such record. Bytes at the end of a point that
it does not describe stay there, behind new columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.las import LasSource, is_undescribed
from pinvgcn.io.las_layout import (
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
)  # fmt: skip
from pinvgcn.io.scan import ScanWriter, copy_bytes

if TYPE_CHECKING:
    import lazrs

AT_COUNT, AT_EXTENT, AT_LONG_COUNT = 107, 179, 247  # of numbers of points, and of the box around them
# The compressor loses references to waveforms (formats 9, 10), or writes them in a way that LASzip does
# not read (4, 5). Reading them is right.
WAVEFORMS = (4, 5, 9, 10)
# An octree over the packed points (COPC): the copy packs them anew, so the index would point nowhere.
INDEX = "copc"
EXTRA_BYTES = ("LASF_Spec", 4)
DESCRIPTION = struct.Struct("<2xBB32s4x24x24x24x24x24x32s")  # type, options, name, …, what it is
TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")  # by number from 1 on
LONGEST = 65535  # bytes of a record


class LasWriter(ScanWriter):
    source: LasSource

    def __init__(
        self, source: LasSource, out: Path, columns: dict[str, np.dtype], *, compressed: bool
    ) -> None:
        super().__init__(source, out, columns)
        self.compressed = compressed
        if compressed and source.layout.point_format in WAVEFORMS:
            raise ScanFileError(
                f"{source.path} has point format {source.layout.point_format}, with waveforms, which can be "
                f"written as LAS only. Got {out.name}; give the output a name that ends in .las."
            )
        # what keeps its place and type is changed there; the rest becomes extra bytes of its own
        self.added = {
            name: column_type(name, dtype) for name, dtype in columns.items() if not source.holds(name, dtype)
        }
        self._slots, self._rest = slots_of(source, self.added)
        self._standard = int(source.header.point_format.num_standard_bytes)
        extra = sum(slot.size for slot in self._slots.values())
        self._length = self._standard + extra + source.layout.record_length - self._rest
        self._vlr: lazrs.LazVlr | None = None
        self._compressor: Any = None
        self._ahead: Any = None  # points that were read and not yet written
        self._vlrs = self._records()  # now: what cannot be described must fail before the work

    def _records(self) -> list[Record]:
        vlrs = [record for record in self.source.layout.vlrs if record.user != INDEX]
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

        extra = self._length - self._standard
        fresh = lazrs.LazVlr.new_for_compression(self.source.layout.point_format, extra)
        if old is not None and _same_way(old.data, fresh.record_data()):
            self._vlr = lazrs.LazVlr(old.data)
            return old
        self._vlr = fresh
        data = bytes(fresh.record_data())
        head = VLR_HEADER.pack(b"", LASZIP[0].encode(), LASZIP[1], len(data), b"packed by pinvgcn")
        return Record(*LASZIP, head, data)

    def _begin(self, to: IO[bytes]) -> None:
        layout = self.source.layout
        records = b"".join(record.head + record.data for record in self._vlrs)
        header = bytearray(layout.header)
        struct.pack_into(
            "<II", header, AT_OFFSET, len(header) + len(records) + len(layout.gap), len(self._vlrs)
        )
        header[AT_FORMAT] = header[AT_FORMAT] & ~COMPRESSED | (COMPRESSED if self.compressed else 0)
        struct.pack_into("<H", header, AT_LENGTH, self._length)
        to.write(header + records + layout.gap)
        if self.compressed:
            import lazrs

            to.flush()
            self._watched = _Watched(to)
            self._compressor = lazrs.ParLasZipCompressor(self._watched, self._vlr)
            self._opened.callback(setattr, self, "_compressor", None)
        if self.source.partial:  # points are counted anew
            import laspy

            old = self.source.header
            self._totals = laspy.LasHeader(version=old.version, point_format=old.point_format.id)
            self._totals.scales, self._totals.offsets = old.scales, old.offsets
            self._totals.partial_reset()
        with reading(self.source.path):
            self._reader = self._opened.enter_context(self.source.open())

    def present(self, name: str, count: int) -> np.ndarray:
        if self._ahead is None:
            self._ahead = self._next(count)
        return self.source.field(self._ahead, name)

    def _next(self, count: int) -> Any:
        with reading(self.source.path):
            return self._reader.read_points(count)

    def _write(self, values: dict[str, np.ndarray], count: int, to: IO[bytes]) -> None:
        record = self._next(count) if self._ahead is None else self._ahead
        self._ahead = None
        for name, column in values.items():
            if name in self.added:
                continue
            dimension, index, _ = self.source.dimensions[name]
            target = record[dimension]
            whole = column if index is None else np.array(target)
            if index is not None:
                whole[:, index] = column
            target[...] = whole
        if self.source.partial and len(record):
            self._totals.grow(record)
        array = record.array
        raw = array.view(np.uint8).reshape(count, array.dtype.itemsize)  # (k, bytes)
        if self.added:
            extra = [self._bytes(name, slot, raw, values) for name, slot in self._slots.items()]
            raw = np.concatenate([raw[:, : self._standard], *extra, raw[:, self._rest :]], axis=1)
        if self.compressed:
            self._watched.call(self._compressor.compress_many, raw.reshape(-1))
        else:
            to.write(raw.data)

    def _bytes(self, name: str, slot: Slot, raw: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
        if slot.start is not None:
            return raw[:, slot.start : slot.start + slot.size]
        column = np.ascontiguousarray(values[name], dtype=self.added[name])
        return column.view(np.uint8).reshape(len(raw), slot.size)

    def _end(self, to: IO[bytes]) -> None:
        if self.compressed:
            self._watched.call(self._compressor.done)
        if self.source.partial:
            self._write_totals(to)
        to.seek(0, 2)
        layout, end = self.source.layout, to.tell()
        if any(record.user == INDEX for record in layout.vlrs):
            every = read_evlrs(self.source.path, layout, largest=layout.size)
            kept = [record for record in every if record.user != INDEX]
            to.write(b"".join(record.head + record.data for record in kept))
            _patch(to, AT_EVLR, struct.pack("<QI", end if kept else 0, len(kept)))
        elif layout.tail < layout.size:
            with self.source.path.open("rb") as file:
                file.seek(layout.tail)
                copy_bytes(file, to, layout.size - layout.tail, self.source.path)
            for place, start in ((AT_WAVES, layout.waves), (AT_EVLR, layout.evlr if layout.evlrs else 0)):
                if start >= layout.tail:
                    _patch(to, place, struct.pack("<Q", start - layout.tail + end))

    def _write_totals(self, to: IO[bytes]) -> None:
        """The number of points, in all and by return, and their extent, into the header."""
        totals = self._totals
        count, returns = totals.point_count, totals.number_of_points_by_return.tolist()
        legacy = totals.point_format.id < 6 and count < 2**32
        _patch(to, AT_COUNT, struct.pack("<6I", *([count, *returns[:5]] if legacy else [0] * 6)))
        _patch(to, AT_EXTENT, np.stack([totals.maxs, totals.mins], axis=1).astype("<f8").tobytes())
        if totals.version.minor >= 4:
            _patch(to, AT_LONG_COUNT, struct.pack("<16Q", count, *returns))


def _patch(to: IO[bytes], place: int, data: bytes) -> None:
    to.seek(place)
    to.write(data)


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

    def call(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Part of the compressor's work."""
        try:
            work(*arguments)
        except BaseException as error:
            raise (self._error or error) from None


def _same_way(old: bytes, fresh: bytes) -> bool:
    """The same kind of compressor on the same items, in chunks of one size."""
    variable = old[12:16] == b"\xff\xff\xff\xff"
    return not variable and len(old) >= 34 and old[:2] == fresh[:2] and old[32:] == fresh[32:]


def column_type(name: str, dtype: np.dtype) -> np.dtype:
    """The type in which LAS can hold the column."""
    if len(name.encode("utf-8")) > 32 or not name.strip():
        raise DataError(f"A field of LAS must have a name of 1 to 32 bytes. Got {name!r} instead.")
    if dtype.kind == "b":
        return np.dtype("u1")
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype("<f4") if dtype.itemsize < 4 else np.dtype("<f8")
    if dtype.newbyteorder("=").str[1:] not in TYPES:
        raise DataError(f"LAS holds numbers only: column {name!r} must not be of dtype {dtype}.")
    return dtype.newbyteorder("<")


class Slot(NamedTuple):
    """A run of extra bytes of each point: the source's from ``start`` on, or a column's."""

    size: int
    description: bytes
    start: int | None = None


def slots_of(source: LasSource, columns: dict[str, np.dtype]) -> tuple[dict[str, Slot], int]:
    """The described extra bytes of a copy, by their names: columns take the place of those of their name, or
    follow them. And where in a point of the source the bytes begin that nobody described."""
    form = source.header.point_format
    old = next((record.data for record in source.layout.vlrs if record.key == EXTRA_BYTES), b"")
    slots, at = {}, int(form.num_standard_bytes)
    for number, info in enumerate(form.extra_dimensions):
        if is_undescribed(info):
            break
        slots[info.name] = Slot(info.num_bits // 8, old[DESCRIPTION.size * number :][: DESCRIPTION.size], at)
        at += info.num_bits // 8
    for name, dtype in columns.items():
        number = TYPES.index(dtype.str[1:]) + 1
        text = DESCRIPTION.pack(number, 0, name.encode("utf-8"), b"written by pinvgcn")
        slots[name] = Slot(dtype.itemsize, text)
    return slots, at


def with_descriptions(vlrs: list[Record], slots: dict[str, Slot]) -> list[Record]:
    """The VLRs with a record of all slots in the place of the first one; later ones that describe a slot's
    name again are left out."""
    data = b"".join(slot.description for slot in slots.values())
    if len(data) > LONGEST:
        raise DataError("The file has as many extra dimensions as LAS can describe; none can be added.")
    old = [record for record in vlrs if record.key == EXTRA_BYTES]
    head = old[0].head if old else VLR_HEADER.pack(b"", b"LASF_Spec", 4, 0, b"extra dimensions")
    reserved, user, key, _, text = VLR_HEADER.unpack(head)
    record = Record(*EXTRA_BYTES, VLR_HEADER.pack(reserved, user, key, len(data), text), data)
    fields = [name.encode("utf-8").ljust(32, b"\0") for name in slots]
    again = [one for one in old[1:] if any(field in one.data for field in fields)]
    kept = [record if old and other is old[0] else other for other in vlrs if other not in again]
    return kept if old else [*kept, record]
