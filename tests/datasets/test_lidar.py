"""The aerial scan against another reader, and against what is known of it."""

from __future__ import annotations

import laspy
import numpy as np

from pinvgcn.datasets.lidar import FEATURES, INFO
from pinvgcn.datasets.locate import find


def test_points_classes_and_columns_are_those_that_laspy_reads(data_set):
    data = data_set("lidar")
    path = find(INFO.files[0])
    assert path is not None
    scan = laspy.read(path)
    np.testing.assert_allclose(data.X, np.column_stack([scan.x, scan.y, scan.z]), rtol=0, atol=1e-9)
    for column, name in zip(data.features.T, FEATURES, strict=True):
        np.testing.assert_array_equal(column, np.asarray(scan[name]))
    codes = {1: "unclassified", 2: "ground", 3: "low vegetation", 4: "medium vegetation"}
    codes |= {5: "high vegetation", 17: "bridge deck", 65: "user class 65"}
    expected = [codes[number] for number in np.asarray(scan.classification)]
    assert np.array(data.target_names)[data.y].tolist() == expected


def test_its_classes_have_the_sizes_that_are_known(data_set):
    data = data_set("lidar")
    assert np.bincount(data.y).tolist() == [355, 22_859, 929, 1_816, 9_974, 1_333, 539]
