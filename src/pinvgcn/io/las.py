"""Reading LAS and LAZ with laspy and lazrs; the coordinate system that a file names; what its classes mean.

Point formats 0 to 5 have room for classes 0 to 31, formats 6 to 10 for 0 to 255; from 64 on they are the
user's own. ``las_layout.py`` says where everything lies, and that it fits; ``las_writer.py`` writes copies.
"""

from __future__ import annotations

import logging
import struct
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.las_layout import LARGEST_CHUNK, Layout, Record, check_chunks, read_evlrs
from pinvgcn.io.scan import ScanChunk, ScanSource, ScanWriter, exact_cast

if TYPE_CHECKING:
    import laspy
    import pyproj

OLD_FORMATS = range(6)  # five bits for the class
WKT, GEO_KEYS = ("LASF_Projection", 2112), ("LASF_Projection", 34735)
MODEL_TYPE, PROJECTED_SYSTEM, LINEAR_UNIT = 1024, 3072, 3076  # numbers of GeoTIFF keys
GEOGRAPHIC = 2  # a model type: degrees
UNITS = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937, 9036: 1000.0}  # EPSG codes of units, in metres

CLASSES = {  # by the standard of the ASPRS (LAS 1.4, table 17)
    0: "never classified",
    1: "unclassified",
    2: "ground",
    3: "low vegetation",
    4: "medium vegetation",
    5: "high vegetation",
    6: "building",
    7: "low noise",
    8: "model key point",  # reserved from 1.4 on; older files use it
    9: "water",
    10: "rail",
    11: "road surface",
    12: "overlap",  # reserved from 1.4 on; older files use it
    13: "wire guard",
    14: "wire conductor",
    15: "transmission tower",
    16: "wire connector",
    17: "bridge deck",
    18: "high noise",
    19: "overhead structure",
    20: "ignored ground",
    21: "snow",
    22: "temporal exclusion",
}
UNCLASSIFIED = (0, 1)
NOISE = (7, 18)
_FIRST_OWN = 64

logging.getLogger("laspy").addHandler(logging.NullHandler())  # its complaints reach users as our errors


class LasSource(ScanSource):
    partial = False  # whether some points of the file are left out, so that a copy has totals of its own

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(path):
            self.layout = Layout(path)
            self.format = "laz" if self.layout.compressed else "las"
            self._threads = True
            if self.layout.compressed:
                vlr = check_chunks(path, self.layout)
                self._threads = vlr.chunk_size() * vlr.item_size() <= LARGEST_CHUNK
            with self.open() as reader:
                self.header: laspy.LasHeader = reader.header
            self.dimensions = _dimensions(self.header.point_format)
            records = [*self.layout.vlrs, *read_evlrs(path, self.layout)]
            self.system, self.metres = system_and_unit(records)
        self.count = self.layout.count
        self.fields = {name: dtype for name, (_, _, dtype) in self.dimensions.items()}
        scales, offsets = np.array(self.header.scales), np.array(self.header.offsets)
        if not (np.isfinite(scales).all() and np.isfinite(offsets).all() and (scales != 0).all()):
            raise ScanFileError(
                f"{path} is damaged: its scales must be finite and not zero and its offsets finite. "
                f"Got scales {scales.tolist()} and offsets {offsets.tolist()} instead."
            )

    def holds(self, name: str, dtype: np.dtype) -> bool:
        """Whether values of the type can take the place of a field's: always for a standard one."""
        if name not in self.dimensions:
            return False
        dimension, index, present = self.dimensions[name]
        info = self.header.point_format.dimension_by_name(dimension)
        return info.is_standard or index is not None or (dtype == present and not info.is_scaled)

    def open(self) -> AbstractContextManager[Any]:
        """A laspy reader at the first point."""
        import laspy

        backend = laspy.LazBackend.LazrsParallel if self._threads else laspy.LazBackend.Lazrs
        return laspy.open(str(self.path), read_evlrs=False, laz_backend=backend)

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        with self.open() as reader:
            for start in range(0, self.count, size):
                record = reader.read_points(size)
                with np.errstate(over="ignore", invalid="ignore"):  # infinities are refused later
                    points = np.stack([record.x, record.y, record.z], axis=1)  # (k, 3)
                yield ScanChunk(start, points, {name: self.field(record, name) for name in names})

    def field(self, record: Any, name: str) -> np.ndarray:
        """A field of points that laspy has read: (k,)."""
        dimension, index, dtype = self.dimensions[name]
        values = np.array(record[dimension])  # a view of packed bytes would keep all of them in memory
        return (values if index is None else values[:, index].copy()).astype(dtype, copy=False)

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        if name not in self.dimensions:
            return
        dimension, index, dtype = self.dimensions[name]
        info = self.header.point_format.dimension_by_name(dimension)
        given = np.asarray(values)
        if len(given) == 0 or not (info.is_standard or index is not None):
            return  # an extra dimension takes the type of what replaces it
        if info.is_scaled:
            given, dtype = np.round((given - info.offsets[index]) / info.scales[index]), info.dtype.base
        elif dtype.kind in "ui":
            ends = info if info.dtype is None else np.iinfo(dtype)  # some bits of a byte, or whole bytes
            self._check_range(name, given, int(ends.min), int(ends.max))
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

    def own_writer(self, out: Path, columns: dict[str, np.dtype], format: str) -> ScanWriter | None:
        if format not in ("las", "laz"):
            return None
        from pinvgcn.io.las_writer import LasWriter

        return LasWriter(self, out, columns, compressed=format == "laz")


