"""segment and predict on real files, read back by laspy and pandas."""

from __future__ import annotations

import warnings
from dataclasses import replace

import laspy
import numpy as np
import pandas as pd
import pytest
from streets import CORNER, NOISE, QUICK, write_street

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import DataError, LabelError, ModelFileError, ParameterError, ScanFileError
from pinvgcn.features import local_geometry
from pinvgcn.features.geometry import lattice_for
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.scans import PredictRequest, SegmentRequest, predict, segment
from pinvgcn.scans.labels import LabelFile
from pinvgcn.scans.subsample import Subsample

ADDED = {"confidence", "outside"}


def run(street, out, **others):
    request = {"scans": street.path, "labels": "classification", "out": out, "settings": QUICK, **others}
    return segment(SegmentRequest(**request))


def test_every_point_has_a_class_and_nothing_else_has_changed(street, whole):
    result, folder = whole
    before, after = laspy.read(street.path), laspy.read(folder / "out.las")
    assert set(after.point_format.dimension_names) == {*before.point_format.dimension_names, *ADDED}
    for name in before.point_format.dimension_names:
        if name != "classification":
            np.testing.assert_array_equal(after[name], before[name])
    written = np.array(after.classification)
    labelled, noise = street.given > 1, street.given == 7
    np.testing.assert_array_equal(written[labelled], street.given[labelled])  # noise among them
    assert set(written[~labelled]) <= {2, 3, 4, 5, 6}
    assert (written == street.truth)[~labelled].mean() > 0.8
    sure = np.array(after.confidence)
    assert (sure[noise] == 0).all()
    assert ((sure[~noise] > 0) & (sure[~noise] <= 1)).all()
    assert not np.array(after.outside).any()
    assert (result.noise, result.outside, result.alone, result.tiles) == (NOISE, 0, 0, 1)
    np.testing.assert_array_equal(result.given, np.full(5, 20))
    np.testing.assert_array_equal(result.counts, np.bincount(written[~noise], minlength=7)[2:])
    assert result.fields == ["intensity"]
    assert result.left_out == dict.fromkeys(["return_number", "number_of_returns"], "is the same everywhere")


def origin_of(points: np.ndarray) -> np.ndarray:
    """The multiple of 1,024 m nearest to the middle."""
    return 1024 * np.round((points.min(axis=0) + points.max(axis=0)) / 2048)


def test_it_is_what_the_classifier_says(street, whole):
    """The estimator on the same points: noise left out, metres from the middle, intensity beside."""
    stays = street.given != 7
    points = street.points[stays]
    origin = origin_of(points)
    y = np.where(street.given == 1, -1, street.given)[stays]
    model = PinvGCNClassifier(**QUICK).fit(points - origin, y, features=street.intensity[stays, None])
    after = laspy.read(whole[1] / "out.las")
    expected = np.where(y < 0, model.transduction_, y)
    np.testing.assert_array_equal(np.array(after.classification)[stays], expected)
    sure = model.transduction_proba_[np.arange(len(y)), np.searchsorted(model.classes_, expected)]
    np.testing.assert_array_equal(np.array(after.confidence)[stays], sure.astype(np.float32))


