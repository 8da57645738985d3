"""One small street as a file, for all tests of scans; what one fit finds in it; and it half classified."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np
import pandas as pd
import pytest
from streets import QUICK, WATER, Street, write_street

from pinvgcn.scans import ScanResult, SegmentRequest, segment


@pytest.fixture(scope="session")
def street(tmp_path_factory) -> Street:
    return write_street(tmp_path_factory.mktemp("street") / "street.las")


@pytest.fixture(scope="session")
def whole(street, tmp_path_factory) -> tuple[ScanResult, Path]:
    """Fitted in memory: the result, and the folder of ``out.las``, ``scan.model`` and ``q.csv``."""
    folder = tmp_path_factory.mktemp("whole")
    request = SegmentRequest(
        street.path, "classification", folder / "out.las", settings=QUICK, save_model=folder / "scan.model",
        questions=folder / "q.csv",
    )  # fmt: skip
    return segment(request), folder


@pytest.fixture(scope="session")
def model(whole) -> Path:
    return whole[1] / "scan.model"


@pytest.fixture(scope="session")
def half(street, tmp_path_factory) -> tuple[Path, np.ndarray]:
    """The street, classified by somebody but for every third point: 1; some of it water, 4 points noise."""
    las = laspy.read(street.path)
    classes = street.truth.copy()
    classes[::3] = 1
    classes[10:40] = WATER
    classes[street.given == 7] = 7
    las.classification = classes
    path = tmp_path_factory.mktemp("half") / "half.laz"
    las.write(path)
    return path, classes


@pytest.fixture(scope="session")
def picked(street, tmp_path_factory) -> tuple[Path, np.ndarray]:
    """The labels of the street in a file of their own, and whose they are."""
    known = np.flatnonzero((street.given > 1) & (street.given != 7))
    path = tmp_path_factory.mktemp("picked") / "picked.csv"
    pd.DataFrame({"index": known, "label": street.given[known]}).to_csv(path, index=False)
    return path, known
