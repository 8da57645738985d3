"""Arrays with a JSON description in one safetensors file: nothing in it can run code.

The description is the safetensors metadata entry ``pinvgcn``: ``{"kind": …, "format": …, …}``.
Complex arrays are stored as pairs of reals, because the format has no complex numbers everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ModelFileError, ParameterError
from pinvgcn.io.atomic import atomic_file

FORMAT = 1  # raised when the layout changes after a release; docs/file_format.md describes it
_COMPLEX = "complex:"


def save_tensors(
    path: str | Path,
    kind: str,
    description: dict[str, Any],
    arrays: dict[str, np.ndarray],
    *,
    by_node: Mapping[str, int] = MappingProxyType({}),
    group: Group = ALONE,
) -> None:
    """Write the file, whole or not at all.

    Of several ranks the first one writes; what goes wrong is raised on all. Arrays named in ``by_node`` have
    the nodes of each rank along that axis; the others are the same on all.
    """
    plain = {}
    for name, array in arrays.items():
        if name in by_node and not group.alone:
            array = _of_all(array, by_node[name], group)
        key, parts = (_COMPLEX + name, [array.real, array.imag]) if np.iscomplexobj(array) else (name, array)
        plain[key] = np.array(parts, order="C")  # as safetensors writes it
    with together(group):
        about = described(kind, description)
        if group.rank == 0:
            header = {"pinvgcn": about, "sha256": digest(about, plain)}
            with atomic_file(path, error=ModelFileError) as temporary:
                temporary.write_bytes(save(plain, metadata=header))  # save_file would hide it from others


def _of_all(array: np.ndarray, axis: int, group: Group) -> np.ndarray:
    """The rows of all ranks on the first one; none on the others."""
    rows = np.moveaxis(array, axis, 0)
    parts = group.swap([rows, *[rows[:0]] * (group.size - 1)])
    return np.moveaxis(np.concatenate(parts), 0, axis)


def described(kind: str, description: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, "format": FORMAT, **description})


def digest(about: str, arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of the description and of every array: its name, dtype, shape and bytes, in order of names."""
    found = hashlib.sha256(about.encode())
    for name, array in sorted(arrays.items()):
        found.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


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
        words, known = letters.split(), dict(self.known)
        sizes = zip(words, array.shape, strict=False)
        wanted = [int(word) if word.isdecimal() else known.setdefault(word, size) for word, size in sizes]
        if array.ndim != len(words) or tuple(wanted) != array.shape:
            shown = ", ".join(str(self.known.get(word, word)) for word in words)
            raise ModelFileError(
                f"its array {name!r} must have the shape ({shown}{',' if len(words) == 1 else ''}). "
                f"Got {array.shape} instead; save the model again."
            )
        self.known = known
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
