"""Virtual point clouds (.vpc): a list of scans, as PDAL wrench and QGIS write it.

It is a GeoJSON FeatureCollection of STAC items. The scan of an item is its asset ``data``, else the first one
that it has; its ``href`` is a path, relative to the list or absolute, or a file: URL.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pinvgcn.errors import ScanFileError

ENDING = ".vpc"
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|/vsi")  # C: is a disk


def is_virtual(path: Path) -> bool:
    """Whether a name is that of a list of scans."""
    return path.suffix.lower() == ENDING


def listed(path: Path) -> list[Path]:
    """The scans of a virtual point cloud in its order, all of which are there."""
    found: dict[Path, Path] = {}
    for number, feature in enumerate(_features(path), start=1):
        scan = _scan(path, number, feature)
        place = scan.resolve()
        if place in found:
            raise ScanFileError(f"{path} must list each scan once. Got {scan} twice.")
        found[place] = scan
    return list(found.values())


def _features(path: Path) -> list[Any]:
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
    return features


def _scan(path: Path, number: int, feature: Any) -> Path:
    assets = feature.get("assets") if isinstance(feature, dict) else None
    asset = None
    if isinstance(assets, dict) and assets:
        asset = assets.get("data", next(iter(assets.values())))
    href = asset.get("href") if isinstance(asset, dict) else None
    if not isinstance(href, str) or not href or "\0" in href:
        raise ScanFileError(
            f"{path}, feature {number}: it must have a scan as its asset 'data', with a path as 'href'. "
            "Got none."
        )
    scan = _path(path, number, href)
    if is_virtual(scan):
        raise ScanFileError(
            f"{path}, feature {number}: it must be a scan. Got {href}, a virtual point cloud itself; list "
            "its scans."
        )
    if not scan.is_file():
        raise ScanFileError(f"{path}, feature {number}: there is no file {scan}.")
    return scan


def _path(path: Path, number: int, href: str) -> Path:
    if href.lower().startswith("file:"):
        url = urlsplit(href)
        if url.netloc in ("", "localhost"):
            return path.parent / unquote(url.path)
    if _REMOTE.match(href):
        raise ScanFileError(
            f"{path}, feature {number}: scans must be on this machine. Got {href}; download it, and list the "
            "copy."
        )
    plain = path.parent / href
    decoded = path.parent / unquote(href)  # an href may be a URL, in which a space is %20
    return decoded if not plain.exists() and decoded.exists() else plain
