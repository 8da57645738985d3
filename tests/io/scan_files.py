"""One small scan of every format, for tests that hold for all of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from las_files import write_las
from test_pcd import pcd
from test_pcd import table as pcd_table
from test_ply import ply
from test_ply import table as ply_table


def write_scans(folder: Path) -> dict[str, Path]:
    """Name and path of each."""
    scans = {}
    for name, point_format, version in (
        ("old.las", 3, "1.2"), ("new.las", 7, "1.4"), ("old.laz", 1, "1.2"), ("new.laz", 8, "1.4"),
    ):  # fmt: skip
        write_las(folder / name, point_format, version, 100)
        scans[name] = folder / name
    contents = {
        "text.ply": ply("ascii", ply_table(), around=True),
        "little.ply": ply("binary_little_endian", ply_table()),
        "big.ply": ply("binary_big_endian", ply_table(), around=True),
        "text.pcd": pcd("ascii", pcd_table()),
        "rows.pcd": pcd("binary", pcd_table()),
        "packed.pcd": pcd("binary_compressed", pcd_table()),
    }
    rng = np.random.default_rng(0)
    rows = [[*row.round(3), label] for row, label in zip(rng.normal(size=(80, 3)), range(80), strict=True)]
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    contents["plain.xyz"] = text.encode()
    contents["table.csv"] = ("x,y,z,label\n" + text.replace(" ", ",")).encode()
    contents["german.csv"] = ("x;y;z;label\n" + text.replace(" ", ";").replace(".", ",")).encode()
    contents["plain.xyz.gz"] = gzip.compress(text.encode(), mtime=0)
    for name, content in contents.items():
        scans[name] = folder / name
        scans[name].write_bytes(content)
    return scans


SCANS = (
    "old.las", "new.las", "old.laz", "new.laz", "text.ply", "little.ply", "big.ply", "text.pcd",
    "rows.pcd", "packed.pcd", "plain.xyz", "table.csv", "german.csv", "plain.xyz.gz",
)  # fmt: skip
