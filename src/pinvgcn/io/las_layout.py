"""Where everything lies in a LAS or LAZ file.

::

    header | variable length records (VLRs) | points | extended records (EVLRs)

laspy reads the meaning of these; here they are bytes, for two reasons: a copy must keep them as they are,
and numbers that promise more than the file holds must be refused before anything is allocated for them. The
packed points of a LAZ file are

::

    position of the table | chunk | chunk | … | table: version, number of chunks, packed sizes

lazrs allocates what these numbers say. From point format 6 on a chunk starts with one point as it is, a
count, and the sizes of its layers: these are compared with its size, too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pinvgcn.errors import ScanFileError

MAGIC = b"LASF"
COMPRESSED = 0x80  # this bit of the point format says LAZ
_SMALLEST = 227  # bytes of the header of version 1.2
_SIZES = {0: 227, 1: 227, 2: 227, 3: 235, 4: 375, 5: 393}
VLR_HEADER = struct.Struct("<2s16sHH32s")
EVLR_HEADER = struct.Struct("<2s16sHQ32s")

LASZIP = ("laszip encoded", 22204)
_LAYERED = 3  # the kind of compressor
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}  # of an item by its type; extra bytes (14) have one for each byte
_EXTRA_BYTES = 14
_EMPTY = 16
LARGEST_CHUNK = 64 << 20  # bytes unpacked; threads unpack whole chunks

# where the numbers of the header stand that a copy may have to change
AT_OFFSET, AT_FORMAT, AT_LENGTH, AT_WAVES, AT_EVLR = 96, 104, 105, 227, 235


@dataclass(frozen=True)
class Record:
    """A VLR or EVLR as it lies in the file."""

    user: str
    number: int
    head: bytes
    data: bytes

    @property
    def key(self) -> tuple[str, int]:
        return self.user, self.number


class Layout:
    """Positions and counts of a file, checked; the points themselves are not touched."""

    def __init__(self, path: Path) -> None:
        self.size = size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_SMALLEST)
            if len(head) < _SMALLEST:
                raise ScanFileError(
                    f"{path} is truncated: a LAS header has at least {_SMALLEST} bytes. "
                    f"Got {len(head)} instead."
                )
            major, minor = head[24], head[25]
            if major != 1 or minor not in _SIZES:
                raise ScanFileError(f"{path} must be LAS 1.2 to 1.4. Got version {major}.{minor} instead.")
            header_size, points, vlrs = struct.unpack_from("<HII", head, 94)
            if not _SIZES[minor] <= header_size <= points <= size:
                raise _damage(
                    path,
                    f"its header must be followed by points within its {size:,} bytes. Got a header of "
                    f"{header_size:,} bytes and points from byte {points:,} on",
                )
            if header_size + vlrs * VLR_HEADER.size > points:
                raise _damage(path, f"{vlrs:,} variable length records do not fit before its points")
            file.seek(0)
            head = file.read(points)
        self.header = head[:header_size]
        self.points: int = points  # where they start
        point_format, self.record_length, self.count = struct.unpack_from("<BHI", head, AT_FORMAT)
        self.point_format: int = point_format & 0x3F
        self.compressed = bool(point_format & COMPRESSED)
        self.waves = self.evlr = self.evlrs = 0
        if minor >= 3:
            (self.waves,) = struct.unpack_from("<Q", head, AT_WAVES)
        if minor >= 4:
            self.evlr, self.evlrs, self.count = struct.unpack_from("<QIQ", head, AT_EVLR)
        self.vlrs: list[Record] = []
        at = header_size
        for number in range(vlrs):
            begin = at + VLR_HEADER.size
            user, key, length = VLR_HEADER.unpack_from(head, at)[1:4] if begin <= points else ("", 0, points)
            if (end := begin + length) > points:
                raise _damage(path, f"variable length record {number} runs into the points")
            self.vlrs.append(Record(_text(user), key, head[at:begin], head[begin:end]))
            at = end
        self.gap = head[at:]  # what some programs leave between the VLRs and the points
        if self.count == 0:
            raise ScanFileError(f"{path} holds no points.")
        if self.record_length == 0:
            raise _damage(path, "its points must have a length. Got 0 bytes each")
        there = 0 if self.compressed else (size - points) // self.record_length
        if points + 8 >= size if self.compressed else self.tail > size:
            raise ScanFileError(
                f"{path} is truncated: its header promises {self.count:,} points. Got {there:,} instead."
            )

    @property
    def tail(self) -> int:
        """Where the bytes after the points start; the size of the file where there are none."""
        if not self.compressed:
            return int(self.points + self.count * self.record_length)
        starts = [at for at in (self.waves, self.evlr if self.evlrs else 0) if self.points < at < self.size]
        return min(starts, default=self.size)


def read_evlrs(path: Path, layout: Layout, *, largest: int = 1 << 24) -> list[Record]:
    """The EVLRs that lie inside the file; data longer than ``largest`` are left out."""
    records: list[Record] = []
    at = layout.evlr
    with path.open("rb") as file:
        for _ in range(layout.evlrs):
            if not layout.points <= at <= layout.size - EVLR_HEADER.size:
                break
            file.seek(at)
            head = file.read(EVLR_HEADER.size)
            _, user, key, length, _ = EVLR_HEADER.unpack(head)
            at += EVLR_HEADER.size + length
            if at > layout.size:
                break
            records.append(Record(_text(user), key, head, file.read(length) if length <= largest else b""))
    return records


def _text(padded: bytes) -> str:
    return padded.split(b"\0", 1)[0].decode("latin-1").strip()


def check_chunks(path: Path, layout: Layout) -> Any:
    """Refuse what does not fit; returns how the points are packed, as lazrs describes it."""
    import lazrs

    record = next((record for record in layout.vlrs if record.key == LASZIP), None)
    if record is None or len(record.data) < 34:
        raise _damage(path, "it lacks the record that says how its points are packed")
    vlr = lazrs.LazVlr(record.data)
    if vlr.item_size() != layout.record_length:
        raise _damage(path, f"its points have {layout.record_length} bytes; packed {vlr.item_size()}")
    if vlr.chunk_size() == 0:
        raise _damage(path, "its chunks hold no points")
    with path.open("rb") as file:
        table = _table_start(path, file, layout)
        file.seek(table)
        _, number = struct.unpack("<II", file.read(8))
        room = table - layout.points - 8
        # each holds a point as it is; a few may be empty
        if (number - _EMPTY) * layout.record_length > room:
            raise _damage(path, f"{number:,} chunks do not fit into {room:,} bytes")
        file.seek(layout.points)
        chunks = lazrs.read_chunk_table(file, vlr)
        held = number * vlr.chunk_size()  # of chunks of one size only the last one may hold fewer
        if vlr.uses_variable_size_chunks():
            held = sum(points for points, _ in chunks)
        if held < layout.count:
            raise _damage(path, f"its header promises {layout.count:,} points; its chunks hold {held:,}")
        if sum(size for _, size in chunks) > room:
            raise _damage(path, f"its chunks do not fit into {room:,} bytes")
        if struct.unpack_from("<H", record.data)[0] == _LAYERED:
            _check_layers(path, file, layout, record.data, [size for _, size in chunks])
    return vlr


def _table_start(path: Path, file: IO[bytes], layout: Layout) -> int:
    """Where the table of chunks starts; a writer that could not go back put that at the end of the file."""
    file.seek(layout.points)
    (start,) = struct.unpack("<q", file.read(8))
    if start == -1:
        file.seek(-8, 2)
        (start,) = struct.unpack("<q", file.read(8))
    if not layout.points + 8 <= start <= layout.size - 8:
        raise _damage(path, "it ends before its table of chunks, or the table's position is wrong")
    return int(start)


def _check_layers(path: Path, file: IO[bytes], layout: Layout, packing: bytes, sizes: list[int]) -> None:
    layers = 0
    for at in range(34, len(packing) - 5, 6):
        kind, width, _ = struct.unpack_from("<3H", packing, at)
        layers += width if kind == _EXTRA_BYTES else _LAYERS.get(kind, 0)
    head = layout.record_length + 4
    at = layout.points + 8
    for size in filter(None, sizes):
        file.seek(at + head)
        found = file.read(4 * layers)
        if len(found) < 4 * layers or head + sum(struct.unpack(f"<{layers}I", found)) + 4 * layers > size:
            raise _damage(path, "a chunk's layers are larger than the chunk")
        at += size


def _damage(path: Path, what: str) -> ScanFileError:
    return ScanFileError(f"{path} is truncated or damaged: {what}.")
