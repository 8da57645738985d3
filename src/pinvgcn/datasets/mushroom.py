"""UCI Mushroom: 8,124 mushrooms by 21 categorical attributes, edible or poisonous."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, read

FILE = DataFile(
    "agaricus-lepiota.data.gz",
    sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)

INFO = DatasetInfo(
    name="mushroom",
    description="Mushrooms by 21 categorical attributes: edible or poisonous",
    source="UCI Machine Learning Repository, Mushroom (donor J. Schlimmer, 1987), doi:10.24432/C5959T",
    licence="CC BY 4.0; embedded in this package, see embedded/ATTRIBUTION.md",
    files=(FILE,),
)

CLASSES = {"e": "edible", "p": "poisonous"}

ATTRIBUTES = (
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
)


def load_mushroom() -> Dataset:
    """The table in UCI's one-letter values, without the one attribute that has missing values."""
    table = pd.read_csv(
        io.BytesIO(read(FILE)), names=["class", *ATTRIBUTES], dtype=str, keep_default_na=False
    )
    y = np.searchsorted(list(CLASSES), table["class"].to_numpy(dtype="U1")).astype(np.int64)
    return Dataset(INFO, table.drop(columns=["class", "stalk-root"]), y, tuple(CLASSES.values()))
