"""Rows that have lists in them differ in length: each must be walked to find the next."""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from pathlib import Path

from pinvgcn.errors import ScanFileError
from pinvgcn.io.ply.header import PlyElement


def packed_rows(whole: mmap, start: int, element: PlyElement, path: Path) -> Iterator[list[int]]:
    """For each row where its properties start, and where the last one ends."""
    orders = [
        (item.dtype.itemsize, None if item.length is None else item.length) for item in element.properties
    ]
    at, end = start, len(whole)
    for _ in range(element.count):
        places = [at]
        for width, length in orders:
            if length is None:
                at += width
            else:
                stop = at + length.itemsize
                if stop > end:
                    break
                order = "big" if length.byteorder == ">" else "little"
                count = int.from_bytes(whole[at:stop], order, signed=length.kind == "i")  # type: ignore[arg-type]
                at = stop + count * width if count >= 0 else end + 1
            places.append(at)
        if at > end or len(places) <= len(orders):
            raise ScanFileError(f"{path} is truncated or damaged: it ends within a row of {element.name!r}.")
        yield places


def text_places(words: list[bytes], element: PlyElement) -> list[int] | None:
    """Which word of a line each property starts with, and where the last one ends; None if none fits."""
    places = [0]
    for item in element.properties:
        at = places[-1]
        if item.length is None:
            places.append(at + 1)
        else:
            try:
                places.append(at + 1 + max(int(words[at]), 0))
            except (IndexError, ValueError):
                return None
    return places if places[-1] == len(words) else None
