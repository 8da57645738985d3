"""The column that classes go into, where the scan has one of that name already."""

from __future__ import annotations

import laspy
import numpy as np
import pytest

from pinvgcn.errors import LabelError
from pinvgcn.io import open_scan
from pinvgcn.scans.copies import Outcomes, ScanCopy

POINTS = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
CLASSES = [2, 300]


def ply(path, kind):
    rows = "\n".join(f"{x} {y} {z} 5" for x, y, z in POINTS)
    fields = "".join(f"property float {axis}\n" for axis in "xyz")
    head = f"ply\nformat ascii 1.0\nelement vertex 3\n{fields}property {kind} predicted\nend_header\n"
    path.write_text(f"{head}{rows}\n")


def pcd(path, _kind):
    rows = "\n".join(f"{x} {y} {z} 5" for x, y, z in POINTS)
    path.write_text(
        "VERSION 0.7\nFIELDS x y z predicted\nSIZE 4 4 4 1\nTYPE F F F U\nCOUNT 1 1 1 1\nWIDTH 3\nHEIGHT 1\n"
        f"POINTS 3\nDATA ascii\n{rows}\n"
    )


def las(path, _kind):
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.add_extra_dim(laspy.ExtraBytesParams(name="predicted", type=np.uint8))
    file = laspy.LasData(header)
    file.x, file.y, file.z = POINTS.T.astype(float)
    file["predicted"] = np.full(3, 5, dtype=np.uint8)
    file.write(path)


@pytest.mark.parametrize("write", [ply, pcd, las])
def test_a_class_that_the_column_is_too_narrow_for(write, tmp_path):
    """A wider column holds it, and what points without a class had; a class that fits leaves the type."""
    source = tmp_path / f"a.{write.__name__}"
    write(source, "uchar")
    for classes, width in ((CLASSES, 2), ([2, 200], 1)):
        out = tmp_path / f"{width}.{write.__name__}"
        copy = ScanCopy(open_scan(source), out, "predicted", classes)
        outcomes = Outcomes(np.array([0, 1, -1], np.int16), np.ones(3, np.float32), np.zeros(3, np.uint8))
        copy.write(outcomes, lambda *told: None)
        after = open_scan(out)
        (piece,) = after.chunks(fields=["predicted"])
        assert piece.fields["predicted"].tolist() == [*classes, 5]
        assert after.fields["predicted"] == np.dtype(f"u{width}")


def test_a_class_that_the_format_cannot_hold(tmp_path):
    ply(tmp_path / "a.ply", "int")
    with pytest.raises(
        LabelError, match=r"'predicted' of .*PLY has none for both those and class 5000000000"
    ):
        ScanCopy(open_scan(tmp_path / "a.ply"), tmp_path / "b.ply", None, [1, 5_000_000_000])
