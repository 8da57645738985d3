"""The aerial scan."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.datasets import load_dataset
from pinvgcn.errors import DatasetError


def test_the_scan_has_the_known_statistics(data_set):
    data = data_set("lidar")
    assert data.X.shape == (37_805, 3)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    assert np.ptp(data.X, axis=0).round().tolist() == [1000, 757, 254]
    assert dict(zip(data.target_names, np.bincount(data.y).tolist(), strict=True)) == {
        "unclassified": 355, "ground": 22_859, "low vegetation": 929, "medium vegetation": 1_816,
        "high vegetation": 9_974, "bridge deck": 1_333, "user class 65": 539,
    }  # fmt: skip


def test_it_cannot_be_downloaded(bare):
    with pytest.raises(
        DatasetError, match=r"french_lidar_thinned\.laz was not found and has no public address"
    ):
        load_dataset("lidar")
