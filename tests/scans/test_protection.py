"""``--only`` and ``--keep``: points that keep the class of their file, in every format."""

from __future__ import annotations

import json
from dataclasses import replace

import laspy
import numpy as np
import pandas as pd
import pytest
from streets import QUICK, WATER

from pinvgcn.errors import DataError, InputError, LabelError, ParameterError
from pinvgcn.io import open_scan
from pinvgcn.scans import PredictRequest, SegmentRequest, plan, predict, segment
from pinvgcn.scans.copies import Outcomes, ScanCopy
from pinvgcn.scans.protection import FOREIGN, FREE, Protection, distinct, protect
from pinvgcn.scans.requests import ScanFiles
from pinvgcn.scans.streaming import TileAnswers


@pytest.fixture(scope="module")
def free(half, model, tmp_path_factory):
    """What predict says of all points, and how sure it is."""
    out = tmp_path_factory.mktemp("free") / "out.laz"
    predict(PredictRequest(model, half[0], out))
    return laspy.read(out)


ASKED = [({"only": ("1", "5")}, [1, 5], False), ({"keep": ("2", "6", "9")}, [2, 6, 9], True)]


@pytest.mark.parametrize(("asked", "named", "kept"), ASKED)
def test_predict_changes_no_protected_point(half, model, free, asked, named, kept, tmp_path):
    path, before = half
    request = PredictRequest(model, path, tmp_path / "out.laz", tile_points=1_000, **asked)
    result = predict(request)
    after = laspy.read(tmp_path / "out.laz")
    stays = np.isin(before, named) == kept
    noise = before == 7
    expected = np.where(stays | noise, before, np.array(free.classification))
    np.testing.assert_array_equal(after.classification, expected)
    assert (np.array(after.classification)[~stays & ~noise] != before[~stays & ~noise]).any()
    # the model answers as before: protected points take part in the cloud
    same = ~stays & ~noise
    np.testing.assert_allclose(after.confidence[same], free.confidence[same], rtol=1e-5)
    np.testing.assert_array_equal(after.outside, free.outside)
    assert (np.array(after.confidence)[stays & (before == WATER)] == 0).all()
    agree = stays & (before == np.array(free.classification)) & ~noise
    np.testing.assert_allclose(after.confidence[agree], free.confidence[agree], rtol=1e-5)
    differ = stays & (before != np.array(free.classification)) & (before != WATER) & ~noise
    assert (np.array(after.confidence)[differ] <= np.array(free.confidence)[differ]).all()
    protected = stays & ~noise
    told = json.loads(json.dumps(result.as_dict()))
    assert told["protected"]["points"] == protected.sum()
    counted = {one["class"]: one["points"] for one in told["protected"]["classes"]}
    values, counts = np.unique(before[protected], return_counts=True)
    assert counted == dict(zip(values.tolist(), counts.tolist(), strict=True))
    changed = np.array(after.classification)[same]
    assert {one["class"]: one["points"] for one in told["classes"]} == {
        c: int((changed == c).sum()) for c in range(2, 7)
    }
    assert sum(one["points"] for one in told["classes"]) + protected.sum() + noise.sum() == len(before)
    assert result.mean_confidence == pytest.approx(np.array(after.confidence)[same].mean(), rel=1e-5)


@pytest.mark.parametrize("fit_points", [200_000, 2_000])
def test_segment_keeps_labels_before_classes_of_the_file(street, half, picked, fit_points, tmp_path):
    """A label that was picked is newer than the file's class; --relabel writes the model's elsewhere."""
    path, before = half
    labels, known = picked
    plain = SegmentRequest(
        path, str(labels), tmp_path / "plain.laz", settings=QUICK, fit_points=fit_points, tile_points=1_500
    )
    segment(plain)
    answer = np.array(laspy.read(plain.out).classification)
    one = segment(replace(plain, out=tmp_path / "one.laz", keep=("2", "9")))
    written = np.array(laspy.read(tmp_path / "one.laz").classification)
    stays = np.isin(before, [2, 9])
    labelled = np.zeros(len(before), dtype=bool)
    labelled[known] = True
    expected = np.where(stays & ~labelled, before, answer)
    np.testing.assert_array_equal(written, expected)
    np.testing.assert_array_equal(written[known], street.given[known])
    other = labelled & stays & (before != street.given)  # water that was labelled
    assert other.any()
    assert one.protected is not None
    assert one.protected.points == (stays & ~other).sum()
    again = segment(replace(plain, out=tmp_path / "again.laz", keep=("2", "9"), relabel=True))
    assert again.protected is not None
    assert again.protected.points == stays.sum()
    np.testing.assert_array_equal(
        np.array(laspy.read(tmp_path / "again.laz").classification)[stays], before[stays]
    )


