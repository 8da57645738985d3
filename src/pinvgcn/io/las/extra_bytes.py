"""Columns beyond the standard ones: how a LAS file says that its points end in extra bytes.

The record (LASF_Spec, 4) is a list of 192-byte descriptions, one for each extra dimension in the order
of its bytes. Bytes at the end of a point without a description are allowed; before new columns can be
described they must be too, as a block without a type.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pinvgcn.errors import DataError
from pinvgcn.io.las.layout import VLR_HEADER, Record

KEY = ("LASF_Spec", 4)
_DESCRIPTION = struct.Struct("<2xBB32s4x24x24x24x24x24x32s")  # 192 bytes: type, options, name, …, what it is
_TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")  # by number from 1 on
_LONGEST = 65535


def column_type(name: str, dtype: np.dtype) -> np.dtype:
    """The type in which LAS can hold the column."""
    if len(name.encode("utf-8")) > 32 or not name.strip():
        raise DataError(f"A field of LAS must have a name of 1 to 32 bytes. Got {name!r} instead.")
    if dtype.kind == "b":
        return np.dtype("u1")
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return np.dtype("<f4") if dtype.itemsize < 4 else np.dtype("<f8")
    if dtype.newbyteorder("=").str[1:] not in _TYPES:
        raise DataError(f"LAS holds numbers only: column {name!r} must not be of dtype {dtype}.")
    return dtype.newbyteorder("<")


@dataclass(frozen=True)
class Slot:
    """A run of extra bytes of each point: the source's (``start``, ``stop``), or a column's."""

    description: bytes
    start: int = 0
    stop: int = 0
    column: str | None = None

    @property
    def name(self) -> str:
        return _name(self.description)


def slots_of(vlrs: Iterable[Record], start: int, known: int, undescribed: int) -> list[Slot]:
    """The extra bytes of a file, which begin at byte ``start`` of each point, as its records name them.

    Readers look at the first record, which describes ``known`` dimensions. Some programs write one record
    for each dimension: the later ones then describe what readers call undescribed.
    """
    old = [record.data for record in vlrs if record.key == KEY]
    described = old[0][: known * _DESCRIPTION.size] if known else b""
    if undescribed:
        later = b"".join(old[1:])
        described += later if sum(_sizes(later)) == undescribed else _block(undescribed)
    slots = []
    for number, size in enumerate(_sizes(described)):
        at = number * _DESCRIPTION.size
        slots.append(Slot(described[at : at + _DESCRIPTION.size], start, start + size))
        start += size
    return slots


def with_columns(slots: list[Slot], columns: dict[str, np.dtype]) -> list[Slot]:
    """The slots with columns in the place of those that have their names, or at the end."""
    slots = list(slots)
    names = [slot.name for slot in slots]
    for name, dtype in columns.items():
        number = _TYPES.index(dtype.str[1:]) + 1
        new = Slot(_DESCRIPTION.pack(number, 0, name.encode("utf-8"), b"written by pinvgcn"), column=name)
        if name in names:
            slots[names.index(name)] = new
        else:
            slots.append(new)
    return slots


def with_descriptions(vlrs: Iterable[Record], slots: list[Slot]) -> list[Record]:
    """The VLRs with one record of all slots in the place of those that described the old ones."""
    vlrs = list(vlrs)
    data = b"".join(slot.description for slot in slots)
    if len(data) > _LONGEST:
        raise DataError("The file has as many extra dimensions as LAS can describe; none can be added.")
    old = [record for record in vlrs if record.key == KEY]
    head = old[0].head if old else VLR_HEADER.pack(b"", b"LASF_Spec", 4, 0, b"extra dimensions")
    reserved, user, key, _, text = VLR_HEADER.unpack(head)
    record = Record(*KEY, VLR_HEADER.pack(reserved, user, key, len(data), text), data)
    place = vlrs.index(old[0]) if old else len(vlrs)
    return [*vlrs[:place], record, *(other for other in vlrs[place:] if other.key != KEY)]


def _name(description: bytes) -> str:
    return description[4:36].split(b"\0", 1)[0].decode("utf-8", "replace")


def _sizes(descriptions: bytes) -> list[int]:
    """How many bytes of a point each description stands for; none where one is not understood."""
    if len(descriptions) % _DESCRIPTION.size:
        return []
    sizes = []
    for number, options, _, _ in _DESCRIPTION.iter_unpack(descriptions):
        if number > 30:
            return []
        width, many = np.dtype(_TYPES[(number - 1) % 10]).itemsize, (number - 1) // 10 + 1
        sizes.append(width * many if number else options)
    return sizes


def _block(count: int) -> bytes:
    """Descriptions of ``count`` bytes without a type; one takes up to 255."""
    sizes = [255] * (count // 255) + ([count % 255] if count % 255 else [])
    names = [f"undescribed_{number}" if number else "undescribed" for number in range(len(sizes))]
    return b"".join(
        _DESCRIPTION.pack(0, size, name.encode(), b"") for size, name in zip(sizes, names, strict=True)
    )
