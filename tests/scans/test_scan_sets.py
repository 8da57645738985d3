"""Prediction sets of scans: in tiles as in memory, and in every format as other programs read it."""

from __future__ import annotations

import laspy
import numpy as np
import pandas as pd
import pytest
from streets import QUICK, write_street

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.errors import DatasetError, LabelError, ParameterError
from pinvgcn.features.tiles import Piece, shared_tiles
from pinvgcn.fitting.conformal import as_bits, as_words
from pinvgcn.io import open_scan
from pinvgcn.scans import PredictRequest, SegmentRequest, predict, segment
from pinvgcn.scans.copies import column_type
from pinvgcn.scans.streaming import OUTSIDE, answers

SETTINGS = {**QUICK, "members": 3}
COVERAGE = 0.8


def in_tiles(points, count, folder):
    """A cloud that comes in this number of pieces."""
    parts = np.array_split(np.arange(len(points)), count)
    pieces = [Piece(some, points[some], np.empty((len(some), 0))) for some in parts]
    tiles = shared_tiles(pieces, folder, total=len(points), size=1_500)
    assert len(tiles) >= 4
    return tiles


@pytest.mark.parametrize("name", ["street", "oakland1"])
def test_tiles_have_the_sets_of_the_whole(name, tmp_path):
    """``predict_set`` of the whole cloud in memory, whatever the tiles; and that of the fit."""
    try:
        data = load_dataset(name)
    except DatasetError as error:
        pytest.skip(str(error))
    rows = np.arange(0, len(data.X), 5)
    points, y = data.X[rows], random_split(data.y[rows], per_class=9, random_state=0)
    model = PinvGCNClassifier(**SETTINGS).fit(points, y)
    tiles = in_tiles(points, 7, tmp_path)
    parts = list(answers(model.fitted_, tiles, lambda *heard: None, coverage=COVERAGE))
    order = np.argsort(np.concatenate([part.index for part in parts]))
    sets = np.concatenate([part.sets for part in parts])[order]
    np.testing.assert_array_equal(sets, model.predict_set(points, coverage=COVERAGE, among="own"))
    np.testing.assert_array_equal(sets, model.transduction_set(coverage=COVERAGE))
    sizes = sets.sum(axis=1)
    assert (sizes > 1).any()
    assert (sizes == 1).any()
    P = np.concatenate([part.proba for part in parts])[order]
    np.testing.assert_allclose(P, model.predict_proba(points, among="own"), rtol=0, atol=1e-10)


def test_tiles_of_another_scan_have_the_answer_of_the_whole(tmp_path):
    """Contexts and averages across tiles, class shares from all of them, sets by place-free experts."""
    data = load_dataset("street")
    near = data.X[:, 0] < 25
    X, y = data.X[near], data.y[near]
    model = PinvGCNClassifier(**SETTINGS).fit(X[::2], random_split(y[::2], per_class=9, random_state=0))
    other = X[1::2] + np.array([2_048.0, 0.0, 0.0])
    tiles = in_tiles(other, 5, tmp_path)
    parts = list(answers(model.fitted_, tiles, lambda *heard: None, coverage=COVERAGE))
    order = np.argsort(np.concatenate([part.index for part in parts]))
    rows = model.fitted_.place(other)
    assert (rows.among, rows.elsewhere, model.fitted_.smoothing.rounds_at(True)) == ("own", True, 1)
    P = np.concatenate([part.proba for part in parts])[order]
    np.testing.assert_allclose(P, model.fitted_.probabilities(rows), rtol=0, atol=1e-10)
    sets = np.concatenate([part.sets for part in parts])[order]
    np.testing.assert_array_equal(sets, model.fitted_.sets(rows, coverage=COVERAGE))
    assert (np.concatenate([part.flags for part in parts]) == OUTSIDE).all()
    here = list(
        answers(model.fitted_, tiles, lambda *heard: None, fitted_here=True)
    )  # as if it were the fitted scan
    assert np.abs(np.concatenate([part.proba for part in here])[order] - P).max() > 0.01


def asked(street, out, **others):
    request = {"scans": street.path, "labels": "classification", "out": out, "settings": SETTINGS, **others}
    return segment(SegmentRequest(**request, sets=COVERAGE))


