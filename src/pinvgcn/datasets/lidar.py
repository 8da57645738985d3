"""A real aerial scan with the classes of its LAZ file, from the test data of laspy."""

from __future__ import annotations

import numpy as np

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, find, read
from pinvgcn.errors import DatasetError
from pinvgcn.io import open_scan
from pinvgcn.io.asprs import class_name

INFO = DatasetInfo(
    name="lidar",
    description="Aerial scan of a kilometre of country in seven classes, with intensity, returns and colours",
    source="test data of the laspy source package",
    licence="BSD-2-Clause, that of laspy",
    files=(
        DataFile(
            "lidar/french_lidar_thinned.laz",
            sha256="15b8493da724b03f073f7b677981fd14177a00da5ff9751c57c0285d6c0b3f16",
        ),
    ),
)
FEATURES = ("intensity", "return_number", "number_of_returns", "red", "green", "blue", "nir")
POINTS = 37_805


def load_lidar() -> Dataset:
    """37,805 points; ``features`` holds the columns ``FEATURES`` of the file."""
    (file,) = INFO.files
    read(file)  # compares its hash
    path = find(file)
    if path is None:
        raise DatasetError(f"{file.path} has gone while it was read. What to do: try again.")
    scan = open_scan(path).read(fields=[*FEATURES, "classification"])
    classes, y = np.unique(scan.fields["classification"], return_inverse=True)
    features = np.column_stack([scan.fields[name] for name in FEATURES]).astype(np.float64)
    names = tuple(class_name(number) for number in classes)
    return Dataset(INFO, scan.points, y.astype(np.int64), names, features=features)
