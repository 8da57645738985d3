"""Where a label would help most: the choice against brute force, and the file as a user gets it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pandas as pd
import pytest
from streets import QUICK, write_street

from pinvgcn.cli import main
from pinvgcn.errors import PinvGCNError, ScanFileError
from pinvgcn.scans import PredictRequest, SegmentRequest, plan, predict, segment
from pinvgcn.scans.copies import PROTECTED, ClassifiedPoints, Outcomes
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.labels import LabelFile
from pinvgcn.scans.questions import COLUMNS, PULL, ConfidenceMap, choose, write_questions

HERE = Frame(1.0, (0.0, 0.0, 0.0), ())


def cloud(n: int, seed: int) -> ClassifiedPoints:
    """Points on two levels; some regions are in doubt, some points are labelled."""
    draw = np.random.default_rng(seed)
    points = draw.uniform([-40, 0, 0], [60, 30, 1], (n, 3))
    points[:, 2] += 8 * draw.integers(0, 2, n)
    doubt = 0.5 * np.exp(-((np.linalg.norm(points[:, :2] - [10, 12], axis=1) / 9) ** 2))
    sure = (1 - doubt * draw.uniform(0, 1, n)).astype(np.float32)
    codes = draw.integers(0, 3, n).astype(np.int16)
    said = Outcomes(
        codes, sure, np.zeros(n, np.uint8), None, ((codes + 1) % 3).astype(np.int16), (1 - sure) / 2
    )
    return ClassifiedPoints(np.arange(n), points, said, draw.uniform(size=n) < 0.02)


def cut(seen: ClassifiedPoints, parts: int, seed: int = 0) -> list[ClassifiedPoints]:
    """The same points in parts, and in another order."""
    order = np.array_split(np.random.default_rng(seed).permutation(len(seen.index)), parts)
    return [
        ClassifiedPoints(seen.index[some], seen.points[some], seen.outcomes.at(some), seen.labelled[some])
        for some in order
    ]


def by_brute_force(seen: ClassifiedPoints, side: float, apart: float, count: int) -> list[int]:
    """All cells and all points, one by one."""
    cells: dict[tuple[int, ...], list[int]] = {}
    for row in np.flatnonzero(~seen.labelled):
        cells.setdefault(tuple(int(v) for v in np.floor(seen.points[row] / side)), []).append(int(row))
    whole = np.rint(seen.outcomes.confidence.astype(float) * 2**20) / 2**20
    ranked = []
    for cell, rows in cells.items():
        middle = (np.array(cell) + 0.5) * side
        keys = [whole[r] + PULL * np.linalg.norm(seen.points[r] - middle) / side for r in rows]
        ranked.append((-sum(1 - whole[r] for r in rows), cell, rows[int(np.argmin(keys))]))
    chosen: list[int] = []
    for doubt, _, row in sorted(ranked):
        far = all(np.linalg.norm(seen.points[row] - seen.points[c]) >= apart for c in chosen)
        if doubt < 0 and far and len(chosen) < count:
            chosen.append(row)
    return chosen


@pytest.mark.parametrize(("n", "count"), [(4_000, 50), (4_000, 7), (300, 50), (17, 3)])
def test_the_choice_is_that_of_brute_force(n, count):
    seen = cloud(n, seed=n)
    places = choose(lambda: [seen], count=count)
    side = places[0].side
    covered = side_of_area(seen.points, n, count)
    assert np.log2(side) == round(np.log2(side))
    apart, finest = covered
    assert finest <= side
    expected = by_brute_force(seen, side, apart, count)
    assert [place.index for place in places] == expected
    assert len(places) > 1
    for place in places:
        assert place.confidence == seen.outcomes.confidence[place.index]
        assert place.second == (place.code + 1) % 3
        np.testing.assert_array_equal(place.point, seen.points[place.index])


def side_of_area(points: np.ndarray, n: int, count: int) -> tuple[float, float]:
    """The distance of places, from the finest cells of 16 points on average; and these."""
    free = n - int(cloud(n, seed=n).labelled.sum())
    side = 2.0**-14
    while len(np.unique(np.floor(points / side), axis=0)) > max(free / 16, 8):
        side *= 2
    plan = len(np.unique(np.floor(points[:, :2] / side), axis=0))
    return float(np.sqrt(plan / (2 * count)) * side), side


@pytest.mark.parametrize("parts", [1, 2, 9])
def test_order_and_parts_change_nothing(parts):
    seen = cloud(5_000, seed=1)
    pieces = cut(seen, parts)
    assert choose(lambda: pieces) == choose(lambda: [seen])
    one, other = ConfidenceMap.of(lambda: [seen], HERE), ConfidenceMap.of(lambda: pieces, HERE)
    for name in ("side", "low", "confidence", "points", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_few_cells_in_memory_and_a_stray(monkeypatch):
    """A scan with more cells than memory has room for, and one point far away, which is in doubt."""
    monkeypatch.setattr("pinvgcn.scans.questions.MOST", 40)
    seen = cloud(3_000, seed=2)
    seen.points[7] = 4_000.0, -9_000.0, 500.0
    seen.outcomes.confidence[7], seen.labelled[7] = 0.3, False
    pieces = cut(seen, 4)
    places = choose(lambda: pieces)
    assert choose(lambda: [seen]) == places
    assert 7 in [place.index for place in places]
    assert places[0].side >= 8


def test_nothing_to_ask():
    """Certain points, labelled points, no points."""
    seen = cloud(400, seed=3)
    seen.outcomes.confidence[:] = 1.0
    assert choose(lambda: [seen]) == []
    seen = cloud(400, seed=3)
    seen.labelled[:] = True
    assert choose(lambda: [seen]) == []
    assert choose(list) == []


def test_the_map_has_the_means_of_its_cells():
    seen = cloud(6_000, seed=4)
    frame = Frame(0.5, (1024.0, -2048.0, 0.0), ())  # half metres
    found = ConfidenceMap.of(lambda: cut(seen, 3), frame)
    assert found.points.sum() + found.labels.sum() == 6_000
    assert found.labels.sum() == seen.labelled.sum()
    assert found.points.sum() / len(found.points) >= 4
    at = frame.coordinates(seen.points)[:, :2]
    for cell in (0, 5, len(found.low) - 1):
        inside = ((at >= found.low[cell]) & (at < found.low[cell] + found.side)).all(axis=1)
        free = inside & ~seen.labelled
        assert free.sum() == found.points[cell]
        assert found.confidence[cell] == pytest.approx(seen.outcomes.confidence[free].mean(), abs=1e-6)


def test_the_file_names_points_of_the_scan(street, whole):
    result, folder = whole
    table = pd.read_csv(folder / "q.csv")
    after = laspy.read(folder / "out.las")
    assert tuple(table.columns) == COLUMNS
    assert 10 < len(table) <= 50
    np.testing.assert_array_equal(table["number"], 1 + np.arange(len(table)))
    np.testing.assert_allclose(table[["x", "y", "z"]], street.points[table["index"]], atol=1e-6)
    np.testing.assert_array_equal(table["predicted"], np.array(after.classification)[table["index"]])
    np.testing.assert_allclose(table["confidence"], np.array(after.confidence)[table["index"]], atol=1e-4)
    assert (street.given[table["index"]] == 1).all()  # neither labelled nor noise
    assert (table["runner_up_probability"] <= table["confidence"] + 1e-4).all()
    assert (table["runner_up"] != table["predicted"]).all()
    assert table["label"].isna().all()
    assert set(table["file"]) == {"street.las"}
    assert set(table["predicted_name"]) <= {
        "ground", "low vegetation", "medium vegetation", "high vegetation", "building",
    }  # fmt: skip
    assert table["why"].str.contains("expected to be wrong").all()
    assert table["confidence"].mean() < np.array(after.confidence).mean() - 0.1
    assert result.as_dict()["questions"] == str(folder / "q.csv")


def test_answers_are_labels(street, whole, tmp_path):
    """The table with its column ``label`` filled in is what --labels takes; as it is, it is refused."""
    folder = whole[1]
    with pytest.raises(PinvGCNError, match="label is missing"):
        LabelFile.read(folder / "q.csv")
    table = pd.read_csv(folder / "q.csv")
    table["label"] = street.truth[table["index"]]
    table.to_csv(tmp_path / "answers.csv", index=False)
    request = SegmentRequest(street.path, str(tmp_path / "answers.csv"), tmp_path / "out.las", settings=QUICK)
    result = segment(request)
    assert result.given.sum() == len(table)


@pytest.mark.parametrize("tile_points", [700, 50_000])
def test_tiles_ask_what_memory_asks(street, whole, tile_points, tmp_path):
    """predict of the same scan asks about the same points, however it is cut."""
    folder = whole[1]
    one = PredictRequest(
        folder / "scan.model", street.path, tmp_path / "one.las", questions=tmp_path / "one.csv",
        tile_points=tile_points,
    )  # fmt: skip
    predict(one)
    predict(replace(one, out=tmp_path / "cut.las", questions=tmp_path / "cut.csv", tile_points=1_100))
    rows = (tmp_path / "one.csv").read_text().splitlines()
    assert rows == (tmp_path / "cut.csv").read_text().splitlines()
    assert len(rows) > 11


def test_protected_points_count_as_labelled():
    """They are not asked about, and leave cells, distances and the map as if they were not there."""
    seen = cloud(4_000, seed=6)
    far = seen.points[:, 0] > 0
    codes = np.where(seen.labelled, 1, -1)
    seen.outcomes.codes[far] = PROTECTED
    found = ClassifiedPoints.of(seen.index, seen.points, seen.outcomes, codes)
    np.testing.assert_array_equal(found.labelled, seen.labelled | far)
    np.testing.assert_array_equal(found.protected, far & ~seen.labelled)
    rest = np.flatnonzero(~far | seen.labelled)
    alone = ClassifiedPoints.of(seen.index[rest], seen.points[rest], seen.outcomes.at(rest), codes[rest])
    places = choose(lambda: [found])
    assert places == choose(lambda: [alone])
    assert len(places) > 10
    assert not far[[place.index for place in places]].any()
    one, other = ConfidenceMap.of(lambda: [found], HERE), ConfidenceMap.of(lambda: [alone], HERE)
    for name in ("side", "low", "confidence", "points", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.labels.sum() == seen.labelled.sum()  # a label that agrees with the file is one all the same


PROTECTING = [{"only": ("1",)}, {"keep": ("2", "5", "9")}]


@pytest.mark.parametrize("protecting", PROTECTING)
def test_predict_asks_about_no_protected_point(model, half, protecting, tmp_path):
    path, classes = half
    request = PredictRequest(
        model, path, tmp_path / "one.las", questions=tmp_path / "one.csv",
        tile_points=1_000, **protecting,
    )  # fmt: skip
    predict(request)
    places = pd.read_csv(tmp_path / "one.csv")["index"]
    assert len(places) > 10
    stays = classes != 1 if "only" in protecting else np.isin(classes, [2, 5, 9])
    assert stays.sum() > 1_000
    assert not stays[places].any()
    predict(replace(request, out=tmp_path / "all.las", questions=tmp_path / "all.csv", only=None, keep=None))
    assert stays[pd.read_csv(tmp_path / "all.csv")["index"]].any()


@pytest.mark.parametrize("fit_points", [200_000, 2_000])
@pytest.mark.parametrize("relabel", [False, True])
def test_segment_asks_about_no_protected_point(half, picked, fit_points, relabel, tmp_path):
    """In memory and in tiles; labels are no protected points on the map."""
    (path, classes), (labels, known) = half, picked
    request = SegmentRequest(
        path, str(labels), tmp_path / "one.las", questions=tmp_path / "one.csv", keep=("2", "9"),
        report=tmp_path / "r.html", settings=QUICK, fit_points=fit_points, tile_points=1_500, relabel=relabel,
    )  # fmt: skip
    result = segment(request)
    places = pd.read_csv(tmp_path / "one.csv")["index"]
    stays = np.isin(classes, [2, 9])
    assert len(places) > 10
    assert not stays[places].any()
    assert not np.isin(places, known).any()
    assert result.confidence_map is not None
    assert result.confidence_map.labels.sum() == len(known)
    kept = np.setdiff1d(np.flatnonzero(stays), known)
    assert result.confidence_map.points.sum() == len(classes) - len(known) - len(kept) - result.noise


def interrupted(stage: str, done: int, total: int) -> None:
    """Ctrl-C while copies are written."""
    if stage == "Writing":
        raise KeyboardInterrupt


def test_a_disk_that_is_gone(tmp_path):
    with pytest.raises(ScanFileError, match=r"q\.csv could not be written"):
        write_questions([], tmp_path / "none" / "q.csv")


def test_several_scans_and_an_interrupt(street, tmp_path):
    """Points are named by file and number. What is there is refused at first, and replaced by a job that goes
    on, whose own it is."""
    other = write_street(tmp_path / "other.las", 2_100, seed=5)
    paths = [street.path, other.path]
    request = SegmentRequest(
        paths, "classification", tmp_path / "out", questions=tmp_path / "out" / "q.csv", settings=QUICK,
        tile_points=1_000,
    )  # fmt: skip
    assert plan(request).facts["questions"] == f"50 at most, in {request.questions}"
    assert not (tmp_path / "out").exists()
    stop = pytest.raises(KeyboardInterrupt)
    with stop:
        segment(request, interrupted)
    request.questions.write_text("half")
    with pytest.raises(PinvGCNError, match=r"q\.csv is already there"):
        segment(replace(request, settings={**QUICK, "epochs": 24}))
    result = segment(request)
    assert sorted(os.listdir(tmp_path / "out")) == ["other.las", "q.csv", "street.las"]
    table = pd.read_csv(tmp_path / "out" / "q.csv")
    assert set(table["file"]) == {"street.las", "other.las"}
    for name, points, given in (
        ("street.las", street.points, street.given),
        ("other.las", other.points, other.given),
    ):
        mine = table[table["file"] == name]
        np.testing.assert_allclose(mine[["x", "y", "z"]], points[mine["index"]], atol=1e-6)
        assert (given[mine["index"]] == 1).all()
    assert result.confidence_map is None


BAD = {
    "another output": (["--questions", "{out}", "-o", "{out}"], "-o and --questions must be different files"),
    "the model": (["--questions", "{model}", "--save-model", "{model}"], "must be different files"),
    "the scan": (["--questions", "{scan}", "--force"], "must not write over"),
    "the labels": (
        ["--questions", "{labels}", "--labels", "{labels}", "--force"],
        "--questions must not write over a file that is read",
    ),
    "no folder": (["--questions", "{folder}/a/q.csv"], "folder must exist"),
    "a folder": (["--questions", "{folder}/sub.csv"], "must be a file. Got the folder"),
    "no CSV": (["--questions", "{folder}/q.txt"], "must end in .csv"),
    "there already": (["--questions", "{old}"], "is already there"),
    "read-only": (["--questions", "{locked}/q.csv"], "cannot be written"),
}


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.parametrize(("arguments", "expected"), BAD.values(), ids=BAD)
def test_what_cannot_be_written_is_refused_at_once(street, arguments, expected, dry, tmp_path, capfd):
    places = {name: tmp_path / f"{name}.csv" for name in ("labels", "old", "model")}
    places["labels"].write_text("index,label\n0,2\n1,3\n")
    places["old"].write_text("kept")
    (tmp_path / "sub.csv").mkdir()
    places["locked"] = tmp_path / "locked"
    places["locked"].mkdir(mode=0o500)
    if "{locked}/q.csv" in arguments and os.access(places["locked"], os.W_OK):
        pytest.skip("root may write everywhere")
    filled = [
        a.format(scan=street.path, out=tmp_path / "o.csv", folder=tmp_path, **places) for a in arguments
    ]
    before = sorted(os.listdir(tmp_path))
    command = ["segment", str(street.path)]
    if "--labels" not in filled:
        command += ["--labels", "classification"]
    if "-o" not in filled:
        command += ["-o", str(tmp_path / "out.las")]
    assert main([*command, *filled, *dry]) == 2
    err = capfd.readouterr().err
    assert expected in err
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == before
    assert places["old"].read_text() == "kept"
    assert street.path.stat().st_size > 10_000


def test_predict_does_not_write_over_its_model(street, model, tmp_path, capfd):
    copy = tmp_path / "m.csv"
    copy.write_bytes(model.read_bytes())
    arguments = ["predict", copy, street.path, "-o", tmp_path / "o.las", "--questions", copy, "--force"]
    assert main(list(map(str, arguments))) == 2
    assert "--questions must not write over a file that is read" in capfd.readouterr().err
    assert copy.read_bytes() == model.read_bytes()


def test_force_a_dry_run_and_the_screen(street, model, tmp_path, capfd):
    old = tmp_path / "q.csv"
    old.write_text("old")
    request = SegmentRequest(street.path, "classification", tmp_path / "o.las", questions=old, force=True)
    assert plan(request).facts["questions"] == f"50 at most, in {old}"
    assert old.read_text() == "old"
    out = tmp_path / "o.las"
    arguments = ["predict", model, street.path, "-o", out, "--questions", old, "--force"]
    assert main(list(map(str, arguments))) == 0
    assert f"{out}, {old}" in capfd.readouterr().out
    assert old.read_text().startswith("number,file,index")
    assert main([*map(str, arguments), "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["questions"] == str(old)
    assert said["estimate"]["accuracy"] is None  # one member holds nothing out
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["o.las", "q.csv"]