def test_labels_in_the_classification_itself(street, tmp_path):
    """The usual case: 1 is to be found, all others are labels; and what is left to do is said."""
    request = SegmentRequest(street.path, "classification", tmp_path / "a.las", settings=QUICK)
    segment(request)
    result = segment(replace(request, out=tmp_path / "b.las", only=("1",)))
    a, b = (laspy.read(tmp_path / name) for name in ("a.las", "b.las"))
    np.testing.assert_array_equal(a.classification, b.classification)
    np.testing.assert_array_equal(a.confidence, b.confidence)
    assert result.protected is not None
    assert dict(result.protected.counts) == dict.fromkeys(range(2, 7), 20)
    with pytest.raises(LabelError, match=r"--only 5 leaves no point .* unless --relabel"):
        segment(replace(request, out=tmp_path / "c.las", only=("5",)))
    segment(replace(request, out=tmp_path / "c.las", only=("5",), relabel=True))
    c = np.array(laspy.read(tmp_path / "c.las").classification)
    np.testing.assert_array_equal(c[street.given != 5], street.given[street.given != 5])


def test_another_field_gets_the_classes_of_the_file(half, model, tmp_path):
    path, before = half
    predict(PredictRequest(model, path, tmp_path / "out.las", field="guess", keep=("9", "2")))
    after = laspy.read(tmp_path / "out.las")
    np.testing.assert_array_equal(after.classification, before)
    stays = np.isin(before, [9, 2])
    np.testing.assert_array_equal(np.array(after.guess)[stays], before[stays])
    assert (np.array(after.guess)[before == 7] == -1).all()


def as_text(points, classes, path, *, name="class", gap=""):
    rows = ["x,y,z," + name]
    rows += [
        f"{x:.3f},{y:.3f},{z:.3f},{gap if c == 1 else c}"
        for (x, y, z), c in zip(points, classes, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("ending", [".ply", ".pcd", ".csv"])
@pytest.mark.parametrize("field", [None, "class"])
def test_formats_without_a_classification(street, half, ending, field, tmp_path):
    """The column 'class' is found by its name; it is written to with --field, and copied from without."""
    text = as_text(street.points, half[1], tmp_path / "text.csv", gap="1")
    source = tmp_path / f"scan{ending}"
    if ending == ".csv":
        text.rename(source)
    else:
        with open_scan(text).writer(source, {}) as writer:
            writer.write({})
    fitted = tmp_path / "bare.model"  # without intensity, which these files lack
    segment(
        SegmentRequest(
            street.path, "classification", tmp_path / "x.las", settings=QUICK, features=(), save_model=fitted
        )
    )
    out = tmp_path / f"out{ending}"
    result = predict(PredictRequest(fitted, source, out, field=field, only=("1",)))
    after = open_scan(out).read()
    written = after.fields[field or "predicted"]
    stays = half[1] != 1  # no noise: only LAS has it
    np.testing.assert_array_equal(written[stays], half[1][stays])
    assert set(np.unique(written[~stays])) <= set(range(2, 7))
    np.testing.assert_array_equal(after.fields["class"][stays], half[1][stays])
    assert result.as_dict()["protected"]["points"] == stays.sum()


@pytest.fixture(scope="module")
def words(street, tmp_path_factory):
    """A text scan with words for classes and gaps."""
    names = np.array(["", "", "ground", "wall", "tree", "pole", "wire"], dtype=object)
    folder = tmp_path_factory.mktemp("words")
    truth = names[street.truth].copy()
    labels = names[np.where(street.given == 7, 1, street.given)]
    truth[::4] = ""
    truth[5:20] = "water body"
    rows = zip(street.points, labels, truth, strict=True)
    lines = [f"{x:.3f},{y:.3f},{z:.3f},{a},{b}" for (x, y, z), a, b in rows]
    path = folder / "scan.csv"
    path.write_text("\n".join(["x,y,z,label,done", *lines]) + "\n")
    return path, truth


@pytest.mark.parametrize("asked", [{"only": ("",)}, {"keep": ("ground", "water body")}])
def test_words_and_gaps(words, asked, tmp_path):
    path, before = words
    request = SegmentRequest(path, "label", tmp_path / "out.csv", settings=QUICK, field="done", relabel=True)
    segment(replace(request, **asked))
    after = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["done"].to_numpy(dtype=object)
    stays = before != "" if "only" in asked else np.isin(before, ["ground", "water body"])
    np.testing.assert_array_equal(after[stays], before[stays])
    assert set(after[~stays]) <= {"ground", "wall", "tree", "pole", "wire"}


@pytest.mark.parametrize("ending", [".ply", ".csv"])
def test_gaps_that_are_kept_stay_gaps(street, half, ending, tmp_path):
    """Of a column of numbers; elsewhere the column is made of whole numbers, and -1 has no class."""
    text = as_text(street.points, half[1], tmp_path / "text.csv")
    given = np.where(street.given == 7, -1, np.where(street.given == 1, -1, street.given))
    lines = text.read_text().splitlines()
    added = ["label", *map(str, given)]
    text.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, added, strict=True)) + "\n")
    source = tmp_path / f"scan{ending}"
    with open_scan(text).writer(source, {}) as writer:
        writer.write({})
    request = SegmentRequest(source, "label", tmp_path / f"a{ending}", settings=QUICK, relabel=True)
    segment(replace(request, keep=("", "2"), field="class"))
    after = open_scan(tmp_path / f"a{ending}").read().fields["class"].astype(float)
    gap, two = half[1] == 1, half[1] == 2
    assert np.isnan(after[gap]).all()
    assert (after[two] == 2).all()
    assert np.isin(after[~gap & ~two], range(2, 7)).all()
    if ending == ".csv":
        assert "nan" not in (tmp_path / "a.csv").read_text()
        kept = (tmp_path / "a.csv").read_text().splitlines()[1:]
        assert {line.split(",")[3] for line in kept} <= {"", "2", "3", "4", "5", "6"}