def is_undescribed(info: Any) -> bool:
    """Whether laspy knows nothing of these bytes at the end of each point; it calls them ExtraBytes."""
    return (
        not info.is_standard and info.name == "ExtraBytes" and info.description == "Un-registered ExtraBytes"
    )


def _dimensions(point_format: laspy.PointFormat) -> dict[str, tuple[str, int | None, np.dtype]]:
    """Each field: laspy's dimension, the element of it (None for plain ones), the type."""
    found: dict[str, tuple[str, int | None, np.dtype]] = {}
    for info in point_format.dimensions:
        if info.name in ("X", "Y", "Z") or is_undescribed(info):
            continue
        kind = info.dtype
        base = np.dtype(np.uint8) if kind is None else np.dtype(np.float64) if info.is_scaled else kind.base
        if info.num_elements == 1:
            found[info.name] = (info.name, None, base)
        else:
            found |= {f"{info.name}[{index}]": (info.name, index, base) for index in range(info.num_elements)}
    return found


def system_and_unit(records: Iterable[Record]) -> tuple[str | None, float | None]:
    """The name of the coordinate system, and metres per unit; None where the file does not say, or where
    its unit is an angle.

    The system is well-known text or GeoTIFF keys; pyproj understands the one, and EPSG codes in the other.
    """
    found = {record.key: record.data for record in reversed(list(records))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if WKT in found:
                import pyproj

                text = found[WKT].split(b"\0", 1)[0].decode("utf-8", "replace")
                system = pyproj.CRS.from_wkt(text)
                return system.name, _unit(system)
            return _of_keys(found.get(GEO_KEYS, b""))
    except Exception:  # an unknown coordinate system is no reason to refuse the points
        return None, None


def _of_keys(data: bytes) -> tuple[str | None, float | None]:
    import pyproj

    numbers = struct.iter_unpack("<4H", data[8 : len(data) // 8 * 8])
    # each key: its number, where its value is stored (0: here), how many values, the value
    keys = {key: value for key, place, _, value in numbers if place == 0}
    if keys.get(MODEL_TYPE) == GEOGRAPHIC:
        return None, None
    known = 1024 <= (code := keys.get(PROJECTED_SYSTEM, 0)) < 32767
    if keys.get(LINEAR_UNIT) in UNITS:
        return f"EPSG:{code}" if known else None, UNITS[keys[LINEAR_UNIT]]
    if not known:
        return None, None
    system = pyproj.CRS.from_epsg(code)
    return system.name, _unit(system)


def _unit(system: pyproj.CRS) -> float | None:
    if system.is_bound and system.source_crs is not None:
        return _unit(system.source_crs)
    if system.is_compound:  # horizontal first, then heights
        return _unit(system.sub_crs_list[0])
    if not (system.is_projected or system.is_engineering) or not system.axis_info:
        return None
    return float(system.axis_info[0].unit_conversion_factor) or None


def class_name(number: int) -> str:
    """``class_name(5)`` is "high vegetation"; numbers without a meaning are told apart by what they are."""
    number = int(number)
    if number in CLASSES:
        return CLASSES[number]
    return f"user class {number}" if number >= _FIRST_OWN else f"reserved class {number}"
