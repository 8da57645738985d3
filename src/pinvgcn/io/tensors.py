"""Arrays with a JSON description in one safetensors file: nothing in it can run code.

The description is the safetensors metadata entry ``pinvgcn``: ``{"kind": …, "format": …, …}``.
Complex arrays are stored as pairs of reals, because the format has no complex numbers everywhere.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from pinvgcn.errors import ModelFileError

FORMAT = 1  # raised whenever the layout changes; docs/file-format.md describes each
_COMPLEX = "complex:"


def save_tensors(
    path: str | Path, kind: str, description: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write the file, whole or not at all."""
    path = Path(path)
    header = {"pinvgcn": json.dumps({"kind": kind, "format": FORMAT, **description})}
    plain = {}
    for name, array in arrays.items():
        if np.iscomplexobj(array):
            plain[_COMPLEX + name] = np.stack([array.real, array.imag])
        else:
            plain[name] = np.ascontiguousarray(array)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(descriptor)
    try:
        save_file(plain, temporary, metadata=header)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_tensors(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file that ``save_tensors`` wrote; the description and the arrays."""
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} is not a readable safetensors file ({error}). It may be truncated: save it again."
        ) from None
    try:
        description = json.loads(header["pinvgcn"])
    except (KeyError, json.JSONDecodeError):
        raise ModelFileError(f"{path} was not written by pinvgcn: its description is missing.") from None
    if description.get("kind") != kind:
        raise ModelFileError(f"{path} must hold a {kind}. Got a {description.get('kind')!r} instead.")
    if description.get("format", 0) > FORMAT:
        raise ModelFileError(
            f"{path} has format {description['format']}, newer than {FORMAT}, the newest that this "
            "version of pinvgcn reads. Upgrade pinvgcn."
        )
    for name in [name for name in arrays if name.startswith(_COMPLEX)]:
        real, imaginary = arrays.pop(name)
        arrays[name.removeprefix(_COMPLEX)] = real + 1j * imaginary
    return description, arrays
