"""Several scans as one cloud: the same for 1, 2 and 4 ranks, and as if they had been one file."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pandas as pd
import pytest
import torch
from ranks import SIZES
from street_files import NAMES, QUICK, launch, read_copies, said, write_streets

from pinvgcn.cli import main
from pinvgcn.distributed.group import Group
from pinvgcn.errors import ColumnError, DataError, ParameterError
from pinvgcn.scans import PredictRequest, SegmentRequest, predict, segment


@pytest.fixture(scope="module")
def streets(tmp_path_factory) -> Path:
    return write_streets(tmp_path_factory.mktemp("streets") / "tiles")


def request(folder: Path, out: Path, **others) -> SegmentRequest:
    settings = {"labels": "classification", "settings": QUICK, "tile_points": 1_000, "fit_points": 2_500}
    return SegmentRequest(**{"scans": folder / "*.la?", "out": out, **settings, **others})


def run_segment(process_group, folder, out):
    group = Group.of(process_group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(request(folder, out), group=group)
    return {**result.as_dict(), "seconds": None, "points_per_second": None}


def run_predict(process_group, model, folder, out):
    group = Group.of(process_group)
    paths = [folder / name for name in reversed(NAMES)]
    result = predict(PredictRequest(model, paths, out, tile_points=1_500), group=group)
    return result.counts


def run_questions(process_group, model, folder, out):
    group = Group.of(process_group)
    paths = [folder / name for name in NAMES]
    asked = PredictRequest(model, paths, out, tile_points=1_000, questions=out.with_suffix(".csv"))
    result = predict(asked, group=group)
    return result.questions


def run_predict_one(process_group, model, scan, out):
    """One file: one rank reads, all work."""
    group = Group.of(process_group)
    predict(PredictRequest(model, scan, out, tile_points=1_500), group=group)


@pytest.fixture(scope="module")
def alone(streets, tmp_path_factory):
    """By one process, in double precision, as the ranks."""
    out = tmp_path_factory.mktemp("alone")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    said = run_segment(None, streets, out / "copies")
    torch.set_default_dtype(before)
    return said, out / "copies"


@pytest.mark.parametrize("size", SIZES)
def test_ranks_give_what_one_process_gives(streets, alone, size, ranks, tmp_path):
    expected, copies = alone
    found = ranks.run(size, run_segment, streets, tmp_path / "copies")
    assert all(one == found[0] for one in found)
    assert found[0]["fitted_points"] == expected["fitted_points"]
    assert abs(expected["fitted_points"] - 2_500) < 250
    classes, sure = read_copies(tmp_path / "copies")
    one_class, one_sure = read_copies(copies)
    np.testing.assert_allclose(sure, one_sure, atol=1e-6)
    np.testing.assert_array_equal(classes, one_class)


def test_several_files_are_one_cloud(streets, tmp_path):
    """Fitted to every point the copies have what one file of all points has, by another path."""
    many = segment(request(streets, tmp_path / "copies", fit_points=20_000))
    whole = streets.with_name("whole.las")
    one = segment(SegmentRequest(whole, "classification", tmp_path / "whole.las", settings=QUICK))
    classes, sure = read_copies(tmp_path / "copies")
    after = laspy.read(tmp_path / "whole.las")
    np.testing.assert_array_equal(classes, np.array(after.classification))
    np.testing.assert_allclose(sure, np.array(after.confidence), rtol=1e-5)
    assert (many.noise, many.outside, many.alone) == (one.noise, one.outside, one.alone) == (4, 0, 0)
    np.testing.assert_array_equal(many.counts, one.counts)
    np.testing.assert_array_equal(many.given, one.given)
    assert (many.fields, many.left_out) == (one.fields, one.left_out)
    before = laspy.read(streets / NAMES[1])
    for name in ("X", "Y", "Z", "intensity"):
        np.testing.assert_array_equal(laspy.read(tmp_path / "copies" / NAMES[1])[name], before[name])


def test_whole_scans_are_held_out_for_others(streets, tmp_path):
    """Of several scans; of one, blocks."""
    settings = {**QUICK, "members": 3}
    asked = replace(request(streets, tmp_path / "copies", fit_points=20_000), settings=settings)
    many = segment(asked)
    whole = streets.with_name("whole.las")
    one = segment(SegmentRequest(whole, "classification", tmp_path / "whole.las", settings=settings))
    several, single = (result.model.fitted_.held_away.places for result in (many, one))
    assert 1 <= several.max() <= len(NAMES)
    assert single.max() > len(NAMES)


def test_predict_over_ranks(streets, ranks, tmp_path):
    """The neighbourhoods of points reach into other files, which other ranks have."""
    model, whole = tmp_path / "street.model", streets.with_name("whole.las")
    segment(request(whole, tmp_path / "fitted.las", scans=whole, save_model=model))
    predict(PredictRequest(model, whole, tmp_path / "whole.las", tile_points=50_000))
    counts = ranks.run(4, run_predict, model, streets, tmp_path / "copies", double=False)
    classes, sure = read_copies(tmp_path / "copies")
    after = laspy.read(tmp_path / "whole.las")
    np.testing.assert_array_equal(classes, np.array(after.classification))
    np.testing.assert_allclose(sure, np.array(after.confidence), rtol=1e-5)
    free = np.array(laspy.read(whole).classification) != 7
    np.testing.assert_array_equal(counts[0], np.bincount(classes[free], minlength=7)[2:])
    ranks.run(4, run_predict_one, model, whole, tmp_path / "again.las", double=False)
    again = laspy.read(tmp_path / "again.las")
    np.testing.assert_array_equal(np.array(again.classification), classes)
    np.testing.assert_allclose(np.array(again.confidence), sure, rtol=1e-5)
    assert not list(tmp_path.glob(".*"))


def test_questions_over_ranks(streets, ranks, tmp_path):
    """The same places, on all ranks, in one file."""
    model, whole = tmp_path / "street.model", streets.with_name("whole.las")
    segment(request(whole, tmp_path / "fitted.las", scans=whole, save_model=model))
    one = run_questions(None, model, streets, tmp_path / "one")
    assert len(one) > 20
    assert len({question.file for question in one}) > 1
    for found in ranks.run(4, run_questions, model, streets, tmp_path / "four", double=False):
        assert found == one
    assert (tmp_path / "four.csv").read_text() == (tmp_path / "one.csv").read_text()


def run_protected(process_group, model, paths, out):
    group = Group.of(process_group)
    asked = PredictRequest(model, paths, out, tile_points=1_500, keep=("2", "9"))
    told = predict(asked, group=group).as_dict()
    return {**told, "seconds": None, "points_per_second": None, "output": None}


def test_protected_points_over_ranks(streets, ranks, tmp_path):
    """A class that only one rank has in its files is kept there, and counted by all."""
    (tmp_path / "tiles").mkdir()
    before = []
    for number, name in enumerate(NAMES):
        las = laspy.read(streets / name)
        classes = np.array(las.classification)
        classes[(np.arange(len(classes)) % 5 == 0) & (classes != 7)] = 2 if number else 9
        las.classification = classes
        las.write(tmp_path / "tiles" / name)
        before.append(classes)
    given = np.concatenate(before)
    model = tmp_path / "street.model"
    segment(request(streets, tmp_path / "fitted.las", scans=streets.with_name("whole.las"), save_model=model))
    features = [{"type": "Feature", "assets": {"data": {"href": f"tiles/{name}"}}} for name in NAMES]
    (tmp_path / "town.vpc").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    paths = [tmp_path / "town.vpc"]
    expected = run_protected(None, model, paths, tmp_path / "one")
    found = ranks.run(2, run_protected, model, paths, tmp_path / "two", double=False)
    assert found[0] == found[1]
    assert found[0]["protected"] == expected["protected"]
    assert found[0]["classes"] == expected["classes"]
    stays = np.isin(given, [2, 9])
    kept = {one["class"]: one["points"] for one in expected["protected"]["classes"]}
    assert kept == {2: int((given == 2).sum()), 9: int((given == 9).sum())}
    for folder in ("one", "two"):
        classes, sure = read_copies(tmp_path / folder)
        np.testing.assert_array_equal(classes[stays], given[stays])
        assert (sure[given == 9] == 0).all()
        assert (sure[given == 2] > 0).all()
    np.testing.assert_array_equal(read_copies(tmp_path / "one")[0], read_copies(tmp_path / "two")[0])


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.usefixtures("double")
def test_labels_in_a_file_of_their_own(streets, alone, by_place, tmp_path):
    rows = []
    (tmp_path / "bare").mkdir()
    for name in NAMES:
        las = laspy.read(streets / name)
        given = np.array(las.classification)
        known = np.flatnonzero((given > 1) & (given < 7))
        place = {axis: np.array(las[axis])[known] for axis in "xyz"}
        own = {**place} if by_place else {"file": name, "index": known}
        rows.append(pd.DataFrame({**own, "label": given[known]}))
        las.classification = np.where(given == 7, 7, 0)
        las.write(tmp_path / "bare" / name)
    pd.concat(rows).sample(frac=1, random_state=0).to_csv(tmp_path / "picked.csv", index=False)
    labels = str(tmp_path / "picked.csv")
    result = segment(request(tmp_path / "bare", tmp_path / "copies", labels=labels))
    np.testing.assert_array_equal(result.given, np.full(5, 20))
    for found, expected in zip(read_copies(tmp_path / "copies"), read_copies(alone[1]), strict=True):
        np.testing.assert_array_equal(found, expected)


class TestRefusals:
    """One clear line, and nothing written."""

    def refused(self, streets, tmp_path, error, match, paths=None, **others) -> None:
        folder = tmp_path / "copies"
        with pytest.raises(error, match=match):
            segment(request(streets, folder, **{"scans": paths or streets / "*.la?", **others}))
        assert not folder.exists()

    def test_units(self, streets, tmp_path):
        paths = [self.with_unit(streets, tmp_path / f"{code}.las", code) for code in (2263, 32632)]
        match = r"agree in their unit \(metres\). Got 0.3048\d* in .*2263.las and 1.0 in .*32632.las"
        self.refused(streets, tmp_path, DataError, match, paths)

    def with_unit(self, streets, path, code) -> Path:
        import pyproj

        las = laspy.read(streets / NAMES[0])
        las.header.add_crs(pyproj.CRS.from_epsg(code))
        las.write(path)
        return path

    def test_systems(self, streets, tmp_path):
        paths = [self.with_unit(streets, tmp_path / f"{code}.las", code) for code in (32632, 32633)]
        match = r"agree in their coordinate system. Got .*zone 32N in .*32632.las and .*zone 33N"
        self.refused(streets, tmp_path, DataError, match, paths)

    def test_an_index_alone(self, streets, tmp_path):
        (tmp_path / "picked.csv").write_text("index,label\n3,2\n4,3\n")
        labels = str(tmp_path / "picked.csv")
        self.refused(streets, tmp_path, ColumnError, "which of the 4 scans an index is of", labels=labels)

    def test_a_file_that_is_no_scan_of_these(self, streets, tmp_path):
        (tmp_path / "picked.csv").write_text("file,index,label\na.las,3,2\nz.las,4,3\n")
        labels = str(tmp_path / "picked.csv")
        self.refused(streets, tmp_path, DataError, r"row 2: the file must be .*Got 'z.las'", labels=labels)

    def test_names_twice(self, streets, tmp_path):
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / NAMES[0]).write_bytes((streets / NAMES[0]).read_bytes())
        paths = [streets / NAMES[0], tmp_path / "b" / NAMES[0]]
        self.refused(streets, tmp_path, ParameterError, "must have different names", paths)

    def test_scans_are_not_written_over(self, streets):
        with pytest.raises(ParameterError, match="must not write over"):
            segment(request(streets, streets, force=True))

    def test_nothing_matches(self, streets, tmp_path, capsys):
        arguments = [
            "segment",
            str(tmp_path / "*.laz"),
            "--labels",
            "classification",
            "-o",
            str(tmp_path / "o"),
        ]
        assert main(arguments) == 2
        assert "There is no file that" in capsys.readouterr().err


def test_a_column_that_one_file_lacks(streets, tmp_path):
    """Colours in one file alone do not become features."""
    (tmp_path / "tiles").mkdir()
    for name in NAMES[:2]:
        las = laspy.read(streets / name)
        if name == NAMES[0]:
            las = laspy.convert(las, point_format_id=7)
            las.red = np.arange(len(las.points))
        las.write(tmp_path / "tiles" / name)
    settings = {**QUICK, "trees": 0}
    result = segment(request(tmp_path / "tiles", tmp_path / "copies", settings=settings))
    assert result.fields == ["intensity"]
    assert result.left_out["red"] == "is not in b.las"


def test_the_command(tmp_path):
    """As a user types it: two ranks, one table of results, copies and a model."""
    streets = write_streets(tmp_path / "tiles", 1_500)
    out = tmp_path / "deep" / "copies"
    done = launch(
        2, "segment", streets / "*.las", "--labels", "classification", "-o", out,
        "--save-model", tmp_path / "street.model", "--json",
    )  # fmt: skip
    stdout, stderr = done.communicate(timeout=280)
    assert done.returncode == 0, stderr
    assert said(stderr) == []
    result = json.loads(stdout)  # one, by one rank
    assert result["points"] == sum(laspy.read(streets / name).header.point_count for name in NAMES[:2])
    assert sorted(path.name for path in out.iterdir()) == ["a.las", "b.las"]
    counts = sum(np.bincount(laspy.read(out / name).classification, minlength=8) for name in NAMES[:2])
    assert [one["points"] for one in result["classes"]] == counts[2:7].tolist()
    assert (tmp_path / "street.model").exists()