@pytest.mark.parametrize("tile_points", [700, 5_000])
def test_predict_in_tiles_is_the_transduction(street, whole, tile_points, tmp_path):
    result = predict(
        PredictRequest(whole[1] / "scan.model", street.path, tmp_path / "out.las", tile_points=tile_points)
    )
    assert result.tiles == (4 if tile_points == 700 else 1)
    first, second = laspy.read(whole[1] / "out.las"), laspy.read(tmp_path / "out.las")
    free = street.given == 1
    np.testing.assert_array_equal(second.classification[free], first.classification[free])
    np.testing.assert_allclose(second.confidence[free], first.confidence[free], rtol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["out.las"]


def test_a_large_scan_is_fitted_to_a_part_with_shapes_of_the_whole(street, tmp_path):
    result = run(street, tmp_path / "out.las", fit_points=2_200, tile_points=900)
    assert result.tiles == 4
    stays = street.given != 7
    codes = np.select([street.given == 1, street.given == 7], [-1, -2], street.given - 2)
    part = drawn(codes, 2_200)
    assert result.fitted == len(part)
    assert 2_100 < len(part) < 2_300
    points = street.points - origin_of(street.points[stays])
    lattice = lattice_for(points[stays])
    shapes = LocalShapes(local_geometry(points[part], points[stays], cell=lattice.cell), lattice)
    y = np.where(street.given == 1, -1, street.given)
    extra = street.intensity[:, None]
    model = PinvGCNClassifier(**QUICK).fit(points[part], y[part], features=extra[part], shapes=shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P = model.predict_proba(points[stays], features=extra[stays], among="own")
    expected = np.where(y[stays] < 0, model.classes_[P.argmax(axis=1)], y[stays])
    after = laspy.read(tmp_path / "out.las")
    np.testing.assert_array_equal(np.array(after.classification)[stays], expected)
    sure = P[np.arange(len(P)), np.searchsorted(model.classes_, expected)]
    np.testing.assert_allclose(np.array(after.confidence)[stays], sure, rtol=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["out.las"]


def test_relabel_and_another_field(street, whole, tmp_path):
    run(street, tmp_path / "out.las", relabel=True, field="model_says", fit_points=10_000)
    after = laspy.read(tmp_path / "out.las")
    np.testing.assert_array_equal(after.classification, street.given)
    labelled = street.given > 1
    free = street.given == 1
    says = np.array(after["model_says"])
    np.testing.assert_array_equal(says[free], laspy.read(whole[1] / "out.las").classification[free])
    assert (says[street.given == 7] == -1).all()
    assert (says[labelled] != street.given[labelled]).any()  # a model is not always right, and says so


def test_feet_and_far_corners_change_nothing(street, whole, tmp_path):
    feet = write_street(tmp_path / "feet.las", unit=0.3048, corner=CORNER + 1024 * np.array([700, 40, 1]))
    run(feet, tmp_path / "out.las", metres=0.3048)
    first, second = laspy.read(whole[1] / "out.las"), laspy.read(tmp_path / "out.las")
    same = np.array(first.classification) == np.array(second.classification)
    assert same.mean() > 0.995  # coordinates are rounded differently
    np.testing.assert_allclose(np.mean(second.confidence), np.mean(first.confidence), atol=0.01)


def test_points_beyond_the_model_are_flagged(street, whole, tmp_path):
    """Some near the scan, some far away, some on another continent."""
    las = laspy.read(street.path)
    z, x = np.array(las.z), np.array(las.x)
    z[10:13] += 60.0
    x[20:25] += 200_000.0
    las.x, las.z = x, z
    las.write(tmp_path / "strays.las")
    result = predict(
        PredictRequest(
            whole[1] / "scan.model", tmp_path / "strays.las", tmp_path / "out.las", tile_points=900
        )
    )
    after = laspy.read(tmp_path / "out.las")
    flags = np.array(after.outside)
    assert (flags[10:13] >= 1).all()
    assert (flags[20:25] == 1).all()  # nothing is too far away: shapes alone decide
    assert set(np.array(after.classification)[20:25]) <= {2, 3, 4, 5, 6}
    assert result.alone == 0
    assert result.outside == (flags == 1).sum() <= 20
    assert any("are classified without their place (outside = 1)" in line for line in result.notes())
    assert not any("another scan" in line for line in result.notes())
    many = replace(result, outside=result.source.count * 3 // 5)
    assert many.elsewhere
    assert any("this is another scan: shapes decide" in line for line in many.notes())


class TestLabels:
    """Where labels come from."""

    def table(self, street, by_place: bool) -> pd.DataFrame:
        rows = np.flatnonzero((street.given > 1) & (street.given < 7))
        labels = {"label": street.given[rows]}
        if not by_place:
            return pd.DataFrame({"index": rows, **labels})
        return pd.DataFrame(np.round(street.points[rows], 2), columns=["x", "y", "z"]).assign(**labels)

    @pytest.mark.parametrize("by_place", [False, True])
    def test_a_file_of_their_own(self, street, whole, by_place, tmp_path):
        table = self.table(street, by_place)
        table.to_csv(tmp_path / "picked.csv", index=False)
        las = laspy.read(street.path)
        las.classification = np.where(street.given == 7, 7, 0)
        las.write(tmp_path / "bare.las")
        result = segment(
            SegmentRequest(
                tmp_path / "bare.las", str(tmp_path / "picked.csv"), tmp_path / "out.las", settings=QUICK
            )
        )
        np.testing.assert_array_equal(result.given, np.full(5, 20))
        first, second = laspy.read(whole[1] / "out.las"), laspy.read(tmp_path / "out.las")
        np.testing.assert_array_equal(first.classification, second.classification)

    def test_text_scans_with_words(self, street, tmp_path):
        names = np.array(["", "", "ground", "plant", "wire", "pole", "house", ""])
        frame = pd.DataFrame(street.points - CORNER, columns=["x", "y", "z"])
        frame["what"] = names[np.where(street.given == 7, 1, street.given)]
        frame["room"] = 3
        frame.to_csv(tmp_path / "scan.csv", index=False)
        result = segment(SegmentRequest(tmp_path / "scan.csv", "what", tmp_path / "out.csv", settings=QUICK))
        after = pd.read_csv(tmp_path / "out.csv")
        assert list(after.columns) == [*frame.columns, "predicted", "confidence", "outside"]
        assert set(after["predicted"]) <= {"ground", "plant", "wire", "pole", "house"}
        known = frame["what"] != ""
        assert (after["predicted"] == frame["what"])[known].all()
        assert result.classes == ["ground", "house", "plant", "pole", "wire"]

    def test_one_label_twice(self, street, tmp_path):
        table = self.table(street, False)
        table.loc[3, "index"] = table.loc[0, "index"]
        table.loc[3, "label"] = table.loc[0, "label"] + 1
        table.to_csv(tmp_path / "picked.csv", index=False)
        with pytest.raises(LabelError, match="rows 1 and 4: they label the same point"):
            run(street, tmp_path / "out.las", labels=str(tmp_path / "picked.csv"))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("index,label\n3,2\n99999,3\n", "row 2: the index must be one of 0 to 2,599. Got 99999"),
            ("index,label\n3,2\nx,3\n", "row 2: index must be a number. Got 'x'"),
            ("x,y,z,label\n0,0,0,2\n", r"row 1: no point of .* is within 0.05 m of \(0, 0, 0\)"),
            ("point,label\n0,2\n", "must have the columns index,label or x,y,z,label"),
            ("index,label\n3,2\n4,\n", "row 2: the label is missing"),
            ("index,label\n", "must hold labels. Got a header alone"),
            ("index,label\n13,2\n14,2\n", "two classes or more. Got 2 of 2 alone"),
            ("index,label\n13,tree\n14,house\n", "labels must be whole numbers. Got 'house'"),
        ],
    )
    def test_wrong_rows_are_named(self, street, text, message, tmp_path):
        (tmp_path / "picked.csv").write_text(text)
        with pytest.raises((DataError, LabelError), match=message):
            run(street, tmp_path / "out.las", labels=str(tmp_path / "picked.csv"))
        assert [path.name for path in tmp_path.iterdir()] == ["picked.csv"]


class TestRefusals:
    """One clear line, and nothing written."""

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"labels": "clasification"}, DataError, "did you mean 'classification'"),
            ({"labels": "gps_time"}, LabelError, "must hold classes: whole numbers or text. Got 2.5"),
            (
                {"unlabelled": ("1", "2", "3", "4", "5", "6")},
                LabelError,
                "must have labelled points. Got none",
            ),
            ({"features": ("intensty",)}, DataError, "did you mean 'intensity'"),
            ({"field": "confidence"}, ParameterError, "field must be another name"),
            ({"metres": -1.0}, ParameterError, "metres"),
        ],
    )
    def test_requests(self, street, settings, error, message, tmp_path):
        with pytest.raises(error, match=message):
            run(street, tmp_path / "out.las", **settings)
        assert list(tmp_path.iterdir()) == []

    def test_what_is_there_stays(self, street, tmp_path):
        (tmp_path / "out.las").write_text("mine")
        with pytest.raises(ParameterError, match="is already there"):
            run(street, tmp_path / "out.las")
        assert (tmp_path / "out.las").read_text() == "mine"

    def test_a_class_that_the_format_cannot_hold(self, street, tmp_path):
        las = laspy.read(street.path)
        old = laspy.convert(las, point_format_id=1, file_version="1.2")
        old.write(tmp_path / "old.las")
        (tmp_path / "picked.csv").write_text("index,label\n13,2\n14,40\n")
        with pytest.raises(ScanFileError, match="Got class 40 instead"):
            segment(SegmentRequest(tmp_path / "old.las", str(tmp_path / "picked.csv"), tmp_path / "out.las"))

    def test_columns_that_a_model_needs(self, street, whole, tmp_path):
        frame = pd.DataFrame(street.points[:500], columns=["x", "y", "z"])
        frame.to_csv(tmp_path / "bare.csv", index=False)
        with pytest.raises(DataError, match="must have 'intensity', which the model needs"):
            predict(PredictRequest(whole[1] / "scan.model", tmp_path / "bare.csv", tmp_path / "out.csv"))

    def test_a_model_of_something_else(self, street, tmp_path):
        rows = pd.DataFrame({"a": list("xyxy"), "b": list("ppqq")})
        PinvGCNClassifier("categorical", epochs=2).fit(rows, [0, 1, -1, -1]).save(tmp_path / "table.model")
        with pytest.raises(ModelFileError, match="must be a model of a scan"):
            predict(PredictRequest(tmp_path / "table.model", street.path, tmp_path / "out.las"))


