"""UCI Covertype: 581,012 patches of forest, by terrain and soil; the cover types 4–5 and 6–7 alone too.

The ten numeric attributes come as categories: ten equally wide bins over the range in *all* rows,
half-open but for the last. The two subsets of the paper are cut out only after that; binned by
themselves they would have other hyperedges than the paper's 104 and 125.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinvgcn.datasets.dataset import Dataset, DatasetInfo
from pinvgcn.datasets.locate import DataFile, read

FILE = DataFile(
    "covertype/covtype.data.gz",
    sha256="0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/covtype/covtype.data.gz",
)

BINS = 10

NUMERIC = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
WILDERNESS_AREAS = ("Rawah", "Neota", "Comanche_Peak", "Cache_la_Poudre")
BOOLEAN = (
    *(f"Wilderness_Area_{area}" for area in WILDERNESS_AREAS),
    *(f"Soil_Type_{number}" for number in range(1, 41)),
)
COVER_TYPES = (  # coded from 1 in the file
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
)


def _info(name: str, which: str) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        description=f"Forest cover by binned terrain, wilderness area and soil type: {which}",
        source="UCI Machine Learning Repository, Covertype (J. Blackard, 1998), doi:10.24432/C50K5N",
        licence="CC BY 4.0",
        files=(FILE,),
    )


ALL = _info("covertype", "all 7 cover types")
TYPES_45 = _info("covertype45", "cottonwood/willow or aspen")
TYPES_67 = _info("covertype67", "Douglas-fir or krummholz")


def load_covertype() -> Dataset:
    """All rows and all seven cover types."""
    return _load(ALL, range(1, 8))


def load_covertype45() -> Dataset:
    """Cover types 4 and 5: 12,240 rows."""
    return _load(TYPES_45, (4, 5))


def load_covertype67() -> Dataset:
    """Cover types 6 and 7: 37,877 rows."""
    return _load(TYPES_67, (6, 7))


def _load(info: DatasetInfo, cover_types: Sequence[int]) -> Dataset:
    types: dict[str, type] = dict.fromkeys(NUMERIC, np.int16) | dict.fromkeys(
        (*BOOLEAN, "Cover_Type"), np.uint8
    )
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
