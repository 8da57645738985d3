"""The Oakland scans, from a data folder and from the public archives."""

from __future__ import annotations

import dataclasses
import io
import zipfile

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist

from pinvgcn.datasets import scans
from pinvgcn.errors import DatasetError


@pytest.mark.parametrize(
    ("name", "counts", "diameter"),
    [
        ("oakland1", [14441, 2571, 1086, 14121, 4713], 112.102),
        ("oakland2", [8485, 899, 1441, 67419, 13271], 126.908),
    ],
)
def test_scans_have_the_statistics_of_the_paper(data_set, name, counts, diameter):
    data = data_set(name)
    assert data.X.shape == (sum(counts), 3)
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert data.target_names == ("vegetation", "wire", "pole", "ground", "facade")
    assert np.bincount(data.y).tolist() == counts
    assert pdist(data.X[ConvexHull(data.X).vertices]).max() == pytest.approx(diameter, abs=1e-3)


def archive(member: str, lines: list[str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        opened.writestr("data/README.txt", "another file")
        opened.writestr("data/oakland_part2_ak.xyz_label_conf", "0 0 0 1200 2\n")
        opened.writestr(member, "\n".join(lines))
    return buffer.getvalue()


LINES = ["1.5 2 3 1400 2", "4 5 -6.25 1004 2", "7 8 9 1000 2", "1 1 1 1200 1", "2 2 2 1100 2", "3 3 3 1103 2"]


@pytest.fixture
def download(bare, server):
    """Loads a small Oakland 1 from an archive that the local server has."""

    def load(content: bytes, points: int):
        (scan,) = scans.OAKLAND1.files
        archive = dataclasses.replace(scan.alternative, url=server.offer("/training.zip", content))
        files = (dataclasses.replace(scan, alternative=archive),)
        return scans._oakland(dataclasses.replace(scans.OAKLAND1, rows=points, files=files), "part3_an")

    return load


def test_the_public_archive_is_fetched_unpacked_and_filtered(download, bare):
    data = download(archive("data/training/oakland_part3_an_training.xyz_label_conf", LINES), 5)
    assert data.X.tolist() == [[1.5, 2, 3], [4, 5, -6.25], [1, 1, 1], [2, 2, 2], [3, 3, 3]]
    assert data.y.tolist() == [4, 0, 3, 1, 2]
    assert (bare / "oakland/training.zip").is_file()


def test_another_number_of_points_is_refused(download):
    with pytest.raises(DatasetError, match=r"Expected 36,932 points.*received 5"):
        download(archive("oakland_part3_an.xyz_label_conf", LINES), 36_932)


def test_an_archive_without_the_scan_is_refused(download):
    with pytest.raises(DatasetError, match=r"Got 0 of them, among: data/README\.txt"):
        download(archive("oakland_part3_am.xyz_label_conf", LINES), 5)


def test_a_truncated_archive_is_refused(download):
    whole = archive("oakland_part3_an.xyz_label_conf", LINES)
    with pytest.raises(DatasetError, match=r"is damaged. Expected a complete zip"):
        download(whole[: len(whole) // 2], 5)


def test_a_scan_that_is_no_table_of_numbers_is_refused(download):
    with pytest.raises(DatasetError, match="lines of x y z label confidence"):
        download(archive("oakland_part3_an.xyz_label_conf", ["this is", "not a scan"]), 5)
