"""Opening a scan, whatever its format: the first bytes decide, not the name."""

from __future__ import annotations

import codecs
from pathlib import Path

from pinvgcn.errors import ScanFileError
from pinvgcn.io.bounds import BoundedSource, Bounds
from pinvgcn.io.e57 import MAGIC, E57Source
from pinvgcn.io.failures import reading
from pinvgcn.io.las import LasSource
from pinvgcn.io.las.part import LasPart
from pinvgcn.io.pcd import PcdSource, looks_like_pcd
from pinvgcn.io.ply import PlySource
from pinvgcn.io.scan import ScanSource
from pinvgcn.io.text.file import GZIP, TextFile
from pinvgcn.io.text_scan import TextSource
from pinvgcn.io.virtual import is_virtual

_HEAD = 4096  # bytes that are looked at
_FOREIGN = {
    b"PAR1": "a Parquet table",
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "a picture",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF document",
}
_KNOWN = "LAS, LAZ, E57, PLY, PCD and text (XYZ, CSV, TSV) are read"


def open_scan(path: str | Path, *, bounds: Bounds | None = None, inside: int | None = None) -> ScanSource:
    """Open a LAS, LAZ, E57, PLY, PCD or text scan; see `pinvgcn.io.scan.ScanSource` for what comes back.

    With ``bounds`` it is the part of the scan inside them: of a cloud-optimised LAZ file (COPC) by its index,
    of others by reading all. ``inside`` is the number of points there, where it is known from before.

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
        if bounds is None:
            return _open(path, head)
        if head.startswith(b"LASF"):
            return LasPart(path, bounds, inside)
        return BoundedSource(_open(path, head), bounds, inside)


def _open(path: Path, head: bytes) -> ScanSource:
    if head.startswith(b"LASF"):
        return LasSource(path)
    if head.split(maxsplit=1)[:1] == [b"ply"] and head.startswith(b"ply"):
        return PlySource(path)
    if head.startswith(MAGIC):
        return E57Source(path)
    if looks_like_pcd(head):
        return PcdSource(path)
    if head.startswith(GZIP):
        head = TextFile(path, ScanFileError, compressed=True).head(_HEAD)
    for magic, what in (*_FOREIGN.items(), (b"LASF", "a packed LAS file"), (b"ply", "a packed PLY file")):
        if head.startswith(magic):
            remedy = "unpack it first" if magic in (b"LASF", b"ply", b"PK\x03\x04") else "convert it first"
            raise ScanFileError(f"{path} is {what}. {_KNOWN}; {remedy}.")
    if b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ScanFileError(f"{path} is of no known format: {_KNOWN}.")
    return TextSource(path)
