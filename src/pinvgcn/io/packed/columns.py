"""The scalars that make up a row, in the order of their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pinvgcn.errors import DataError

LONGEST_ROW = 1 << 16  # bytes; a longer one is a damaged header


@dataclass(frozen=True)
class Scalar:
    """A scalar: its name, its type with the byte order of the file, whether it only fills space."""

    name: str
    dtype: np.dtype
    padding: bool = False


def row_type(columns: Sequence[Scalar]) -> np.dtype:
    """A row as numpy's structured type. Its fields are numbered: names in files may repeat."""
    return np.dtype([(f"c{number}", column.dtype) for number, column in enumerate(columns)])


def narrowed(name: str, dtype: np.dtype, widths: dict[str, tuple[int, ...]], format: str) -> np.dtype:
    """The type in which a format holds a new column, given the widths that it has of each kind.

    64-bit whole numbers become 32-bit ones where there are no others; values that do not fit are refused
    when they come.
    """
    if dtype.kind == "b":
        return np.dtype(np.uint8)
    if dtype.kind not in widths:
        raise DataError(f"{format} holds numbers only: column {name!r} must not be of dtype {dtype}.")
    if not name or name.split() != [name]:
        raise DataError(f"A column of {format} must have a name without spaces. Got {name!r} instead.")
    fitting = [width for width in widths[dtype.kind] if width >= dtype.itemsize]
    return np.dtype(f"{dtype.kind}{min(fitting, default=max(widths[dtype.kind]))}")
