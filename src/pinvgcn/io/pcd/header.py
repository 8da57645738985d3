"""The header of a PCD file: lines ``KEY values`` up to ``DATA``.

Fields called ``_`` fill space. A field with a COUNT above 1 is that many scalars, called ``name[0]``,
``name[1]`` and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.io.packed.columns import LONGEST_ROW, Scalar

ENCODINGS = ("ascii", "binary", "binary_compressed")
_KEYS = ("VERSION", "FIELDS", "SIZE", "TYPE", "COUNT", "WIDTH", "HEIGHT", "VIEWPOINT", "POINTS", "DATA")
_KINDS = {"F": ("f", (4, 8)), "I": ("i", (1, 2, 4, 8)), "U": ("u", (1, 2, 4, 8))}
_LONGEST = 1 << 20  # bytes


@dataclass(frozen=True)
class PcdField:
    """A line of the table that FIELDS, SIZE, TYPE and COUNT make together."""

    name: str
    dtype: np.dtype
    count: int = 1

    @property
    def columns(self) -> list[Scalar]:
        if self.name == "_":
            return [Scalar("_", np.dtype(f"V{self.dtype.itemsize * self.count}"), padding=True)]
        if self.count == 1:
            return [Scalar(self.name, self.dtype)]
        return [Scalar(f"{self.name}[{number}]", self.dtype) for number in range(self.count)]


@dataclass(frozen=True)
class PcdHeader:
    """``lines`` as they are in the file, with their ends."""

    lines: tuple[bytes, ...]
    fields: tuple[PcdField, ...]
    count: int
    encoding: str

    @property
    def size(self) -> int:
        return sum(map(len, self.lines))


def looks_like_pcd(head: bytes) -> bool:
    """Whether a file that starts so is PCD: its first line that is no comment begins with a known key."""
    lines = head.split(b"\n")
    if lines[0].startswith(b"# .PCD"):
        return True
    words = next((line.split() for line in lines if line.strip() and not line.startswith(b"#")), [])
    return bool(words) and words[0] in (b"VERSION", b"FIELDS")


def read_header(path: Path) -> PcdHeader:
    """Read up to ``DATA``."""
    with path.open("rb") as file:
        start = file.read(_LONGEST)
    lines: list[bytes] = []
    found: dict[str, list[str]] = {}
    for line in start.splitlines(keepends=True):
        lines.append(line)
        words = line.decode("latin-1").split()
        if not words or words[0].startswith("#"):
            continue
        key = "FIELDS" if words[0] == "COLUMNS" else words[0]
        if key not in _KEYS:
            shown = line.strip()[:60].decode("latin-1")
            raise ScanFileError(
                f"{path}, line {len(lines)}: must be a line of a PCD header. Got {shown!r} instead."
            )
        found[key] = words[1:]
        if key == "DATA" and line.endswith(b"\n"):
            return _header(path, lines, found)
    raise ScanFileError(f"{path} is truncated or damaged: its PCD header does not end.")


def _header(path: Path, lines: list[bytes], found: dict[str, list[str]]) -> PcdHeader:
    missing = [key for key in ("FIELDS", "SIZE", "TYPE", "DATA") if not found.get(key)]
    if missing or not (found.get("POINTS") or (found.get("WIDTH") and found.get("HEIGHT"))):
        raise ScanFileError(
            f"{path} is damaged: its header must have {(missing or ['POINTS'])[0]}. Got none."
        )
    names = found["FIELDS"]
    counts = found.get("COUNT") or ["1"] * len(names)
    if not len(names) == len(found["SIZE"]) == len(found["TYPE"]) == len(counts):
        raise ScanFileError(
            f"{path} is damaged: FIELDS, SIZE, TYPE and COUNT must be equally long. Got {len(names)}, "
            f"{len(found['SIZE'])}, {len(found['TYPE'])} and {len(counts)} instead."
        )
    fields = tuple(
        PcdField(name, _type(path, kind, size), _number(path, "COUNT", count))
        for name, size, kind, count in zip(names, found["SIZE"], found["TYPE"], counts, strict=True)
    )
    if any(f.count == 0 for f in fields) or sum(f.dtype.itemsize * f.count for f in fields) > LONGEST_ROW:
        raise ScanFileError(
            f"{path} is damaged: COUNT must be 1 or a few. Got {' '.join(counts)[:60]} instead."
        )
    if found.get("POINTS"):
        count = _number(path, "POINTS", found["POINTS"][0])
    else:
        count = _number(path, "WIDTH", found["WIDTH"][0]) * _number(path, "HEIGHT", found["HEIGHT"][0])
    (encoding, *_) = found["DATA"]
    if encoding not in ENCODINGS:
        raise ScanFileError(
            f"{path}: DATA must be one of {', '.join(ENCODINGS)}. Got {encoding[:60]!r} instead."
        )
    return PcdHeader(tuple(lines), fields, count, encoding)


def _type(path: Path, kind: str, size: str) -> np.dtype:
    letter, sizes = _KINDS.get(kind, ("", ()))
    if not size.isdecimal() or len(size) > 2 or int(size) not in sizes:
        raise ScanFileError(f"{path} is damaged: no type of PCD is {kind[:20]!r} of size {size[:20]!r}.")
    return np.dtype(f"<{letter}{int(size)}")


def _number(path: Path, key: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ScanFileError(f"{path} is damaged: {key} must be a number. Got {text[:60]!r} instead.")
    return int(text)
