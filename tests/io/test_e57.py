"""E57: several scans with poses, both kinds of coordinates, flags of validity, and copies in LAS."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip("pye57", reason="pye57 is not installed")

import laspy
import pye57
from e57_files import write_e57

from pinvgcn.errors import DataError, MissingDependencyError, ScanFileError
from pinvgcn.io import open_scan

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(500, 3)) * [20, 10, 3]
QUARTER = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # a quarter turn about z: x becomes y


def cartesian(points: np.ndarray, **more: np.ndarray) -> dict[str, np.ndarray]:
    return {f"cartesian{axis}": points[:, i].copy() for i, axis in enumerate("XYZ")} | more


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scan.e57"


def test_one_scan(path):
    colours = RNG.integers(0, 255, (500, 3)).astype(np.uint8)
    intensity = RNG.random(500)
    write_e57(
        path,
        [{"columns": cartesian(
            POINTS, intensity=intensity, colorRed=colours[:, 0], colorGreen=colours[:, 1],
            colorBlue=colours[:, 2], returnIndex=np.zeros(500, np.uint8), returnCount=np.ones(500, np.uint8),
        )}],
    )  # fmt: skip
    source = open_scan(path)
    assert (source.format, source.count, source.metres) == ("e57", 500, 1.0)
    assert list(source.fields) == ["intensity", "red", "green", "blue", "return_number", "number_of_returns"]
    assert source.fields["red"] == np.uint8
    whole = source.read()
    np.testing.assert_allclose(whole.points, POINTS, atol=1e-12)
    np.testing.assert_allclose(whole.fields["intensity"], intensity)
    np.testing.assert_array_equal(whole.fields["blue"], colours[:, 2])
    assert (whole.fields["return_number"] == 1).all()
    pieces = list(source.chunks(70, fields=["red"]))
    assert [len(piece) for piece in pieces] == [70] * 7 + [10]
    assert [piece.start for piece in pieces] == list(range(0, 500, 70))
    np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), whole.points)
    np.testing.assert_array_equal(np.concatenate([piece.fields["red"] for piece in pieces]), colours[:, 0])


def test_several_scans_with_poses(path):
    """Each is moved by its own pose; fields that not all have are left out; an empty scan does no harm."""
    write_e57(
        path,
        [
            {"columns": cartesian(POINTS[:200], intensity=np.ones(200))},
            {"columns": cartesian(POINTS[:0], intensity=np.ones(0))},
            {
                "columns": cartesian(POINTS[200:], intensity=np.zeros(300), rowIndex=np.arange(300)),
                "rotation": QUARTER,
                "translation": (100.0, 0.0, 5.0),
            },
            {"columns": cartesian(POINTS[:10], intensity=np.ones(10)), "translation": (0.0, 0.0, 1.0)},
        ],
    )
    whole = open_scan(path).read()
    lifted = POINTS[:10] + np.array([0, 0, 1])
    turned = POINTS[200:] @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [100, 0, 5]
    np.testing.assert_allclose(whole.points, np.concatenate([POINTS[:200], turned, lifted]), atol=1e-9)
    assert list(whole.fields) == ["intensity", "scan"]
    assert whole.fields["scan"].tolist() == [0] * 200 + [2] * 300 + [3] * 10


def test_as_pye57_itself_reads_it(path):
    """Against the library's own way, with a general rotation."""
    rotation = np.array([0.9, 0.1, -0.2, 0.3])
    with pye57.E57(str(path), mode="w") as file:
        file.write_scan_raw(
            cartesian(POINTS, intensity=RNG.random(500)),
            rotation=rotation / np.linalg.norm(rotation),
            translation=np.array([4.0, 5.0, 6.0]),
        )
    with pye57.E57(str(path)) as file:
        theirs = file.read_scan(0, intensity=True, ignore_missing_fields=True)
    ours = open_scan(path).read()
    np.testing.assert_allclose(ours.points, np.stack([theirs[f"cartesian{a}"] for a in "XYZ"], 1), atol=1e-9)
    np.testing.assert_allclose(ours.fields["intensity"], theirs["intensity"])


