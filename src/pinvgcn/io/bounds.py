"""A box of coordinates, and the part of a scan that lies inside it.

Of a cloud-optimised LAZ file (COPC) only the nodes of its octree that touch the box are unpacked; of others
all points are read. A copy has the points inside alone; in LAS and LAZ each of them as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ParameterError, ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.las import LasSource
from pinvgcn.io.scan import ScanChunk, ScanSource, in_pieces

INDEX = ("copc", 1)  # the record that a cloud-optimised file begins with
PIECE = 1 << 18  # points that are read at a time
LARGEST_NODE = 1 << 26  # points that a node may promise


@dataclass(frozen=True)
class Bounds:
    """All x with low ≤ x ≤ high, in the unit of a scan."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @classmethod
    def parse(cls, text: str) -> Bounds:
        """From "minx,miny,maxx,maxy", or "minx,miny,minz,maxx,maxy,maxz"."""
        try:
            numbers = [float(word) for word in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) == 4:
            numbers = [*numbers[:2], -math.inf, *numbers[2:], math.inf]
        if len(numbers) != 6 or any(map(math.isnan, numbers)):
            raise ParameterError(
                f"bounds must be minx,miny,maxx,maxy, or minx,miny,minz,maxx,maxy,maxz. Got {text!r} instead."
            )
        low, high = numbers[:3], numbers[3:]
        if not all(least < most for least, most in zip(low, high, strict=True)):
            raise ParameterError(f"bounds must have each minimum below its maximum. Got {text!r} instead.")
        return cls((low[0], low[1], low[2]), (high[0], high[1], high[2]))

    def __str__(self) -> str:
        axes = 3 if math.isfinite(self.low[2]) or math.isfinite(self.high[2]) else 2
        return ",".join(f"{number:.12g}" for number in (*self.low[:axes], *self.high[:axes]))

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Which of the points (m, 3) lie in it: a mask (m,)."""
        within = (points >= np.array(self.low)) & (points <= np.array(self.high))
        return np.asarray(within.all(axis=1))


class BoundedSource(ScanSource):
    """The part of a scan inside bounds, by reading all of it; a copy is written anew.

    ``count`` is how many points that is, where it is known from before.
    """

    def __init__(self, whole: ScanSource, bounds: Bounds, count: int | None = None) -> None:
        super().__init__(whole.path)
        self.whole, self.bounds = whole, bounds
        self.format, self.metres, self.system = whole.format, whole.metres, whole.system
        self.rounded, self.fields = whole.rounded, whole.fields
        if count is None:
            count = sum(int(bounds.inside(piece.points).sum()) for piece in whole.chunks(fields=()))
        self.count = count

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        every = self.whole.chunks(size, fields=names)
        return in_pieces((piece.at(self.bounds.inside(piece.points)) for piece in every), size)

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        self.whole.check_values(name, values)


class LasPart(LasSource):
    """The part of a LAS or LAZ file; ``count`` is how many points it has, where that is known from before."""

    partial = True

    def __init__(self, path: Path, bounds: Bounds, count: int | None = None) -> None:
        super().__init__(path)
        self.bounds = bounds
        self.indexed = any(record.key == INDEX for record in self.layout.vlrs)
        if count is None:
            with reading(path), self.open() as reader:
                count = sum(map(len, reader.records))
        self.count = count

    @contextmanager
    def open(self) -> Iterator[Any]:
        """A reader of the points inside; before the bounds are known, of all."""
        if not hasattr(self, "bounds"):
            with super().open() as whole:
                yield whole
        elif self.indexed:
            with octree(self.path, self.bounds) as (header, nodes, unpacked):
                yield PartReader(header, map(unpacked, in_groups(self.path, nodes)), self.bounds)
        else:
            with super().open() as whole:
                yield PartReader(whole.header, whole.chunk_iterator(PIECE), self.bounds)


class PartReader:
    """Of laspy's records of points those inside bounds, as laspy's reader gives all."""

    def __init__(self, header: Any, records: Iterator[Any], bounds: Bounds) -> None:
        self.header = header
        self.records = (
            record[bounds.inside(np.stack([record.x, record.y, record.z], axis=1))] for record in records
        )
        self._held: list[Any] = []

    def read_points(self, count: int) -> Any:
        """The next ``count`` points inside, or as many as are left."""
        import laspy

        while sum(map(len, self._held)) < count and (record := next(self.records, None)) is not None:
            self._held.append(record)
        whole = laspy.ScaleAwarePointRecord.zeros(0, header=self.header)
        whole.array = np.concatenate([whole.array, *(record.array for record in self._held)])
        self._held = [whole[count:]]
        return whole[:count]


@contextmanager
def octree(path: Path, bounds: Bounds) -> Iterator[tuple[Any, list[Any], Any]]:
    """The header of a COPC file, the nodes that touch the bounds in the order of the file, and a function
    that unpacks some of them."""
    import laspy
    import lazrs
    from laspy.copc import Bounds as Box
    from laspy.copc import load_octree_for_query

    copc = laspy.CopcReader.open(str(path))
    header, form = copc.header, copc.header.point_format
    # of the whole height where the bounds have none
    box = Box(np.array(bounds.low), np.array(bounds.high))
    found = load_octree_for_query(copc.source, copc.copc_info, copc.root_page, box)

    def unpacked(nodes: Sequence[Any]) -> Any:
        packed = bytearray()
        for node in nodes:
            copc.source.seek(node.offset)
            packed += copc.source.read(node.byte_size)
        raw = np.zeros(sum(node.point_count for node in nodes) * form.size, dtype=np.uint8)
        table = [(node.point_count, node.byte_size) for node in nodes]
        everything = laspy.DecompressionSelection.all().to_lazrs()
        lazrs.decompress_points_with_chunk_table(packed, copc.laszip_vlr.record_data, raw, table, everything)
        plain = laspy.PackedPointRecord.from_buffer(raw, form)
        return laspy.ScaleAwarePointRecord(plain.array, plain.point_format, header.scales, header.offsets)

    with copc.source:
        yield header, sorted((n for n in found if n.point_count), key=lambda node: node.offset), unpacked


def in_groups(path: Path, nodes: Sequence[Any]) -> Iterator[list[Any]]:
    """Nodes that have about ``PIECE`` points together."""
    size, some, points = path.stat().st_size, [], 0
    for node in nodes:
        some.append(node)
        points += node.point_count
        if points > LARGEST_NODE or node.offset + node.byte_size > size:
            raise ScanFileError(f"{path} is truncated or damaged: a node of its octree does not fit.")
        if points >= PIECE:
            yield some
            some, points = [], 0
    if some:
        yield some
