"""``--only``, ``--keep`` and virtual point clouds as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import laspy
import numpy as np
import pytest

from pinvgcn.datasets import generate_street, random_split

LABELS = "labels.csv"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tiles of a street, half of whose points have a class, labels in a file, and a list of both."""
    folder = tmp_path_factory.mktemp("town")
    street = generate_street(1_200, random_state=0)
    labels = random_split(street.y, per_class=12, random_state=0)
    side = (street.X[:, 0] > np.median(street.X[:, 0])).astype(int)
    rows = ["file,index,label"]
    for number, name in enumerate(("west.laz", "east.las")):
        here = side == number
        header = laspy.LasHeader(point_format=6, version="1.4")
        header.scales = np.full(3, 0.001)
        las = laspy.LasData(header)
        las.x, las.y, las.z = street.X[here].T
        las.classification = np.where(np.arange(here.sum()) % 2, street.y[here] + 2, 1)
        las.write(folder / name)
        known = np.flatnonzero(labels[here] >= 0)
        rows += [f"{name},{at},{street.y[here][at] + 2}" for at in known]
    (folder / LABELS).write_text("\n".join(rows) + "\n")
    features = [
        {"type": "Feature", "assets": {"data": {"href": f"./{name}"}}} for name in ("west.laz", "east.las")
    ]
    (folder / "town.vpc").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return folder


def classes(path: Path) -> np.ndarray:
    return np.array(laspy.read(path).classification)


def test_a_list_of_scans_half_of_which_is_classified(town, tmp_path, done_by):
    out, _ = done_by(
        "segment", town / "town.vpc", "--labels", town / LABELS, "--only", "0,1", "--relabel",
        "-o", tmp_path / "out", "--save-model", tmp_path / "town.model",
    )  # fmt: skip
    assert "Protected, not in the table: 600 points keep their class in 'classification' (--only 0,1)" in out
    for name in ("west.laz", "east.las"):
        before, after = classes(town / name), classes(tmp_path / "out" / name)
        np.testing.assert_array_equal(after[before > 1], before[before > 1])
        assert (after[before == 1] > 1).all()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["east.las", "west.laz"]
    out, _ = done_by(
        "predict", tmp_path / "town.model", town / "town.vpc", "--only", "1,0",
        "-o", tmp_path / "again", "--json",
    )  # fmt: skip
    told = json.loads(out)
    assert (told["points"], told["protected"]["points"], told["protected"]["absent"]) == (1_200, 600, ["0"])
    for name in ("west.laz", "east.las"):
        np.testing.assert_array_equal(classes(tmp_path / "again" / name), classes(tmp_path / "out" / name))
    command = ["predict", tmp_path / "town.model", town / "town.vpc", "--keep", 2, "-o", tmp_path / "dry"]
    out, _ = done_by(*command, "--dry-run")
    ground = sum((classes(town / name) == 2).sum() for name in ("west.laz", "east.las"))
    assert f"{ground} points keep their class in 'classification' (--keep 2): {ground} of 2 ground" in out
    assert not (tmp_path / "dry").exists()


def test_the_report_says_it(town, tmp_path, done_by):
    rows = [line.partition(",")[2] for line in (town / LABELS).read_text().splitlines() if "east" not in line]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(rows) + "\n")
    out, err = done_by(
        "segment", town / "west.laz", "--labels", labels, "--keep", "2,44", "--relabel",
        "-o", tmp_path / "out.laz", "--report", tmp_path / "out.html",
    )  # fmt: skip
    ground = int((classes(town / "west.laz") == 2).sum())
    line = f"{ground} points keep their class in &#39;classification&#39; (--keep 2,44): {ground} of 2 ground"
    assert line in (tmp_path / "out.html").read_text()
    assert "note: no point has class 44 in 'classification', which --keep names" in err
    assert f"{ground} of 2 ground" in out


BAD = [
    (("west.laz",), ("--only", "1", "--keep", "2"), "must not stand together"),
    (("west.laz",), ("--only", "55"), "--only must name classes that points of"),
    (("west.laz",), ("--keep", "ground"), "numbers. Got 'ground' instead"),
    (("gone.vpc",), (), "There is no file"),
    (("empty.vpc",), (), "must list scans. Got none."),
    (("broken.vpc",), (), "must be a virtual point cloud, a JSON file"),
    (("lost.vpc",), (), "there is no file"),
    (("web.vpc",), (), "scans must be on this machine"),
    (("text.vpc",), (), "labels.csv"),  # the list names a file that is no scan
    (("town.vpc", "west.laz"), (), "different names"),
]


@pytest.mark.parametrize(("scans", "options", "expected"), BAD)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_what_cannot_be_done_is_one_line(town, scans, options, expected, dry, tmp_path, refused):
    for name, href in (("lost", "gone.laz"), ("web", "https://example.org/a.laz"), ("text", "labels.csv")):
        feature = {"assets": {"data": {"href": href}}}
        (town / f"{name}.vpc").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    (town / "empty.vpc").write_text('{"type": "FeatureCollection", "features": []}')
    (town / "broken.vpc").write_text('{"type": "Feat')
    paths = [town / name for name in scans]
    several = len(paths) > 1 or paths[0].suffix == ".vpc"
    out = tmp_path / ("out" if several else "out.laz")
    command = ["segment", *paths, "--labels", "classification", "--relabel", "-o", out]
    assert expected in refused(*command, *options, *dry)
    assert not list(tmp_path.iterdir())


def test_a_list_is_copied_into_a_folder(town, tmp_path, refused):
    command = ["segment", town / "town.vpc", "--labels", "classification", "-o"]
    assert "go into a folder" in refused(*command, tmp_path / "out.laz")
    before = (town / "town.vpc").read_bytes()
    said = refused(*command, tmp_path / "out", "--save-model", town / "town.vpc", "--force")
    assert "must not write over" in said
    assert (town / "town.vpc").read_bytes() == before
