"""The aerial scan."""

from __future__ import annotations

import laspy
import numpy as np
import pytest

from pinvgcn.datasets import load_dataset
from pinvgcn.datasets.lidar import FEATURES, INFO
from pinvgcn.datasets.locate import find
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
    path = find(INFO.files[0])
    assert path is not None
    scan = laspy.read(path)
    np.testing.assert_allclose(data.X, np.column_stack([scan.x, scan.y, scan.z]), rtol=0, atol=1e-9)
    for column, name in zip(data.features.T, FEATURES, strict=True):
        np.testing.assert_array_equal(column, np.asarray(scan[name]))
    codes = np.unique(scan.classification, return_inverse=True)[1]
    np.testing.assert_array_equal(data.y, codes)


def test_it_cannot_be_downloaded(bare):
    with pytest.raises(
        DatasetError, match=r"french_lidar_thinned\.laz was not found and has no public address"
    ):
        load_dataset("lidar")
