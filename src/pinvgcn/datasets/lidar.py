"""A classified aerial scan of a French landscape, thinned: the scan of the LAS and LAZ tests.

It has no public address of its own, so it is found through ``PINVGCN_DATA`` or the cache only. All points
are given, those of class 1 (unclassified) too; who wants fewer classes leaves rows out.
"""

from __future__ import annotations

import numpy as np

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, find, read
from pinvgcn.errors import DatasetError
from pinvgcn.io import open_scan
from pinvgcn.io.asprs import class_name

INFO = DatasetInfo(
    name="lidar",
    description="Aerial laser scan in the classes of the ASPRS: 37,805 points in metres",
    source="test data of the laspy source package, french_lidar_thinned.laz",
    licence="BSD 2-Clause, as laspy",
    files=(
        DataFile(
            "lidar/french_lidar_thinned.laz",
            "15b8493da724b03f073f7b677981fd14177a00da5ff9751c57c0285d6c0b3f16",
        ),
    ),
)


def load_lidar() -> Dataset:
    """Coordinates, and the class of each point."""
    (file,) = INFO.files
    read(file)  # the right content, or an error that says what to do
    path = find(file)
    if path is None:
        raise DatasetError(f"{file.path} was there a moment ago and is gone.")
    scan = open_scan(path).read(fields=["classification"])
    classes, y = np.unique(scan.fields["classification"], return_inverse=True)
    return Dataset(INFO, scan.points, y.astype(np.int64), tuple(class_name(number) for number in classes))
