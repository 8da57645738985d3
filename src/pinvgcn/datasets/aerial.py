"""Aerial scans in the classes of the ASPRS: two adjoining tiles of a survey, and a thinned landscape.

The tiles are in the package. The landscape has no public address of its own, so it is found through
``PINVGCN_DATA`` or the cache only. ``features`` holds the columns of a file that tell what a point is.
"""

from __future__ import annotations

import numpy as np

from pinvgcn.checks import UNLABELLED
from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, find, read
from pinvgcn.errors import DatasetError
from pinvgcn.io import open_scan
from pinvgcn.io.asprs import UNCLASSIFIED, class_name

LIDAR = DatasetInfo(
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


def _tile(name: str, corner: str, points: int, sha256: str) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        description=f"Aerial laser scan of 50 m by 50 m, tile {corner}: {points:,} points in five classes",
        source="IGN – LiDAR HD",
        licence="Licence Ouverte / Etalab 2.0; embedded in this package, see embedded/ATTRIBUTION.md",
        files=(DataFile(f"ign_{corner}.laz", sha256),),
    )


IGN1 = _tile(
    "ign1", "77050_627755", 84_524, "d0e1995409f93a674c76d6ee607bef9ef4921e5d8ae061ef4cb97336f5ca6990"
)
IGN2 = _tile(
    "ign2", "77055_627755", 72_770, "0feedf0993a99a0c0f9b9a272cfb3a78151ecf773733f9bfeda8e0f36e5a797f"
)
SURVEY = ("intensity", "return_number", "number_of_returns")
COLUMNS = {"lidar": (*SURVEY, "red", "green", "blue", "nir"), "ign1": SURVEY, "ign2": SURVEY}


def load_lidar() -> Dataset:
    """All classes of the file, "unclassified" among them."""
    return _load(LIDAR)


def load_ign1() -> Dataset:
    """The western tile; points that the survey left unclassified have the label -1."""
    return _load(IGN1, unlabelled=UNCLASSIFIED)


def load_ign2() -> Dataset:
    """The tile east of it."""
    return _load(IGN2, unlabelled=UNCLASSIFIED)


def _load(info: DatasetInfo, unlabelled: tuple[int, ...] = ()) -> Dataset:
    """Coordinates, the class and the other columns of each point."""
    (file,) = info.files
    read(file)  # the right content, or an error that says what to do
    path = find(file)
    if path is None:
        raise DatasetError(f"{file.path} was there a moment ago and is gone.")
    columns = COLUMNS[info.name]
    scan = open_scan(path).read(fields=["classification", *columns])
    numbers = scan.fields["classification"]
    classes = np.setdiff1d(numbers, unlabelled)
    y = np.where(np.isin(numbers, classes), np.searchsorted(classes, numbers), UNLABELLED)
    names = tuple(class_name(number) for number in classes)
    features = np.column_stack([scan.fields[name] for name in columns]).astype(np.float64)
    return Dataset(info, scan.points, y.astype(np.int64), names, features=features)
