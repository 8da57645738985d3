"""LAS and LAZ files for tests, written by laspy."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np


def write_las(
    path: Path,
    point_format: int = 3,
    version: str = "1.2",
    n: int = 500,
    *,
    extra: tuple[laspy.ExtraBytesParams, ...] = (),
    vlrs: tuple[laspy.VLR, ...] = (),
    evlrs: tuple[laspy.VLR, ...] = (),
    seed: int = 0,
) -> laspy.LasData:
    """Random values in every dimension; LAZ where the name says so."""
    rng = np.random.default_rng(seed)
    header = laspy.LasHeader(point_format=point_format, version=version)
    header.scales, header.offsets = np.array([0.01, 0.02, 0.001]), np.array([1e5, -2e6, 7.0])
    header.add_extra_dims(list(extra))
    header.vlrs.extend(vlrs)
    las = laspy.LasData(header)
    las.points = laspy.ScaleAwarePointRecord.zeros(n, header=header)
    for name in ("X", "Y", "Z"):
        las[name] = rng.integers(-(2**30), 2**30, n)
    for info in las.point_format.dimensions:
        if info.name in ("X", "Y", "Z"):
            continue
        shape = n if info.num_elements == 1 else (n, info.num_elements)
        if info.dtype is not None and info.dtype.base.kind == "f":
            las.points.array[info.name] = rng.normal(size=shape)
        elif info.is_scaled or info.num_elements > 1:
            las.points.array[info.name] = rng.integers(0, 100, shape)
        else:
            las[info.name] = rng.integers(int(info.min), min(int(info.max), 2**31) + 1, shape)
    if version == "1.4":
        las.evlrs = laspy.vlrs.vlrlist.VLRList(list(evlrs))
    las.write(str(path))
    return las
