"""Tables of the UCI Machine Learning Repository.

Mushroom: 8,124 mushrooms by 21 categorical attributes, edible or poisonous.

Covertype: 581,012 patches of forest, by terrain and soil; the cover types 4–5 and 6–7 alone too. The ten
numeric attributes come as categories: ten equally wide bins over the range in *all* rows, half-open but for
the last. The two subsets of the paper are cut out only after that; binned by themselves they would have
other hyperedges than the paper's 104 and 125.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, read

HASH = "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e"
MUSHROOM = DatasetInfo(
    name="mushroom",
    description="Mushrooms by 21 categorical attributes: edible or poisonous",
    source="UCI Machine Learning Repository, Mushroom (donor J. Schlimmer, 1987), doi:10.24432/C5959T",
    licence="CC BY 4.0; embedded in this package, see embedded/ATTRIBUTION.md",
    rows=8_124,
    classes=2,
    files=(DataFile("agaricus-lepiota.data.gz", HASH),),
)
CLASSES = {"e": "edible", "p": "poisonous"}

ATTRIBUTES = (
    "cap-shape", "cap-surface", "cap-color", "bruises", "odor", "gill-attachment", "gill-spacing",
    "gill-size", "gill-color", "stalk-shape", "stalk-root", "stalk-surface-above-ring",
    "stalk-surface-below-ring", "stalk-color-above-ring", "stalk-color-below-ring", "veil-type",
    "veil-color", "ring-number", "ring-type", "spore-print-color", "population", "habitat",
)  # fmt: skip


def _mushroom() -> Dataset:
    """The table in UCI's one-letter values, without the one attribute that has missing values."""
    content = io.BytesIO(read(MUSHROOM.files[0]))
    table = pd.read_csv(content, names=["class", *ATTRIBUTES], dtype=str, keep_default_na=False)
    y = np.searchsorted(list(CLASSES), table["class"].to_numpy(dtype="U1")).astype(np.int64)
    return Dataset(MUSHROOM, table.drop(columns=["class", "stalk-root"]), y, tuple(CLASSES.values()))


FILE = DataFile(
    "covertype/covtype.data.gz",
    sha256="0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
)

BINS = 10

NUMERIC = (
    "Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology", "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways", "Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)  # fmt: skip
WILDERNESS_AREAS = ("Rawah", "Neota", "Comanche_Peak", "Cache_la_Poudre")
BOOLEAN = (
    *(f"Wilderness_Area_{area}" for area in WILDERNESS_AREAS),
    *(f"Soil_Type_{number}" for number in range(1, 41)),
)
COVER_TYPES = (  # coded from 1 in the file
    "Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen", "Douglas-fir",
    "Krummholz",
)  # fmt: skip


def _info(name: str, which: str, rows: int, classes: int) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        description=f"Forest cover by binned terrain, wilderness area and soil type: {which}",
        source="UCI Machine Learning Repository, Covertype (J. Blackard, 1998), doi:10.24432/C50K5N",
        licence="CC BY 4.0",
        rows=rows,
        classes=classes,
        files=(FILE,),
    )


def _covertype(info: DatasetInfo, cover_types: Sequence[int]) -> Dataset:
    types: dict[str, type] = dict.fromkeys(NUMERIC, np.int16)
    types |= dict.fromkeys((*BOOLEAN, "Cover_Type"), np.uint8)
    table = pd.read_csv(io.BytesIO(read(FILE)), names=list(types), dtype=types)
    cover = table["Cover_Type"].to_numpy()
    wanted = np.isin(cover, cover_types)
    columns: dict[str, pd.Categorical[str] | np.ndarray] = {
        name: binned(table[name].to_numpy())[wanted] for name in NUMERIC
    }
    columns |= {name: table[name].to_numpy()[wanted].astype(bool) for name in BOOLEAN}
    y = np.searchsorted(cover_types, cover[wanted]).astype(np.int64)
    return Dataset(info, pd.DataFrame(columns), y, tuple(COVER_TYPES[cover - 1] for cover in cover_types))


def binned(values: np.ndarray) -> pd.Categorical[str]:
    """Whole numbers as ordered categories: equally wide bins over their range, half-open but for the last."""
    low, high = int(values.min()), int(values.max())
    # in whole numbers: a value on an edge falls into the bin above it, never to rounding
    codes = np.minimum((values.astype(np.int64) - low) * BINS // (high - low), BINS - 1)
    edges = [f"{low + k * (high - low) / BINS:g}" for k in range(BINS + 1)]
    names = [f"[{edges[k]}, {edges[k + 1]}{')' if k < BINS - 1 else ']'}" for k in range(BINS)]
    return pd.Categorical.from_codes(codes, categories=pd.Index(names), ordered=True)


LOADERS: dict[DatasetInfo, Callable[[], Dataset]] = {MUSHROOM: _mushroom}
for name, which, rows, cover_types in (
    ("covertype45", "cottonwood/willow or aspen", 12_240, (4, 5)),
    ("covertype67", "Douglas-fir or krummholz", 37_877, (6, 7)),
    ("covertype", "all 7 cover types", 581_012, range(1, 8)),
):
    info = _info(name, which, rows, len(cover_types))
    LOADERS[info] = partial(_covertype, info, cover_types)
