"""Labels in a CSV beside the scan: what a cell says is what the class is called."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import DataError, ParameterError
from pinvgcn.scans import SegmentRequest, segment
from pinvgcn.scans.labels import LabelFile
from pinvgcn.scans.subsample import Subsample


def test_cells_are_taken_as_they_are(tmp_path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("# by hand\nindex,label\n0,pole #1\n1,pole #2\n2,None\n")
    assert LabelFile.read(path).values.tolist() == ["pole #1", "pole #2", "None"]
    path.write_text("")
    with pytest.raises(DataError, match="must be a CSV of labels"):
        LabelFile.read(path)


def test_more_labels_than_points_to_fit() -> None:
    codes = np.concatenate([np.repeat([0, 1, 2], 600), np.full(5_000, -1)])
    drawn = Subsample.of(np.full(3, 600), 5_000, 1_000)(np.arange(len(codes)), codes)
    assert set(codes[drawn]) >= {0, 1, 2}


def test_files_must_differ(tmp_path) -> None:
    scan = tmp_path / "a.xyz"
    scan.write_text("x y z label\n" + "\n".join(f"{i} 0 0 {i % 2}" for i in range(20)))
    out = tmp_path / "out.xyz"
    for other, message in ((out, "must be different files"), (scan, "must not write over")):
        request = SegmentRequest(scan, "label", out, save_model=other, force=True)
        with pytest.raises(ParameterError, match=message):
            segment(request)
    assert scan.read_text().startswith("x y z label")
    assert not out.exists()
