"""Opening a scan, whatever its format: the first bytes decide, not the name; and lists of scans.

A virtual point cloud (.vpc) is a list of scans, as PDAL wrench and QGIS write it: a GeoJSON FeatureCollection
of STAC items. The scan of an item is its asset ``data``, else the first one that it has; its ``href`` is a
path, relative to the list or absolute, or a file: URL.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pinvgcn.errors import ScanFileError
from pinvgcn.io.atomic import reading
from pinvgcn.io.bounds import BoundedSource, Bounds, LasPart
from pinvgcn.io.e57 import MAGIC, E57Source
from pinvgcn.io.las import LasSource
from pinvgcn.io.pcd import PcdSource, looks_like_pcd
from pinvgcn.io.ply import PlySource
from pinvgcn.io.scan import ScanSource
from pinvgcn.io.text import GZIP, TextFile, foreign
from pinvgcn.io.text_scan import TextSource

_HEAD = 4096  # bytes that are looked at
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|/vsi")  # C: is a disk
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


# another format: how its files begin, and its source
SOURCES: tuple[tuple[Callable[[bytes], bool], type[ScanSource]], ...] = (
    (lambda head: head.startswith(b"LASF"), LasSource),
    (lambda head: head.startswith(b"ply") and head.split(maxsplit=1)[0] == b"ply", PlySource),
    (lambda head: head.startswith(MAGIC), E57Source),
    (looks_like_pcd, PcdSource),
)


def _open(path: Path, head: bytes) -> ScanSource:
    for fits, source in SOURCES:
        if fits(head):
            return source(path)
    if packed := head.startswith(GZIP):
        head = TextFile(path, ScanFileError, compressed=True).head(_HEAD)
    what = "a PLY scan" if head.startswith(b"ply") else foreign(head)
    if what is not None:
        raise ScanFileError(
            f"{path} is {what}{', packed' * packed}. {_KNOWN}; {'unpack' if packed else 'convert'} it first."
        )
    if b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ScanFileError(f"{path} is of no known format: {_KNOWN}.")
    return TextSource(path)


def is_virtual(path: Path) -> bool:
    """Whether a name is that of a list of scans."""
    return path.suffix.lower() == ".vpc"


def listed(path: Path) -> list[Path]:
    """The scans of a virtual point cloud in its order, all of which are there."""
    if not path.is_file():
        raise ScanFileError(f"There is no file {path}.")
    try:
        said = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScanFileError(f"{path} could not be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ScanFileError(f"{path} must be a virtual point cloud, a JSON file ({reason}).") from None
    features = said.get("features") if isinstance(said, dict) else None
    if not isinstance(features, list) or said.get("type") != "FeatureCollection":
        raise ScanFileError(
            f"{path} must be a virtual point cloud: a GeoJSON FeatureCollection whose features have a scan "
            "each. Got other JSON; write it with `pdal_wrench build_vpc`."
        )
    if not features:
        raise ScanFileError(f"{path} must list scans. Got none.")
    found: dict[Path, Path] = {}
    for number, feature in enumerate(features, start=1):
        try:
            scan = _scan(path.parent, feature)
        except (ScanFileError, ValueError) as error:  # of no URL, too
            raise ScanFileError(f"{path}, feature {number}: {error}") from None
        if (place := scan.resolve()) in found:
            raise ScanFileError(f"{path} must list each scan once. Got {scan} twice.")
        found[place] = scan
    return list(found.values())


def _scan(folder: Path, feature: Any) -> Path:
    """The scan of a feature; an error says what is wrong with it."""
    assets = feature.get("assets") if isinstance(feature, dict) else None
    asset = assets.get("data", next(iter(assets.values()), None)) if isinstance(assets, dict) else None
    href = asset.get("href") if isinstance(asset, dict) else None
    if not isinstance(href, str) or not href or "\0" in href:
        raise ScanFileError("it must have a scan as its asset 'data', with a path as 'href'. Got none.")
    url = urlsplit(href)
    if url.scheme == "file" and url.netloc in ("", "localhost"):
        scan = folder / unquote(url.path)
    elif url.scheme == "file" or _REMOTE.match(href):
        raise ScanFileError(f"scans must be on this machine. Got {href}; download it, and list the copy.")
    else:
        scan = folder / href
        decoded = folder / unquote(href)  # an href may be a URL, in which a space is %20
        scan = decoded if not scan.exists() and decoded.exists() else scan
    if is_virtual(scan):
        raise ScanFileError(f"it must be a scan. Got {href}, a virtual point cloud itself; list its scans.")
    if not scan.is_file():
        raise ScanFileError(f"there is no file {scan}.")
    return scan
