"""``DATA binary_compressed``: all values of the first field, then all of the second, …, packed by LZF.

The format packs everything at once, so such a file is unpacked in memory; it can hold 4 GiB at most.
"""

from __future__ import annotations

import struct
from pathlib import Path

import lzf
import numpy as np

from pinvgcn.errors import ScanFileError

_SIZES = struct.Struct("<II")
_LARGEST = 2**32 - 1
_EXPANSION = 88  # three bytes of LZF stand for 264 at most


def unpack(path: Path, offset: int, expected: int) -> np.ndarray:
    """The bytes that start at ``offset`` in the file, unpacked."""
    with path.open("rb") as file:
        file.seek(offset)
        head = file.read(_SIZES.size)
        if len(head) < _SIZES.size:
            raise ScanFileError(f"{path} is truncated: it ends before its points.")
        packed, unpacked = _SIZES.unpack(head)
        if unpacked != expected:
            raise ScanFileError(
                f"{path} is damaged: its header promises points of {expected:,} bytes. "
                f"Got {unpacked:,} instead."
            )
        if offset + _SIZES.size + packed > path.stat().st_size or unpacked > packed * _EXPANSION:
            raise ScanFileError(
                f"{path} is truncated: {packed:,} packed bytes must hold its points. Got fewer."
            )
        content = file.read(packed)
    result = lzf.decompress(content, unpacked)
    if result is None or len(result) != unpacked:
        raise ScanFileError(f"{path} is damaged: its points do not unpack.")
    return np.frombuffer(result, np.uint8)


def pack(content: bytes) -> bytes:
    """The sizes and the packed bytes."""
    if len(content) > _LARGEST:
        raise ScanFileError(
            f"Packed PCD files hold {_LARGEST:,} bytes at most. Got {len(content):,}; use DATA binary."
        )
    packed = lzf.compress(content, len(content) * 33 // 32 + 64)  # room for what does not get smaller
    if packed is None:
        raise ScanFileError(f"{len(content):,} bytes could not be packed.")
    return _SIZES.pack(len(packed), len(content)) + packed