@pytest.fixture(scope="module")
def whole(street, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    return asked(street, folder / "out.las", save_model=folder / "scan.model"), folder


def test_las_has_a_bit_for_each_class(street, whole):
    result, folder = whole
    after = laspy.read(folder / "out.las")
    stays = street.given != 7
    sets = result.model.transduction_set(coverage=COVERAGE)
    assert after["set"].dtype == np.uint32
    np.testing.assert_array_equal(after["set"][stays], as_bits(sets))  # at labelled points, too
    assert not after["set"][~stays].any()
    said = result.as_dict()["sets"]
    assert said["coverage"] == COVERAGE
    assert said["mean_size"] == pytest.approx(sets.sum(axis=1).mean())
    assert said["share_empty"] == pytest.approx((~sets.any(axis=1)).mean())
    assert said["share_several"] == pytest.approx((sets.sum(axis=1) > 1).mean())
    assert said["written_as"] == "the sum of 1 for 2, 2 for 3, 4 for 4, 8 for 5, 16 for 6"
    hit = (np.array(after["set"]) >> (street.truth - 2)) & 1
    assert hit[street.given == 1].mean() > COVERAGE - 0.1


@pytest.mark.parametrize("tile_points", [700, 5_000])
def test_a_saved_model_writes_the_same_sets(street, whole, tile_points, tmp_path):
    result = predict(
        PredictRequest(
            whole[1] / "scan.model", street.path, tmp_path / "out.las", tile_points=tile_points, sets=COVERAGE
        )
    )
    first, second = laspy.read(whole[1] / "out.las"), laspy.read(tmp_path / "out.las")
    np.testing.assert_array_equal(second["set"], first["set"])
    assert result.sets.as_dict() == whole[0].sets.as_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["out.las"]


def test_a_part_is_fitted_and_all_points_have_the_sets_of_memory(tmp_path):
    street = write_street(tmp_path / "street.las", 6_000)
    result = asked(street, tmp_path / "out.las", fit_points=3_000, tile_points=1_500)
    assert result.tiles == 4
    assert abs(result.fitted - 3_000) < 5 * np.sqrt(3_000)
    stays = street.given != 7
    low, high = street.points[stays].min(axis=0), street.points[stays].max(axis=0)
    sets = result.model.predict_set(
        street.points[stays] - 1024 * np.round((low + high) / 2048),
        coverage=COVERAGE,
        features=street.intensity[stays, None],
        among="own",
    )
    written = np.array(laspy.read(tmp_path / "out.las")["set"])
    flags = np.array(laspy.read(tmp_path / "out.las")["outside"])
    told = flags[stays] < 2
    np.testing.assert_array_equal(written[stays][told], as_bits(sets)[told])


@pytest.mark.parametrize("ending", ["ply", "pcd", "csv", "xyz"])
def test_other_formats(street, whole, ending, tmp_path):
    """Numbers where the format has numbers alone, the classes themselves in text."""
    out = tmp_path / f"out.{ending}"
    predict(PredictRequest(whole[1] / "scan.model", street.path, out, sets=COVERAGE))
    expected = np.array(laspy.read(whole[1] / "out.las")["set"])
    stays = street.given != 7
    if ending == "csv":
        found = pd.read_csv(out)["set"].to_numpy()
    else:
        found = open_scan(out).read(fields=["set"]).fields["set"]
    if ending in ("ply", "pcd"):
        assert found.dtype == np.uint32
        np.testing.assert_array_equal(found, expected)
        return
    sets = whole[0].model.transduction_set(coverage=COVERAGE)
    assert found[stays].astype(str).tolist() == as_words(sets, [2, 3, 4, 5, 6]).tolist()


def test_a_coverage_beyond_the_labels_fails_before_the_fit(street, whole, tmp_path):
    told = []
    request = SegmentRequest(street.path, "classification", tmp_path / "out.las", sets=0.99)
    with pytest.raises(LabelError, match=r"coverage 0.99 need at least 99 labels of each class. Got 20 of 2"):
        segment(request, lambda stage, *_: told.append(stage))
    assert set(told) == {"Reading"}
    with pytest.raises(LabelError, match="ask for a coverage of at most 20/21"):
        predict(PredictRequest(whole[1] / "scan.model", street.path, tmp_path / "out.las", sets=0.99))
    with pytest.raises(ParameterError, match=r"coverage must be a number from 0 to below 1\. Got 90"):
        predict(PredictRequest(whole[1] / "scan.model", street.path, tmp_path / "out.las", sets=90))
    assert list(tmp_path.iterdir()) == []


def test_what_was_never_held_out_has_no_sets(street, tmp_path):
    request = {"scans": street.path, "labels": "classification", "settings": QUICK}
    with pytest.raises(ParameterError, match="members must be 2 or more"):
        segment(SegmentRequest(**request, out=tmp_path / "out.las", sets=0.8))
    segment(SegmentRequest(**request, out=tmp_path / "out.las", save_model=tmp_path / "m.model"))
    with pytest.raises(ParameterError, match="fit again with members=5, on the command line with --sets"):
        predict(PredictRequest(tmp_path / "m.model", street.path, tmp_path / "again.las", sets=0.8))


def test_a_small_scan_gets_several_networks(tmp_path):
    """Below 2,000 points a fit has one network by default, which has seen every label."""
    street = write_street(tmp_path / "street.las", 1_600)
    settings = {"epochs": 10, "rank": 8}
    request = SegmentRequest(
        street.path, "classification", tmp_path / "out.las", sets=COVERAGE, settings=settings
    )
    assert segment(request).model.fitted_.ensemble.members == 5


def test_more_classes_than_bits():
    assert column_type("las", range(32)) == np.uint32
    assert column_type("las", range(33)) == np.uint64
    for format, most in (("ply", 32), ("pcd", 32), ("las", 64), ("text", 64)):
        column_type(format, range(most))
        with pytest.raises(LabelError, match=f"hold {most} classes at most. Got {most + 1}"):
            column_type(format, range(most + 1))
    with pytest.raises(LabelError, match="rename the class"):
        column_type("text", ["tree", "house|roof"])