def test_spherical_coordinates_and_invalid_points(path):
    distance = np.linalg.norm(POINTS, axis=1)
    state = (np.arange(500) % 5 == 0).astype(np.uint8) * 2
    columns = {
        "sphericalRange": distance,
        "sphericalAzimuth": np.arctan2(POINTS[:, 1], POINTS[:, 0]),
        "sphericalElevation": np.arcsin(POINTS[:, 2] / distance),
        "sphericalInvalidState": state,
        "intensity": np.arange(500.0),
        "isIntensityInvalid": (np.arange(500) == 1).astype(np.uint8),
    }
    write_e57(path, [{"columns": columns}])
    whole = open_scan(path).read()
    np.testing.assert_allclose(whole.points, POINTS[state == 0], atol=1e-9)
    assert np.isnan(whole.fields["intensity"][0])
    np.testing.assert_array_equal(whole.fields["intensity"][1:], np.arange(500.0)[state == 0][1:])


@pytest.mark.parametrize(("ending", "whole"), [("laz", False), ("las", True)])
def test_a_copy_in_las(path, tmp_path, ending, whole):
    colours = RNG.integers(0, 255, (500, 3)).astype(np.uint8)
    names = dict(zip(("colorRed", "colorGreen", "colorBlue"), colours.T, strict=True))
    intensity = np.arange(500, dtype=np.uint16) if whole else np.linspace(-3, 5, 500)
    write_e57(path, [{"columns": cartesian(POINTS, intensity=intensity, **names)}])
    source, out = open_scan(path), tmp_path / f"out.{ending}"
    classes = (np.arange(500) % 7).astype(np.uint8)
    with source.writer(out, {"classification": np.uint8, "confidence": np.float32}) as writer:
        writer.write({"classification": classes[:300], "confidence": np.full(300, 0.5)})
        writer.write({"classification": classes[300:], "confidence": np.full(200, 0.25)})
    with laspy.open(out) as file:
        las = file.read()
    np.testing.assert_allclose(las.xyz, POINTS, atol=0.51e-4)
    np.testing.assert_array_equal(las.classification, classes)
    np.testing.assert_array_equal(las.confidence, [0.5] * 300 + [0.25] * 200)
    np.testing.assert_array_equal(las.red, colours[:, 0].astype(np.uint16) * 257)
    assert (las.intensity[0], las.intensity[-1]) == (0, 65_535)
    assert las.header.point_format.id == 7
    assert open_scan(out).format == ending


def test_other_copies_keep_every_digit(path, tmp_path):
    write_e57(path, [{"columns": cartesian(POINTS, intensity=RNG.random(500))}])
    for name in ("out.ply", "out.csv"):
        with open_scan(path).writer(tmp_path / name, {"predicted": np.int32}) as writer:
            writer.write({"predicted": np.arange(500, dtype=np.int32)})
        np.testing.assert_allclose(open_scan(tmp_path / name).read().points, POINTS, atol=1e-12)


def test_what_is_refused(path, tmp_path, monkeypatch):
    write_e57(path, [{"columns": cartesian(POINTS)}])
    source = open_scan(path)
    for name in ("out.e57", "out"):
        with pytest.raises(ScanFileError, match=r"E57 is read, not written\. Got .*ends in \.laz"):
            source.writer(tmp_path / name, {"classification": np.uint8})
    with pytest.raises(DataError, match="Got 300; choose another --field"):
        source.check_values("classification", [2, 300])
    whole = path.read_bytes()
    (tmp_path / "cut.e57").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ScanFileError, match=r"cut\.e57 is damaged"):
        open_scan(tmp_path / "cut.e57").read()
    write_e57(path, [{"columns": cartesian(POINTS[:0])}])
    with pytest.raises(ScanFileError, match="has no points"):
        open_scan(path)
    write_e57(path, [{"columns": cartesian(POINTS, cartesianInvalidState=np.ones(500, np.uint8))}])
    with pytest.raises(ScanFileError, match="no points that it marks as valid"):
        open_scan(path)
    monkeypatch.setitem(sys.modules, "pye57", None)
    with pytest.raises(MissingDependencyError, match="need pye57: pip install pye57"):
        open_scan(path)
