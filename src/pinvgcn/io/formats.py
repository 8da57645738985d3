"""Opening a scan, whatever its format: the first bytes decide, not the name."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from pinvgcn.errors import ScanFileError
from pinvgcn.io.failures import reading
from pinvgcn.io.pcd.header import looks_like_pcd
from pinvgcn.io.scan import ScanSource
from pinvgcn.io.virtual import is_virtual

_HEAD = 4096  # bytes that are looked at
_FOREIGN = {
    b"ASTM-E57": "an E57 scan",
    b"PAR1": "a Parquet table",
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "a picture",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF document",
}
_KNOWN = "LAS, LAZ, PLY, PCD and text (XYZ, CSV, TSV) are read"


def open_scan(path: str | Path) -> ScanSource:
    """Open a LAS, LAZ, PLY, PCD or text scan; see `pinvgcn.io.scan.ScanSource` for what comes back.

    Raises `ScanFileError` where the file is missing, damaged, empty, or of another kind.
    """
    path = Path(path)
    if path.is_dir():
        raise ScanFileError(f"A scan must be a file. Got {path}, which is a folder.")
    if not path.exists():
        raise ScanFileError(f"There is no file {path}.")
    if not path.is_file():  # a pipe could be read only once
        raise ScanFileError(f"A scan must be a file. Got {path}, which is a device or a pipe.")
    if is_virtual(path):
        raise ScanFileError(
            f"{path} is a virtual point cloud, a list of scans, where one scan is needed. Name one of them."
        )
    with reading(path):
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head:
            raise ScanFileError(f"{path} is empty.")
        return _open(path, head)


def _open(path: Path, head: bytes) -> ScanSource:
    if head.startswith(b"LASF"):
        from pinvgcn.io.las import LasSource

        return LasSource(path)
    if head.split(maxsplit=1)[:1] == [b"ply"] and head.startswith(b"ply"):
        from pinvgcn.io.ply import PlySource

        return PlySource(path)
    if looks_like_pcd(head):
        from pinvgcn.io.pcd import PcdSource

        return PcdSource(path)
    packed = head.startswith(b"\x1f\x8b")
    if packed:
        head = _unpacked(path)
    for magic, what in (*_FOREIGN.items(), (b"LASF", "a packed LAS file"), (b"ply", "a packed PLY file")):
        if head.startswith(magic):
            remedy = "unpack it first" if magic in (b"LASF", b"ply", b"PK\x03\x04") else "convert it first"
            raise ScanFileError(f"{path} is {what}. {_KNOWN}; {remedy}.")
    if b"\0" in head:
        raise ScanFileError(f"{path} is of no known format: {_KNOWN}.")
    from pinvgcn.io.text import TextSource

    return TextSource(path, packed=packed)


def _unpacked(path: Path) -> bytes:
    """The beginning of what a gzip file holds."""
    try:
        with gzip.open(path) as file:
            return file.read(_HEAD)
    except (EOFError, OSError, zlib.error) as error:
        raise ScanFileError(f"{path} is a damaged gzip file ({error}).") from None
