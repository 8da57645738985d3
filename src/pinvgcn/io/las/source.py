"""Reading LAS and LAZ with laspy and lazrs."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ScanFileError
from pinvgcn.io.failures import reading
from pinvgcn.io.las.layout import LARGEST_CHUNK, Layout, check_chunks, read_evlrs, read_layout
from pinvgcn.io.las.units import system_and_unit
from pinvgcn.io.scan import ScanChunk, ScanSource, as_field
from pinvgcn.io.scan_writer import ScanWriter, exact_cast

if TYPE_CHECKING:
    import laspy

OLD_FORMATS = range(6)  # five bits for the class

logging.getLogger("laspy").addHandler(logging.NullHandler())  # its complaints reach users as our errors


class LasSource(ScanSource):
    """A LAS or LAZ file."""

    partial = False  # whether some points of the file are left out, so that a copy has totals of its own

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.layout: Layout = read_layout(path)
            self.format = "laz" if self.layout.compressed else "las"
            self._threads = True
            if self.layout.compressed:
                vlr = check_chunks(path, self.layout)
                self._threads = vlr.chunk_size() * vlr.item_size() <= LARGEST_CHUNK
            with self.open() as reader:
                self.header: laspy.LasHeader = reader.header
            self._dimensions = _dimensions(self.header.point_format)
            records = [*self.layout.vlrs, *read_evlrs(path, self.layout)]
            self.system, self.metres = system_and_unit(records)
        self._check_header()

    @property
    def count(self) -> int:
        return self.layout.count

    @property
    def fields(self) -> dict[str, np.dtype]:
        return {name: dtype for name, (_, _, dtype) in self._dimensions.items()}

    @property
    def standard_bytes(self) -> int:
        """Bytes of a point before its extra ones."""
        return int(self.header.point_format.num_standard_bytes)

    @property
    def described(self) -> int:
        """How many extra dimensions laspy knows."""
        return sum(not _is_undescribed(info) for info in self.header.point_format.extra_dimensions)

    @property
    def undescribed(self) -> int:
        """Bytes at the end of each point that it does not know; it calls them ExtraBytes."""
        last = self.header.point_format.dimensions[-1]
        return last.num_bits // 8 if _is_undescribed(last) else 0

    def holds(self, name: str, dtype: np.dtype) -> bool:
        """Whether values of the type can take the place of a field's: always for a standard one."""
        if name not in self._dimensions:
            return False
        dimension, index, present = self._dimensions[name]
        info = self.header.point_format.dimension_by_name(dimension)
        return info.is_standard or index is not None or (dtype == present and not info.is_scaled)

    def open(self) -> laspy.LasReader:
        """A laspy reader at the first point; the caller closes it."""
        import laspy

        backend = laspy.LazBackend.LazrsParallel if self._threads else laspy.LazBackend.Lazrs
        return laspy.open(str(self.path), read_evlrs=False, laz_backend=backend)

    def _check_header(self) -> None:
        scales, offsets = np.array(self.header.scales), np.array(self.header.offsets)
        if not (np.isfinite(scales).all() and np.isfinite(offsets).all() and (scales != 0).all()):
            raise ScanFileError(
                f"{self.path} is damaged: its scales must be finite and not zero and its offsets finite. "
                f"Got scales {scales.tolist()} and offsets {offsets.tolist()} instead."
            )

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        with self.open() as reader:
            for start in range(0, self.count, size):
                record = reader.read_points(size)
                with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused later
                    points = np.stack([record.x, record.y, record.z], axis=1)  # (k, 3)
                yield ScanChunk(start, points, {name: self.field(record, name) for name in names})

    def field(self, record: Any, name: str) -> np.ndarray:
        """A field of points that laspy has read: (k,)."""
        dimension, index, dtype = self._dimensions[name]
        values = as_field(record[dimension])
        return (values if index is None else values[:, index].copy()).astype(dtype, copy=False)

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        if name not in self._dimensions:
            return
        dimension, index, dtype = self._dimensions[name]
        info = self.header.point_format.dimension_by_name(dimension)
        given = np.asarray(values)
        if len(given) == 0 or not (info.is_standard or index is not None):
            return  # an extra dimension takes the type of what replaces it
        if info.is_scaled:
            given, dtype = np.round((given - info.offsets[index]) / info.scales[index]), info.dtype.base
        elif info.dtype is None:  # some bits of a byte
            self._check_range(name, given, int(info.min), int(info.max))
        elif dtype.kind in "ui":
            self._check_range(name, given, np.iinfo(dtype).min, np.iinfo(dtype).max)
        exact_cast(name, given, dtype, f"the field {name!r} of {self.path}")

    def _check_range(self, name: str, given: np.ndarray, smallest: int, largest: int) -> None:
        wrong = given[(given < smallest) | (given > largest)]
        if len(wrong) == 0:
            return
        if name == "classification" and self.layout.point_format in OLD_FORMATS:
            raise ScanFileError(
                f"{self.path} has point format {self.layout.point_format}, which holds classes 0 to "
                f"{largest}. Got class {wrong[0]} instead; use smaller class numbers, or convert the file "
                "to point format 6 or higher (LAS 1.4) first."
            )
        raise ScanFileError(
            f"The field {name!r} of {self.path} holds {smallest} to {largest}. Got {wrong[0]} instead."
        )

    def dimension(self, name: str) -> tuple[str, int | None]:
        """laspy's name of a field, and which of its elements where it has several."""
        dimension, index, _ = self._dimensions[name]
        return dimension, index

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        if format not in ("las", "laz"):
            return None
        from pinvgcn.io.las.writer import LasWriter

        return LasWriter(self, out, columns, compressed=format == "laz")


def _is_undescribed(info: Any) -> bool:
    return (
        not info.is_standard and info.name == "ExtraBytes" and info.description == "Un-registered ExtraBytes"
    )


def _dimensions(point_format: laspy.PointFormat) -> dict[str, tuple[str, int | None, np.dtype]]:
    """Each field: laspy's dimension, the element of it (None for plain ones), the type."""
    found: dict[str, tuple[str, int | None, np.dtype]] = {}
    for info in point_format.dimensions:
        if info.name in ("X", "Y", "Z") or _is_undescribed(info):
            continue
        kind = info.dtype
        base = np.dtype(np.uint8) if kind is None else np.dtype(np.float64) if info.is_scaled else kind.base
        if info.num_elements == 1:
            found[info.name] = (info.name, None, base)
        else:
            found |= {f"{info.name}[{index}]": (info.name, index, base) for index in range(info.num_elements)}
    return found