def test_classes_that_are_kept_get_room(tmp_path):
    """A class of the file beyond the type of the column that is new is not wrapped."""
    path = tmp_path / "scan.csv"
    path.write_text("x,y,z,class\n0,0,0,5000000000\n1,0,0,1\n2,0,0,2\n")
    source = open_scan(path)
    rule = Protection("--only", ("1",), "class")
    codes, found = protect(rule, ScanFiles.of([path]), None, [1, 2])
    assert codes[0].tolist() == [FOREIGN, FREE, 1]
    copy = ScanCopy(source, tmp_path / "out.csv", None, [1, 2], kept=found)
    proba = np.array([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]])
    found = TileAnswers(np.arange(3), proba, np.zeros(3, dtype=np.uint8))
    outcomes = Outcomes.of(found, kept=codes[0])
    copy.write(outcomes, lambda *_: None)
    after = pd.read_csv(tmp_path / "out.csv")
    assert after["predicted"].tolist() == [5_000_000_000, 1, 2]
    np.testing.assert_allclose(after["confidence"], [0, 0.5, 0.1], rtol=1e-6)


def test_classes_in_a_column():
    values, which = distinct(np.array([2.0, np.nan, 7.0, 2.0]), "it")
    assert [values[at] for at in which] == [2, None, 7, 2]
    values, which = distinct(np.array(["a", "", " ", "b", "a"], dtype=object), "it")
    assert [values[at] for at in which] == ["a", None, None, "b", "a"]
    with pytest.raises(LabelError, match="whole numbers or text"):
        distinct(np.array([0.5]), "it")


BAD = [
    ({"only": ("1",), "keep": ("2",)}, ParameterError, "must not stand together"),
    ({"only": ("ground",)}, LabelError, "numbers. Got 'ground' instead"),
    ({"only": ("77", "78")}, LabelError, r"'classification': 1, 2, 3.*Got 77,78 instead"),
    ({"keep": ("1", "2", "3", "4", "5", "6", "9")}, LabelError, "leaves no point"),
    ({"only": ("7",)}, LabelError, "leaves no point"),  # noise keeps its class
]


@pytest.mark.parametrize(("asked", "error", "message"), BAD)
def test_what_is_refused(half, model, asked, error, message, tmp_path):
    request = PredictRequest(model, half[0], tmp_path / "out.laz", **asked)
    for work in (predict, plan):
        with pytest.raises(error, match=message):
            work(request)
    assert not list(tmp_path.iterdir())


def test_a_file_without_classes(street, tmp_path):
    points = tmp_path / "points.csv"
    pd.DataFrame(street.points, columns=["x", "y", "z"]).assign(i=1.5).to_csv(points, index=False)
    labels = tmp_path / "labels.csv"
    known = np.flatnonzero(street.given > 1)[:60]
    pd.DataFrame({"index": known, "label": street.truth[known]}).to_csv(labels, index=False)
    request = SegmentRequest(points, str(labels), tmp_path / "out.csv", settings=QUICK, keep=("2",))
    with pytest.raises(DataError, match=r"--keep needs the classes .* name it with --field. Its fields: i"):
        segment(request)
    with pytest.raises(InputError, match="must hold classes: whole numbers or text"):
        segment(replace(request, field="i"))
    assert not (tmp_path / "out.csv").exists()


def test_a_class_that_no_point_has_is_noted(half, model, tmp_path):
    request = PredictRequest(model, half[0], tmp_path / "out.laz", keep=("2", "66"))
    facts = plan(request).facts
    expected = f"{(half[1] == 2).sum():,} points keep their class in 'classification' (--keep 2,66)"
    assert facts["protected"].startswith(expected)
    assert "no point has class 66" in facts["protected"]
    result = predict(request)
    assert "no point has class 66 in 'classification', which --keep names" in result.notes()
    assert result.as_dict()["protected"]["absent"] == ["66"]


def test_dry_run_of_segment(street, tmp_path):
    request = SegmentRequest(street.path, "classification", tmp_path / "out.las", only=("1",))
    said = plan(request).facts["protected"]
    assert said.startswith("100 points keep their class in 'classification' (--only 1): 20 of 2 ground")
