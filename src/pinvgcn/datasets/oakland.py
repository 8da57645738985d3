"""Oakland 3-D: two laser scans of streets near CMU, five classes.

Oakland 1 and 2 are the training and the validation cloud of Munoz et al., filtered to five classes.
The scans carry no licence, so the package does not contain them. The public archives have no known
hash: of a download, the number of points is checked instead. A file ``Oakland1.xyz_label_conf`` in
a data folder is a reconstruction, in which 535 of the 36,932 points were inferred.
"""

from __future__ import annotations

import io
import zipfile
import zlib

import numpy as np
import pandas as pd

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, read
from pinvgcn.errors import DatasetError

ADDRESS = "https://www.cs.cmu.edu/~vmr/datasets/oakland_3d/cvpr09/data"
CLASSES = {1004: "vegetation", 1100: "wire", 1103: "pole", 1200: "ground", 1400: "facade"}
REMEDY = "delete the file from the data folder or cache, and it will be downloaded again"
COLUMNS = ("x", "y", "z", "label", "confidence")


def _info(number: int, sha256: str, archive: str, what: str) -> DatasetInfo:
    download = DataFile(f"oakland/{archive}", url=f"{ADDRESS}/{archive}")
    return DatasetInfo(
        name=f"oakland{number}",
        description=f"Laser scan of a street in five classes: {what}",
        source="Oakland 3-D Point Cloud Dataset; cite Munoz, Bagnell, Vandapel, Hebert, CVPR 2009",
        licence="none stated; not to be redistributed",
        files=(DataFile(f"oakland/Oakland{number}.xyz_label_conf", sha256, alternative=download),),
    )


OAKLAND1 = _info(
    1,
    "5258905ca5c2a4e64d32325a46a82d1958b4f3fc18562396670ce3ff6268fb8b",
    "training.zip",
    "36,932 points of part3_an",
)
OAKLAND2 = _info(
    2,
    "d6966ff485f6246230f0e52360f4dfbc86543173e5b1239eb64788b952d8dd66",
    "validation.zip",
    "91,515 points of part3_am",
)


def load_oakland1() -> Dataset:
    """36,932 points."""
    return _load(OAKLAND1, "part3_an", 36_932)


def load_oakland2() -> Dataset:
    """91,515 points."""
    return _load(OAKLAND2, "part3_am", 91_515)


def _load(info: DatasetInfo, part: str, points: int) -> Dataset:
    (file,) = info.files
    content = read(file)
    if content.startswith(b"PK"):  # the public archive instead of the filtered scan
        content = _member(content, part)
    try:
        scan = pd.read_csv(
            io.BytesIO(content), sep=r"\s+", names=list(COLUMNS), comment="#", dtype=np.float64
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"The scan of {info.name} must hold lines of x y z label confidence: {error}."
        ) from None
    scan = scan[scan["label"].isin(list(CLASSES))]
    if len(scan) != points:
        raise DatasetError(
            f"The scan of {info.name} is not the expected one, or is truncated. Expected {points:,} points "
            f"in the classes {', '.join(CLASSES.values())}; received {len(scan):,}. What to do: {REMEDY}."
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
