"""Laser scans with a class at each point.

Oakland 3-D: two scans of streets near CMU, five classes. Oakland 1 and 2 are the training and the validation
cloud of Munoz et al., filtered to five classes. The scans carry no licence, so the package does not contain
them. The public archives have no known hash: of a download, the number of points is checked instead. A file
``Oakland1.xyz_label_conf`` in a data folder is a reconstruction, in which 535 of the 36,932 points were
inferred.

Aerial scans in the classes of the ASPRS: two adjoining tiles of a survey, and a thinned landscape. The tiles
are in the package. The landscape has no public address of its own, so it is found through ``PINVGCN_DATA`` or
the cache only. ``features`` holds the columns of a file that tell what a point is.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from functools import partial

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, find, read
from pinvgcn.errors import DatasetError
from pinvgcn.io import open_scan
from pinvgcn.io.las import UNCLASSIFIED, class_name

ADDRESS = "https://www.cs.cmu.edu/~vmr/datasets/oakland_3d/cvpr09/data"
CLASSES = {1004: "vegetation", 1100: "wire", 1103: "pole", 1200: "ground", 1400: "facade"}
REMEDY = "delete the file from the data folder or cache, and it will be downloaded again"
FIELDS = ("x", "y", "z", "label", "confidence")


def _oakland_info(number: int, points: int, part: str, archive: str, sha256: str) -> DatasetInfo:
    download = DataFile(f"oakland/{archive}", url=f"{ADDRESS}/{archive}")
    return DatasetInfo(
        name=f"oakland{number}",
        description=f"Laser scan of a street in five classes: {points:,} points of {part}",
        source="Oakland 3-D Point Cloud Dataset; cite Munoz, Bagnell, Vandapel, Hebert, CVPR 2009",
        licence="none stated; not to be redistributed",
        rows=points,
        classes=len(CLASSES),
        files=(DataFile(f"oakland/Oakland{number}.xyz_label_conf", sha256, alternative=download),),
    )


HASHES = (
    "5258905ca5c2a4e64d32325a46a82d1958b4f3fc18562396670ce3ff6268fb8b",
    "d6966ff485f6246230f0e52360f4dfbc86543173e5b1239eb64788b952d8dd66",
)
OAKLAND1 = _oakland_info(1, 36_932, "part3_an", "training.zip", HASHES[0])
OAKLAND2 = _oakland_info(2, 91_515, "part3_am", "validation.zip", HASHES[1])


def _oakland(info: DatasetInfo, part: str) -> Dataset:
    (file,) = info.files
    content = read(file)
    if content.startswith(b"PK"):  # the public archive instead of the filtered scan
        content = _member(content, part)
    try:
        scan = pd.read_csv(io.BytesIO(content), sep=r"\s+", names=list(FIELDS), comment="#", dtype=np.float64)
    except (ValueError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"The scan of {info.name} must hold lines of x y z label confidence: {error}."
        ) from None
    scan = scan[scan["label"].isin(list(CLASSES))]
    if len(scan) != info.rows:
        raise DatasetError(
            f"The scan of {info.name} is not the expected one, or is truncated. Expected {info.rows:,} "
            f"points in the classes {', '.join(CLASSES.values())}; received {len(scan):,}. What to do: "
            f"{REMEDY}."
        )
    y = np.searchsorted(list(CLASSES), scan["label"]).astype(np.int64)
    return Dataset(info, scan[["x", "y", "z"]].to_numpy(), y, tuple(CLASSES.values()))


def _member(archive: bytes, part: str) -> bytes:
    """The scan ``part`` in the public archive, whichever folder it lies in there."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            names = [n for n in opened.namelist() if part in n and n.endswith("xyz_label_conf")]
            if len(names) == 1:
                return opened.read(names[0])
            listed = ", ".join(opened.namelist()[:8])
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DatasetError(
            f"The archive with {part} is damaged. Expected a complete zip; received {len(archive):,} bytes "
            f"({error}). What to do: {REMEDY}."
        ) from None
    raise DatasetError(
        f"The archive must hold one scan named *{part}*.xyz_label_conf. Got {len(names)} of them, "
        f"among: {listed}. What to do: {REMEDY}."
    )


LIDAR_HASH = "15b8493da724b03f073f7b677981fd14177a00da5ff9751c57c0285d6c0b3f16"
LIDAR = DatasetInfo(
    name="lidar",
    description="Aerial laser scan in the classes of the ASPRS: 37,805 points in metres",
    source="test data of the laspy source package, french_lidar_thinned.laz",
    licence="BSD 2-Clause, as laspy",
    rows=37_805,
    classes=7,
    files=(DataFile("lidar/french_lidar_thinned.laz", LIDAR_HASH),),
)


def _tile(name: str, corner: str, points: int, sha256: str) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        description=f"Aerial laser scan of 50 m by 50 m, tile {corner}: {points:,} points in five classes",
        source="IGN – LiDAR HD",
        rows=points,
        classes=5,
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


def _aerial(info: DatasetInfo, unlabelled: tuple[int, ...] = ()) -> Dataset:
    """Coordinates, class and other columns of each point; ``unlabelled`` classes have the label -1."""
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


LOADERS = {
    OAKLAND1: partial(_oakland, OAKLAND1, "part3_an"),
    OAKLAND2: partial(_oakland, OAKLAND2, "part3_am"),
    IGN1: partial(_aerial, IGN1, unlabelled=UNCLASSIFIED),
    IGN2: partial(_aerial, IGN2, unlabelled=UNCLASSIFIED),
    LIDAR: partial(_aerial, LIDAR),
}
