"""The part of a LAS or LAZ file inside bounds: of a cloud-optimised one (COPC) by its octree, whose nodes
outside are not unpacked, of others by reading all points. A copy has these points alone, each as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.bounds import Bounds
from pinvgcn.io.failures import reading
from pinvgcn.io.las.source import LasSource

INDEX = ("copc", 1)  # the record that a cloud-optimised file begins with
PIECE = 1 << 18  # points that are read at a time
LARGEST_NODE = 1 << 26  # points that a node may promise


class LasPart(LasSource):
    """``count`` is how many points lie inside, where it is known from before."""

    partial = True

    def __init__(self, path: Path, bounds: Bounds, count: int | None = None) -> None:
        super().__init__(path)
        self.bounds = bounds
        self.indexed = any(record.key == INDEX for record in self.layout.vlrs)
        if count is None:
            count = 0
            with reading(path), self.open() as reader:
                while len(record := reader.read_points(PIECE)):
                    count += len(record)
        self._inside = count

    @property
    def count(self) -> int:
        return self._inside

    def open(self) -> Any:
        """A reader of the points inside; before the bounds are known, of all."""
        if not hasattr(self, "bounds"):
            return super().open()
        return IndexedReader(self.path, self.bounds) if self.indexed else FilteredReader(super().open(), self)


class FilteredReader:
    """Reads all points, and gives those inside."""

    def __init__(self, whole: Any, part: LasPart) -> None:
        self._whole, self._bounds, self._held = whole, part.bounds, []

    _held: list[Any]

    def _more(self) -> Any:
        """Further points, some inside; None at the end."""
        record = self._whole.read_points(PIECE)
        return record if len(record) else None

    def read_points(self, count: int) -> Any:
        """The next ``count`` points inside, or as many as are left."""
        while sum(map(len, self._held)) < count and (record := self._more()) is not None:
            points = np.stack([record.x, record.y, record.z], axis=1)
            self._held.append(record[self._bounds.inside(points)])
        if not self._held:
            self._held.append(self._none())
        whole = self._held[0]
        whole.array = np.concatenate([record.array for record in self._held])
        taken, rest = whole[:count], whole[count:]
        self._held = [rest] if len(rest) else []
        return taken

    def _none(self) -> Any:
        import laspy

        return laspy.ScaleAwarePointRecord.zeros(0, header=self._whole.header)

    def close(self) -> None:
        self._whole.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IndexedReader(FilteredReader):
    """Unpacks the nodes of the octree that touch the bounds, some at a time, in the order of the file."""

    def __init__(self, path: Path, bounds: Bounds) -> None:
        import laspy
        from laspy.copc import Bounds as Box
        from laspy.copc import load_octree_for_query

        self._path, self._bounds, self._held = path, bounds, []
        self._copc = laspy.CopcReader.open(str(path))
        # of the whole height where the bounds have none
        box = Box(np.array(bounds.low), np.array(bounds.high))
        found = load_octree_for_query(self._copc.source, self._copc.copc_info, self._copc.root_page, box)
        self.nodes = sorted((node for node in found if node.point_count), key=lambda node: node.offset)
        self._next = 0

    def _more(self) -> Any:
        import laspy
        import lazrs

        some, points = [], 0
        while self._next < len(self.nodes) and points < PIECE:
            some.append(self.nodes[self._next])
            points += some[-1].point_count
            self._next += 1
        if not some:
            return None
        size = self._path.stat().st_size
        if points > LARGEST_NODE or any(node.offset + node.byte_size > size for node in some):
            raise ScanFileError(f"{self._path} is truncated or damaged: a node of its octree does not fit.")
        packed = bytearray()
        for node in some:
            self._copc.source.seek(node.offset)
            packed += self._copc.source.read(node.byte_size)
        header = self._copc.header
        raw = np.zeros(points * header.point_format.size, dtype=np.uint8)
        table = [(node.point_count, node.byte_size) for node in some]
        way = self._copc.laszip_vlr.record_data
        everything = laspy.DecompressionSelection.all().to_lazrs()
        lazrs.decompress_points_with_chunk_table(packed, way, raw, table, everything)
        plain = laspy.PackedPointRecord.from_buffer(raw, header.point_format)
        return laspy.ScaleAwarePointRecord(plain.array, plain.point_format, header.scales, header.offsets)

    def _none(self) -> Any:
        import laspy

        return laspy.ScaleAwarePointRecord.zeros(0, header=self._copc.header)

    def close(self) -> None:
        self._copc.source.close()
