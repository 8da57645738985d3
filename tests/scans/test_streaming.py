"""Scans in many tiles: both commands say the same, in little memory."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import pytest
from streets import QUICK, write_street

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.errors import DatasetError
from pinvgcn.features.tiles import Piece, shared_tiles
from pinvgcn.io import ScanSource
from pinvgcn.scans import PredictRequest, SegmentRequest, predict, segment
from pinvgcn.scans.streaming import answers

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "streaming.py"


def test_many_tiles(tmp_path, monkeypatch):
    """A part is fitted, everything is classified; the saved model says the same of the file again.

    It reads the file once before it writes the copy, however many tiles there are.
    """
    street = write_street(tmp_path / "street.las", 12_000)
    model, out, again = tmp_path / "m.model", tmp_path / "out.las", tmp_path / "again.las"
    told = []
    result = segment(
        SegmentRequest(
            street.path, "classification", out, fit_points=3_000, tile_points=1_500, save_model=model,
            relabel=True, settings=QUICK,
        ),
        lambda *heard: told.append(heard),
    )  # fmt: skip
    assert result.tiles == 8
    assert abs(result.fitted - 3_000) < 5 * np.sqrt(3_000)
    assert (result.outside + result.alone) / 12_000 < 0.01
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == [
        "Reading", "Sorting", "Local shapes", "Preparing", "Fitting", "Classifying", "Averaging", "Writing",
    ]  # fmt: skip
    assert all(done <= total for _, done, total in told)
    passes, chunks = [], ScanSource.chunks
    monkeypatch.setattr(
        ScanSource, "chunks", lambda *given, **named: passes.append(named) or chunks(*given, **named)
    )
    other = predict(PredictRequest(model, street.path, again, tile_points=3_500))
    assert other.tiles == 4
    assert len(passes) == 1
    first, second = laspy.read(out), laspy.read(again)
    np.testing.assert_array_equal(second.classification, first.classification)
    np.testing.assert_allclose(second.confidence, first.confidence, rtol=1e-6)
    np.testing.assert_array_equal(second.outside, first.outside)


def test_a_single_tile_is_told_of_piece_by_piece(tmp_path):
    """So that a bar moves, and remaining time can be guessed, while a scan of few tiles is classified."""
    street = write_street(tmp_path / "street.las", 12_000)
    told: dict[str, list[int]] = {}
    request = SegmentRequest(
        street.path, "classification", tmp_path / "out.las", fit_points=6_000, tile_points=20_000,
        settings=QUICK,
    )  # fmt: skip
    result = segment(request, lambda stage, done, total: told.setdefault(stage, []).append(done))
    assert result.tiles == 1
    for stage, end in (("Local shapes", 11_996), ("Classifying", 11_996), ("Averaging", 11_996)):
        assert len(told[stage]) >= 4
        assert told[stage] == sorted(told[stage])
        assert (told[stage][0], told[stage][-1]) == (0, end)


@pytest.mark.parametrize("name", ["street", "oakland1"])
def test_tiles_are_the_whole(name, tmp_path):
    """With the default features, `predict_proba` of the whole cloud in memory."""
    try:
        data = load_dataset(name)
    except DatasetError as error:
        pytest.skip(str(error))
    rows = np.arange(0, len(data.X), 5)
    points, y = data.X[rows], random_split(data.y[rows], per_class=5, random_state=0)
    model = PinvGCNClassifier(**QUICK).fit(points, y)
    pieces = [
        Piece(some, points[some], np.empty((len(some), 0)))
        for some in np.array_split(np.arange(len(rows)), 7)
    ]
    tiles = shared_tiles(pieces, tmp_path, total=len(points), size=1_500)
    parts = list(answers(model.fitted_, tiles, lambda *heard: None))
    order = np.argsort(np.concatenate([part.index for part in parts]))
    P = np.concatenate([part.proba for part in parts])[order]
    expected = model.predict_proba(points, among="own")
    np.testing.assert_allclose(P, expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(P.argmax(axis=1), expected.argmax(axis=1))
    np.testing.assert_allclose(P, model.transduction_proba_, rtol=0, atol=1e-10)


RUN = """
import json, sys
from pathlib import Path
from pinvgcn.experiments.worker_process import highest
from pinvgcn.scans import PredictRequest, SegmentRequest, predict, segment

what, folder, quick = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
scan, model = folder / "streets.las", folder / "model"
if what == "segment":
    result = segment(
        SegmentRequest(
            scan, "classification", folder / "segmented.las", save_model=model, settings=quick,
            fit_points=30_000, tile_points=200_000,
        )
    )
else:
    result = predict(PredictRequest(model, scan, folder / "predicted.las", tile_points=200_000))
peak = highest() / 2**30
print(json.dumps({"peak": peak, "tiles": result.tiles, "fitted": result.fitted}))
"""


@pytest.mark.slow
@pytest.mark.alone
def test_many_points_in_little_memory(tmp_path):
    """The benchmark in small, with a model that is quick to train: peak memory, and one answer."""
    streaming = _benchmark()
    streaming.STREET, streaming.DIFFERENT = 100_000, 1  # one street, four times
    truth = streaming.write_streets(tmp_path / "streets.las", 400_000)
    said = {}
    for name in ("segment", "predict"):
        command = [
            sys.executable,
            "-c",
            RUN,
            name,
            str(tmp_path),
            json.dumps({**QUICK, "rank": 6, "trees": 10}),
        ]
        said[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert said[name]["peak"] < streaming.LIMITS[name] / 2  # tiles are smaller than by default
        assert 2 <= said[name]["tiles"] <= 3  # the cut is by a random sample
    assert abs(said["segment"]["fitted"] - 30_000) < 5 * np.sqrt(30_000)
    free = np.array(laspy.read(tmp_path / "streets.las").classification) == 1
    first, second = (
        np.array(laspy.read(tmp_path / f"{name}ed.las").classification) for name in ("segment", "predict")
    )
    np.testing.assert_array_equal(first[free], second[free])
    assert (first == truth)[free].mean() > 0.9


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("PINVGCN_SLOW"), reason="takes minutes; set PINVGCN_SLOW=1")
def test_a_million_points_by_the_commands(tmp_path):
    """The same with the defaults: the benchmark itself."""
    streaming = _benchmark()
    result = streaming.measure(1_000_000, tmp_path)
    assert result["differing"] == 0
    for name, one in result["commands"].items():
        assert one["peak_gib"] < streaming.LIMITS[name]
        assert one["accuracy"] > 0.9


def _benchmark():
    specification = importlib.util.spec_from_file_location("streaming", BENCHMARK)
    streaming = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(streaming)
    return streaming
