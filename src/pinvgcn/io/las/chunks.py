"""The packed points of a LAZ file: whether its chunks fit into it.

::

    position of the table | chunk | chunk | … | table: version, number of chunks, packed sizes

lazrs allocates what these numbers say, and a number that is wrong would take all memory, so they are
compared with the size of the file first. From point format 6 on a chunk starts with one point as it is, a
count, and the sizes of its layers: these are compared too.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

from pinvgcn.errors import ScanFileError
from pinvgcn.io.las.layout import Layout

LASZIP = ("laszip encoded", 22204)
_LAYERED = 3  # the kind of compressor
_LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}  # of an item by its type; extra bytes (14) have one for each byte
_EXTRA_BYTES = 14
_EMPTY = 16
LARGEST_CHUNK = 64 << 20  # bytes unpacked; threads unpack whole chunks


def check_chunks(path: Path, layout: Layout) -> Any:
    """Refuse what does not fit; returns how the points are packed, as lazrs describes it."""
    import lazrs

    record = layout.find(*LASZIP)
    if record is None or len(record.data) < 34:
        raise _damage(path, "it lacks the record that says how its points are packed")
    vlr = lazrs.LazVlr(record.data)
    if vlr.item_size() != layout.record_length:
        raise _damage(
            path, f"points must have {layout.record_length} bytes; its packing says {vlr.item_size()}"
        )
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
        # of chunks of one size only the last one may hold fewer
        held = (
            sum(points for points, _ in chunks)
            if vlr.uses_variable_size_chunks()
            else number * vlr.chunk_size()
        )
        if held < layout.count:
            raise _damage(
                path, f"its header promises {layout.count:,} points; its chunks hold {held:,} at most"
            )
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