def test_a_model_from_python(street, tmp_path):
    """Fitted to coordinates as they were, saved without a word about itself."""
    y = np.where((street.given > 1) & (street.given < 7), street.given, -1)
    model = PinvGCNClassifier(**QUICK).fit(street.points, y)
    model.save(tmp_path / "plain.model")
    las = laspy.read(street.path)
    las.classification = np.zeros(len(y), dtype=np.uint8)
    las.write(tmp_path / "bare.las")
    predict(
        PredictRequest(tmp_path / "plain.model", tmp_path / "bare.las", tmp_path / "out.las", tile_points=800)
    )
    after = laspy.read(tmp_path / "out.las")
    np.testing.assert_array_equal(after.classification, model.transduction_)


def drawn(codes, size):
    """Numbers of the points that a scan with these codes is fitted to."""
    counts = np.bincount(codes[codes >= 0])
    choice = Subsample.of(counts, int((codes == -1).sum()), size)
    return np.flatnonzero(choice(np.arange(len(codes)), codes))


class TestThinning:
    def codes(self):
        rng = np.random.default_rng(0)
        return rng.choice([-2, -1, 0, 1, 2], 20_000, p=[0.05, 0.8, 0.1, 0.049, 0.001]).astype(np.int16)

    @pytest.mark.parametrize(("size", "labels"), [(8_000, None), (4_000, 2_000)])
    def test_labels_first_and_others_whoever_has_them(self, size, labels):
        """All labels, or half of what is wanted and all of a rare class; by the points' numbers alone."""
        codes = self.codes()
        rows, given = drawn(codes, size), np.flatnonzero(codes >= 0)
        kept = np.bincount(codes[rows][codes[rows] >= 0])
        assert abs(len(rows) - size) < 5 * np.sqrt(size)
        assert (codes[rows] != -2).all()
        assert kept[2] == (codes == 2).sum()
        if labels is None:
            assert set(given) <= set(rows)
        else:
            assert abs(kept.sum() - labels) < 5 * np.sqrt(labels)
        choice = Subsample.of(np.bincount(codes[given]), int((codes == -1).sum()), size)
        numbers = np.arange(len(codes))
        parts = [choice(some, codes[some]) for some in np.array_split(numbers, 5)]
        np.testing.assert_array_equal(np.flatnonzero(np.concatenate(parts)), rows)
        other = replace(choice, random_state=4)
        assert not np.array_equal(other(numbers, codes), choice(numbers, codes))

    def test_small_scans_stay_whole(self):
        codes = self.codes()
        np.testing.assert_array_equal(drawn(codes, 20_000), np.flatnonzero(codes != -2))


def test_cells_are_taken_as_they_are(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("# by hand\nindex,label\n0,pole #1\n1,pole #2\n2,None\n")
    assert LabelFile.read(path).values.tolist() == ["pole #1", "pole #2", "None"]
    path.write_text("")
    with pytest.raises(DataError, match="must be a CSV of labels"):
        LabelFile.read(path)


def test_files_must_differ(tmp_path):
    scan = tmp_path / "a.xyz"
    scan.write_text("x y z label\n" + "\n".join(f"{i} 0 0 {i % 2}" for i in range(20)))
    out = tmp_path / "out.xyz"
    for other, message in ((out, "must be different files"), (scan, "must not write over")):
        request = SegmentRequest(scan, "label", out, save_model=other, force=True)
        with pytest.raises(ParameterError, match=message):
            segment(request)
    assert scan.read_text().startswith("x y z label")
    assert not out.exists()
