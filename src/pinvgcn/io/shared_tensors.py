"""One file that several processes write, each its own rows, in the layout that a single one writes.

A safetensors file is the length of its header, the header, and the arrays one after the other, each row by
row. So the rows of a process have their places in it, and no process holds the rows of all.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ModelFileError
from pinvgcn.io.atomic import atomic_file, write_errors
from pinvgcn.io.tensors import bytes_of, described, hashed, plain_arrays

PIECE = 2**24  # bytes that are read at a time


class Place(NamedTuple):
    """Where an array is in a file."""

    begin: int  # from the beginning of the arrays
    dtype: str  # as numpy writes it
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


def save_together(
    path: str | Path,
    kind: str,
    description: dict[str, Any],
    arrays: dict[str, np.ndarray],
    *,
    by_node: Mapping[str, int],
    group: Group,
) -> None:
    """Write the file, whole or not at all, on a disk that all ranks reach.

    Arrays named in ``by_node`` have the nodes of this rank along that axis; the others are the same on all,
    and the first rank writes them. What goes wrong on one rank is raised on all.
    """
    path = Path(path)
    plain = plain_arrays(arrays)
    places, rows = {}, {}
    for name, array in plain.items():
        shape = list(array.shape)
        if name in by_node:
            rows[name], shape[by_node[name]] = group.offset(shape[by_node[name]])
        places[name] = Place(0, array.dtype.str, tuple(shape))
    about = described(kind, description)
    places, header = _laid_out(places, about, "0" * 64)
    refused = partial(write_errors, path, error=ModelFileError)
    with ExitStack() as whole:
        begun: str | None = None
        with together(group), refused():
            if group.rank == 0:
                begun = whole.enter_context(atomic_file(path, error=ModelFileError)).name
                end = max((place.begin + place.size for place in places.values()), default=0)
                with open(path.with_name(begun), "wb") as file:
                    file.truncate(len(header) + end)
        told, start = group.values([begun, len(header)])[0]
        temporary = path.with_name(told)
        with together(group), refused(), open(temporary, "r+b") as file:
            for name, array in plain.items():
                if name in by_node:
                    _write_rows(file, array, by_node[name], places[name], start, rows[name])
                elif group.rank == 0:
                    file.seek(start + places[name].begin)
                    file.write(bytes_of(array))
            file.flush()
            os.fsync(file.fileno())  # before another machine reads it
        with together(group), refused():
            if group.rank == 0:
                found = _hash(temporary, about, places, start)
                with open(temporary, "r+b") as file:
                    file.write(_laid_out(places, about, found)[1])
                whole.close()


def _laid_out(places: dict[str, Place], about: str, sha256: str) -> tuple[dict[str, Place], bytes]:
    """The arrays in the order in which the library writes them, and all that is before them in the file."""
    empty = {name: np.empty(0, dtype=place.dtype) for name, place in places.items()}
    written = save(empty)
    order = json.loads(written[8 : 8 + struct.unpack("<Q", written[:8])[0]])
    found, listed, begin = {}, {}, 0
    for name, entry in order.items():
        place = found[name] = places[name]._replace(begin=begin)
        begin += place.size
        offsets = [place.begin, begin]
        listed[name] = {"dtype": entry["dtype"], "shape": list(place.shape), "data_offsets": offsets}
    text = json.dumps(
        {"__metadata__": {"pinvgcn": about, "sha256": sha256}, **listed},
        separators=(",", ":"),
        ensure_ascii=False,
    ).encode()
    text += b" " * (-len(text) % 8)
    return found, struct.pack("<Q", len(text)) + text


def _write_rows(file: Any, array: np.ndarray, axis: int, place: Place, start: int, row: int) -> None:
    """An array that has rows from number ``row`` on: one block for each entry of the axes before."""
    blocks = array.reshape(int(np.prod(array.shape[:axis], dtype=np.int64)), *array.shape[axis:])
    total = place.shape[axis]
    bytes_of_row = array.dtype.itemsize * int(np.prod(array.shape[axis + 1 :], dtype=np.int64))
    for number, block in enumerate(blocks):
        file.seek(start + place.begin + (number * total + row) * bytes_of_row)
        file.write(bytes_of(block))


def _hash(path: Path, about: str, places: dict[str, Place], start: int) -> str:
    """That of ``digest``, of what is in the file."""
    with open(path, "rb") as file:

        def pieces(place: Place) -> Iterator[bytes]:
            file.seek(start + place.begin)
            for begin in range(0, place.size, PIECE):
                yield file.read(min(PIECE, place.size - begin))

        contents = {name: (p.dtype, p.shape, pieces(p)) for name, p in places.items()}
        return hashed(about, contents)
