"""The aerial scans: the thinned landscape, and the two tiles of the package."""

from __future__ import annotations

import laspy
import numpy as np
import pytest

from pinvgcn.datasets import load_dataset
from pinvgcn.datasets.locate import find
from pinvgcn.datasets.scans import COLUMNS, IGN1, IGN2, LIDAR
from pinvgcn.errors import DatasetError


def test_the_scan_has_the_known_statistics(data_set):
    data = data_set("lidar")
    assert data.X.shape == (37_805, 3)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    assert np.ptp(data.X, axis=0).round().tolist() == [1000, 757, 254]
    assert dict(zip(data.target_names, np.bincount(data.y).tolist(), strict=True)) == {
        "unclassified": 355, "ground": 22_859, "low vegetation": 929, "medium vegetation": 1_816,
        "high vegetation": 9_974, "bridge deck": 1_333, "user class 65": 539,
    }  # fmt: skip


def test_points_classes_and_columns_are_those_that_laspy_reads(data_set):
    data = data_set("lidar")
    path = find(LIDAR.files[0])
    assert path is not None
    scan = laspy.read(path)
    np.testing.assert_allclose(data.X, np.column_stack([scan.x, scan.y, scan.z]), rtol=0, atol=1e-9)
    for column, name in zip(data.features.T, COLUMNS["lidar"], strict=True):
        np.testing.assert_array_equal(column, np.asarray(scan[name]))
    codes = np.unique(scan.classification, return_inverse=True)[1]
    np.testing.assert_array_equal(data.y, codes)


def test_it_cannot_be_downloaded(bare):
    with pytest.raises(
        DatasetError, match=r"french_lidar_thinned\.laz was not found and has no public address"
    ):
        load_dataset("lidar")


@pytest.mark.parametrize(
    ("name", "points", "corner", "counts"),
    [
        ("ign1", 84_524, (770_500, 6_277_500), [21_172, 226, 1_227, 30_392, 29_447]),
        ("ign2", 72_770, (770_550, 6_277_500), [39_468, 682, 729, 5_152, 24_362]),
    ],
)
def test_the_tiles_of_the_package(bare, name, points, corner, counts):
    """They are there without any data folder; of what the survey left unclassified no class is known."""
    data = load_dataset(name)
    assert data.X.shape == (points, 3)
    assert data.target_names == (
        "ground", "low vegetation", "medium vegetation", "high vegetation", "building",
    )  # fmt: skip
    np.testing.assert_allclose(data.X[:, :2].min(axis=0), corner, atol=0.05)
    np.testing.assert_allclose(data.X[:, :2].max(axis=0), np.add(corner, 50), atol=0.05)
    assert np.bincount(data.y[data.y >= 0]).tolist() == counts
    assert (data.y == -1).sum() == points - sum(counts)
    assert data.features.shape == (points, 3)
    assert (np.ptp(data.features, axis=0) > 0).all()
    assert "IGN" in data.source
    assert "Licence Ouverte" in data.licence
    assert f"{points:,} rows × 3 columns; ground {counts[0]:,}," in repr(data)


def test_the_tiles_adjoin():
    west, east = (load_dataset(info.name).X for info in (IGN1, IGN2))
    assert abs(west[:, 0].max() - east[:, 0].min()) < 0.05
