"""Arrays with a JSON description in one safetensors file: nothing in it can run code.

The description is the safetensors metadata entry ``pinvgcn``: ``{"kind": …, "format": …, …}``.
Complex arrays are stored as pairs of reals, because the format has no complex numbers everywhere.

The file is the length of its header, the header, and the arrays one after the other, each row by row. So the
rows of a process have their places in it: several processes write one file, each its own rows, in the layout
that a single one writes, and none holds the rows of all.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ModelFileError, ParameterError
from pinvgcn.io.atomic import atomic_file, write_errors

FORMAT = 1  # raised when the layout changes after a release; docs/file_format.md describes it
_COMPLEX = "complex:"
PIECE = 2**24  # bytes that are read at a time


def save_tensors(
    path: str | Path, kind: str, description: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write the file, whole or not at all."""
    about, plain = described(kind, description), plain_arrays(arrays)
    header = {"pinvgcn": about, "sha256": digest(about, plain)}
    with atomic_file(path, error=ModelFileError) as temporary:
        temporary.write_bytes(save(plain, metadata=header))  # save_file would hide it from other users


def described(kind: str, description: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, "format": FORMAT, **description})


def plain_arrays(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Real arrays that lie in memory as safetensors writes them."""
    plain = {}
    for name, array in arrays.items():
        key, parts = (_COMPLEX + name, [array.real, array.imag]) if np.iscomplexobj(array) else (name, array)
        plain[key] = np.array(parts, order="C")
    return plain


def digest(about: str, arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of the description and of every array: its name, dtype, shape and bytes, in order of names."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return hashed(about, {name: (a.dtype.str, a.shape, [bytes_of(a)]) for name, a in plain.items()})


def hashed(about: str, contents: Mapping[str, tuple[str, tuple[int, ...], Iterable[Any]]]) -> str:
    """The same, of arrays that are known by dtype, shape, and their bytes in pieces."""
    found = hashlib.sha256(about.encode())
    for name in sorted(contents):
        dtype, shape, pieces = contents[name]
        found.update(f"\n{name} {dtype} {shape}\n".encode())
        for piece in pieces:
            found.update(piece)
    return found.hexdigest()


def bytes_of(array: np.ndarray) -> memoryview:
    """Of an array in the order of C."""
    return array.reshape(-1).view(np.uint8).data


class Place(NamedTuple):
    """Where an array is in a file."""

    begin: int  # from the beginning of the arrays
    dtype: str  # as numpy writes it
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
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


def load_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file that ``save_tensors`` wrote; the description and the arrays."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f"{path} is not a readable safetensors file ({error}). It may be truncated: save it again."
        ) from None
    try:
        description = dict(json.loads(header["pinvgcn"]))
        version = int(description["format"])
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(f"{path} was not written by pinvgcn: its description is missing.") from None
    if description.get("kind") != kind:
        raise ModelFileError(f"{path} must hold a {kind}. Got a {description.get('kind')!r} instead.")
    if version != FORMAT:
        raise ModelFileError(
            f"{path} has format {version}; this version of pinvgcn reads format {FORMAT}. "
            "Upgrade pinvgcn, or fit the model again and save it."
        )
    if digest(header["pinvgcn"], arrays) != header.get("sha256"):
        raise ModelFileError(f"{path} is damaged: its content does not have the hash that it names.")
    for name in [name for name in arrays if name.startswith(_COMPLEX)]:
        pair = arrays.pop(name)
        whole = np.empty(pair.shape[1:], dtype=np.result_type(pair, np.complex64))
        whole.real, whole.imag = pair  # a sum would lose the sign of zeros
        arrays[name.removeprefix(_COMPLEX)] = whole
    return description, arrays


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Mistakes in what a file says become errors that name the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be used: {error}") from None
    except (AttributeError, KeyError, IndexError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged: {error!r}. Save it again.") from None


class Shapes:
    """Sizes by name. ``Shapes(n=5)("basis", array, "n k")`` wants (5, k), and fixes k for all that follow."""

    def __init__(self, **known: int) -> None:
        self.known = known

    def __call__(self, name: str, array: np.ndarray, letters: str) -> np.ndarray:
        """The array, if its shape is that of the letters, which are names or numbers."""
        wanted = [int(word) if word.isdecimal() else self.known.get(word, word) for word in letters.split()]
        fits = array.ndim == len(wanted) and all(
            isinstance(size, str) or size == there for size, there in zip(wanted, array.shape, strict=True)
        )
        if not fits:
            shown = ", ".join(str(size) for size in wanted)
            raise ModelFileError(
                f"its array {name!r} must have the shape ({shown}{',' if len(wanted) == 1 else ''}). "
                f"Got {array.shape} instead; save the model again."
            )
        for word, size in zip(letters.split(), array.shape, strict=True):
            if not word.isdecimal() and self.known.setdefault(word, size) != size:  # n × n, both new
                raise ModelFileError(
                    f"its array {name!r} must be as wide as it is high. Got {array.shape} instead; save the "
                    "model again."
                )
        return array


def plain(name: str, value: Any) -> Any:
    """A parameter in the types that JSON keeps; numpy's numbers and arrays become Python's."""
    try:
        return json.loads(json.dumps(value, default=lambda array: array.tolist()))
    except (AttributeError, TypeError):
        raise ParameterError(
            f"A saved model keeps plain numbers and text only. Got {name}={value!r}; "
            f"call set_params({name}=...) with such a value before save."
        ) from None
