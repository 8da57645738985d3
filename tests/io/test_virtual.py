"""Virtual point clouds: lists of scans as PDAL wrench and QGIS write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinvgcn.errors import ScanFileError
from pinvgcn.io import open_scan
from pinvgcn.io.formats import listed
from pinvgcn.jobs.files import input_files, stands_for_several


def item(href: object, **assets: object) -> dict:
    """A STAC item as `pdal_wrench build_vpc` writes it, without its statistics."""
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "stac_extensions": ["https://stac-extensions.github.io/pointcloud/v1.0.0/schema.json"],
        "id": "tile",
        "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
        "bbox": [0, 0, 0, 1, 1, 1],
        "properties": {"datetime": "2024-01-01T00:00:00Z", "pc:count": 3, "pc:type": "lidar"},
        "links": [],
        "assets": {**assets, "data": {"href": href}},
    }


def write(path: Path, *features: object, **others: object) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features, **others}))
    return path


@pytest.fixture
def tiles(tmp_path) -> Path:
    for name in ("b.las", "a.las", "my tile.laz"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_scans_in_the_order_of_the_list(tiles):
    path = write(
        tiles / "town.vpc",
        item("./b.las", overview={"href": "./town-overview.copc.laz"}),
        item(str(tiles / "a.las")),
        item((tiles / "my tile.laz").as_uri()),
    )
    assert [scan.name for scan in listed(path)] == ["b.las", "a.las", "my tile.laz"]
    assert stands_for_several([path])
    # a list among others stands at the place of its own name
    (tiles / "a b.las").touch()
    assert [scan.name for scan in input_files([tiles / "a b.las", path])][:2] == ["a b.las", "b.las"]
    assert [scan.name for scan in input_files([tiles / "*.vpc"])] == ["b.las", "a.las", "my tile.laz"]


@pytest.mark.parametrize("href", ["my%20tile.laz", "my tile.laz", "file:my%20tile.laz", "../{}/my tile.laz"])
def test_ways_to_name_a_scan(href, tiles):
    path = write(tiles / "town.VPC", item(href.format(tiles.name)))
    (scan,) = listed(path)
    assert scan.samefile(tiles / "my tile.laz")


def test_the_first_asset_where_none_is_called_data(tiles):
    feature = {"type": "Feature", "assets": {"cloud": {"href": "a.las"}, "other": {"href": "b.las"}}}
    assert [scan.name for scan in listed(write(tiles / "town.vpc", feature))] == ["a.las"]


BAD = [
    (b"", "must be a virtual point cloud, a JSON file"),
    (b'{"type": "FeatureCollection", "features": [', "must be a virtual point cloud, a JSON file"),
    (b"\xff\xfe\x00\x01", "must be a virtual point cloud, a JSON file"),
    (b"[" * 100_000, "must be a virtual point cloud, a JSON file"),
    (b"[1, 2]", "a GeoJSON FeatureCollection"),
    (b'{"vpc": "1.0.0", "files": []}', "a GeoJSON FeatureCollection"),
    (b'{"type": "FeatureCollection", "features": {}}', "a GeoJSON FeatureCollection"),
    (b'{"type": "FeatureCollection", "features": []}', "must list scans. Got none"),
    (b'{"type": "FeatureCollection", "features": [7]}', "feature 1: it must have a scan"),
    (b'{"type": "FeatureCollection", "features": [{"assets": {}}]}', "feature 1: it must have a scan"),
    (b'{"type": "FeatureCollection", "features": [{"assets": {"data": "a.las"}}]}', "it must have a scan"),
    (item(3), "it must have a scan"),
    (item(""), "it must have a scan"),
    (item("a\0.las"), "it must have a scan"),
    (item("gone.las"), r"feature 1: there is no file .*gone\.las"),
    (item("."), "there is no file"),
    (item("https://example.org/a.las"), "on this machine. Got https://example.org/a.las; download it"),
    (item("s3://bucket/a.las"), "on this machine"),
    (item("file://server/share/a.las"), "on this machine"),
    (item("/vsicurl/https://example.org/a.las"), "on this machine"),
    (item("other.vpc"), "a virtual point cloud itself"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_what_is_refused(content, message, tiles):
    path = tiles / "town.vpc"
    (tiles / "other.vpc").write_text("{}")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        write(path, content)
    with pytest.raises(ScanFileError, match=message) as caught:
        listed(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_scans_that_are_listed_twice(tiles):
    path = write(tiles / "town.vpc", item("a.las"), item("b.las"), item(f"../{tiles.name}/a.las"))
    with pytest.raises(ScanFileError, match=r"each scan once. Got .*a\.las twice"):
        listed(path)


def test_where_one_scan_is_needed(tiles):
    with pytest.raises(ScanFileError, match="There is no file"):
        listed(tiles / "gone.vpc")
    with pytest.raises(ScanFileError, match="a list of scans, where one scan is needed"):
        open_scan(write(tiles / "town.vpc", item("a.las")))
