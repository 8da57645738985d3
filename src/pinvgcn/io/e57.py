"""Reading E57 (ASTM E2807) with pye57: all scans of a file as one cloud, each moved by its pose.

Coordinates are Cartesian, or spherical where that is all there is, in metres. Points that the file marks as
invalid are left out. The fields are those that every scan of the file has, under the names of LAS where it
has such. E57 is not written: a copy is LAS or LAZ, to a tenth of a millimetre, or PLY, PCD or text, which
keep every digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from pinvgcn.errors import DataError, MissingDependencyError, ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.scan import ScanChunk, ScanSource, in_pieces

MAGIC = b"ASTM-E57"
CARTESIAN = ("cartesianX", "cartesianY", "cartesianZ")
SPHERICAL = ("sphericalRange", "sphericalAzimuth", "sphericalElevation")
INVALID = {CARTESIAN: "cartesianInvalidState", SPHERICAL: "sphericalInvalidState"}
DOUBT = {"intensity": "isIntensityInvalid", "gps_time": "isTimeStampInvalid"}  # 1: the value means nothing
NAMES = {
    "intensity": "intensity",
    "colorRed": "red",
    "colorGreen": "green",
    "colorBlue": "blue",
    "returnIndex": "return_number",
    "returnCount": "number_of_returns",
    "timeStamp": "gps_time",
    "rowIndex": "row",
    "columnIndex": "column",
}
BEFORE = {"return_number": 1}  # E57 counts returns from 0, LAS from 1
SCAN = "scan"  # the number of the scan that a point is from, where there are several
PIECE = 1 << 18  # points whose values are unpacked at a time
ROUNDED = 1e-4  # metres, to which a copy in LAS rounds


@dataclass(frozen=True)
class Station:
    """One scan of the file: where it stands, and what its points have."""

    points: int  # as stored, invalid ones among them
    axes: tuple[str, ...]  # the elements of a coordinate
    state: str | None  # the element that says whether it is valid
    elements: dict[str, str]  # of a field, by the field's name
    doubts: dict[str, str]  # of a field's validity
    dtypes: dict[str, np.dtype]
    rotation: np.ndarray  # (3, 3)
    translation: np.ndarray  # (3,)


class E57Source(ScanSource):
    format = "e57"
    metres = 1.0
    rounded = ROUNDED

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        library = _library()
        with reading(path), library.E57(str(path)) as file:
            root = file.image_file.root()
            stations = [_station(path, scan) for scan in root["data3D"]] if root.isDefined("data3D") else []
            self.wkt = root["coordinateMetadata"].value() if root.isDefined("coordinateMetadata") else ""
        self._stations = {number: one for number, one in enumerate(stations) if one.points}
        if not self._stations:
            raise ScanFileError(f"{path} has no points.")
        named = re.search(r'"([^"]+)"', self.wkt)
        self.system = named[1] if named else None
        self.fields = _common(list(self._stations.values()))
        if len(self._stations) > 1:
            self.fields[SCAN] = np.dtype(np.uint16)
        self.count = sum(map(self._valid, self._stations))
        if self.count == 0:
            raise ScanFileError(f"{path} has no points that it marks as valid.")

    def _valid(self, number: int) -> int:
        station = self._stations[number]
        if station.state is None:
            return station.points
        return sum(int((piece[station.state] == 0).sum()) for piece in self._read(number, [station.state]))

    def _read(self, number: int, elements: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        """Elements of the points of one scan as numbers, in pieces."""
        library = _library()
        with reading(self.path), library.E57(str(self.path)) as file:
            size = min(PIECE, self._stations[number].points)
            arrays = {name: np.empty(size) for name in elements}
            buffers = library.libe57.VectorSourceDestBuffer()
            for name, array in arrays.items():
                # converted to double precision, and scaled whole numbers to what they stand for
                buffers.append(
                    library.libe57.SourceDestBuffer(file.image_file, name, array, size, True, True)
                )
            reader = file.get_header(number).points.reader(buffers)
            while got := reader.read():
                yield {name: array[:got].copy() for name, array in arrays.items()}
            reader.close()

    def _pieces(self, size: int, names: Sequence[str]) -> Iterator[ScanChunk]:
        return in_pieces(self._valid_pieces(names), size)

    def _valid_pieces(self, names: Sequence[str]) -> Iterator[ScanChunk]:
        for number, station in self._stations.items():
            wanted = [name for name in names if name != SCAN]
            doubts = {name: station.doubts[name] for name in wanted if name in station.doubts}
            elements = [*station.axes, *(station.elements[name] for name in wanted), *doubts.values()]
            if station.state is not None:
                elements.append(station.state)
            for values in self._read(number, list(dict.fromkeys(elements))):
                kept = slice(None) if station.state is None else values[station.state] == 0
                points = np.stack([values[axis][kept] for axis in station.axes], axis=1)
                if station.axes == SPHERICAL:
                    points = _cartesian(points)
                fields = {}
                for name in wanted:
                    column = values[station.elements[name]][kept] + BEFORE.get(name, 0)
                    if name in doubts:
                        column = np.where(values[doubts[name]][kept] == 0, column, np.nan)
                    fields[name] = column.astype(self.fields[name])
                if SCAN in names:
                    fields[SCAN] = np.full(len(points), number, np.uint16)
                yield ScanChunk(0, points @ station.rotation.T + station.translation, fields)

    def check_values(self, name: str, values: npt.ArrayLike) -> None:
        given = np.asarray(values)
        wrong = given[(given < 0) | (given > 255)] if name == "classification" else given[:0]
        if len(wrong):
            raise DataError(
                f"Classes must be from 0 to 255 in a LAS file. Got {wrong[0]}; choose another --field."
            )


def _library() -> Any:
    try:
        import pye57
    except ImportError:
        raise MissingDependencyError("E57 scans need pye57: pip install pye57") from None
    return pye57


def _station(path: Path, scan: Any) -> Station:
    """What a header says of one scan."""
    library = _library().libe57
    vector = scan["points"]
    prototype = library.StructureNode(vector.prototype())
    nodes = [prototype.get(place) for place in range(prototype.childCount())]
    there = {node.elementName(): node for node in nodes}
    axes = next((axes for axes in (CARTESIAN, SPHERICAL) if set(axes) <= set(there)), None)
    if axes is None:
        raise ScanFileError(
            f"{path} must have Cartesian or spherical coordinates. Got {', '.join(there)} instead."
        )
    helpers = {*CARTESIAN, *SPHERICAL, *INVALID.values(), *DOUBT.values(), "isColorInvalid"}
    elements, dtypes = {}, {}
    for name, node in there.items():
        field = NAMES.get(name, name.rpartition(":")[2])
        dtype = _dtype(library, node, BEFORE.get(field, 0))
        if name in helpers or dtype is None:
            continue
        elements[field], dtypes[field] = name, dtype
    doubts = {field: DOUBT[field] for field in elements if DOUBT.get(field) in there}
    for field in doubts:
        dtypes[field] = np.dtype(np.float64)
    state = INVALID[axes] if INVALID[axes] in there else None
    return Station(vector.childCount(), axes, state, elements, doubts, dtypes, *_pose(scan))


def _dtype(library: Any, node: Any, more: int) -> np.dtype | None:
    """The type of an element's values, with ``more`` added; None for text."""
    if node.type() == library.NodeType.E57_INTEGER:
        whole = library.IntegerNode(node)
        ends = whole.minimum() + more, whole.maximum() + more
        return np.promote_types(*map(np.min_scalar_type, ends))
    if node.type() in (library.NodeType.E57_FLOAT, library.NodeType.E57_SCALED_INTEGER):
        return np.dtype(np.float64)
    return None


def _pose(scan: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rotation (3, 3) and translation (3,) to the common frame; those that are missing do nothing."""
    rotation, translation = np.eye(3), np.zeros(3)
    if scan.isDefined("pose/translation"):
        translation = np.array([scan["pose"]["translation"][axis].value() for axis in "xyz"])
    if scan.isDefined("pose/rotation"):
        quaternion = [scan["pose"]["rotation"][axis].value() for axis in "xyzw"]
        if any(quaternion):
            rotation = Rotation.from_quat(quaternion).as_matrix()
    return rotation, translation


def _cartesian(points: np.ndarray) -> np.ndarray:
    """Range, azimuth and elevation (above the horizon) as x, y, z."""
    distance, azimuth, elevation = points.T
    flat = distance * np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), distance * np.sin(elevation)], axis=1)


def _common(stations: Sequence[Station]) -> dict[str, np.dtype]:
    """The fields that every scan has, in types that hold those of all."""
    first, *others = stations
    names = [name for name in first.dtypes if all(name in other.dtypes for other in others)]
    return {name: np.result_type(*(station.dtypes[name] for station in stations)) for name in names}
