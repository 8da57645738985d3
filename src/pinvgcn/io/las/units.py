"""The coordinate system of a LAS file, and metres per unit of its coordinates.

International foot: 0.3048 m exactly. US survey foot: 1200/3937 m. The system is well-known text (record
2112) or GeoTIFF keys (record 34735); pyproj understands the one, and the EPSG codes in the other.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pinvgcn.io.las.layout import Record

if TYPE_CHECKING:
    import pyproj

_WKT, _GEO_KEYS = ("LASF_Projection", 2112), ("LASF_Projection", 34735)
_MODEL_TYPE, _PROJECTED_SYSTEM, _LINEAR_UNIT = 1024, 3072, 3076
_GEOGRAPHIC = 2
_UNITS = {9001: 1.0, 9002: 0.3048, 9003: 1200 / 3937, 9036: 1000.0}  # EPSG codes of units


def metres_per_unit(records: Iterable[Record]) -> float | None:
    """None where the file does not say, or where its unit is an angle."""
    return system_and_unit(records)[1]


def system_and_unit(records: Iterable[Record]) -> tuple[str | None, float | None]:
    """The name of the system, None where there is none or it has no name; and ``metres_per_unit``."""
    found = {record.key: record.data for record in reversed(list(records))}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _WKT in found:
                return _of_text(found[_WKT].split(b"\0", 1)[0].decode("utf-8", "replace"))
            if _GEO_KEYS in found:
                return _of_keys(found[_GEO_KEYS])
    except Exception:  # an unknown coordinate system is no reason to refuse the points
        return None, None
    return None, None


def _of_text(text: str) -> tuple[str | None, float | None]:
    import pyproj

    if not text.strip():
        return None, None
    system = pyproj.CRS.from_wkt(text)
    return system.name, _of_system(system)


def _of_keys(data: bytes) -> tuple[str | None, float | None]:
    import pyproj

    whole = data[: len(data) // 8 * 8]
    # each key: its number, where its value is stored (0: here), how many values, the value
    keys = {key: value for key, place, _, value in struct.iter_unpack("<4H", whole[8:]) if place == 0}
    if keys.get(_MODEL_TYPE) == _GEOGRAPHIC:
        return None, None
    known = 1024 <= (code := keys.get(_PROJECTED_SYSTEM, 0)) < 32767
    name = f"EPSG:{code}" if known else None
    if keys.get(_LINEAR_UNIT) in _UNITS:
        return name, _UNITS[keys[_LINEAR_UNIT]]
    if known:
        system = pyproj.CRS.from_epsg(code)
        return system.name, _of_system(system)
    return None, None


def _of_system(system: pyproj.CRS) -> float | None:
    if system.is_bound and system.source_crs is not None:
        return _of_system(system.source_crs)
    if system.is_compound:  # horizontal first, then heights
        return _of_system(system.sub_crs_list[0])
    if not (system.is_projected or system.is_engineering) or not system.axis_info:
        return None
    return float(system.axis_info[0].unit_conversion_factor) or None
