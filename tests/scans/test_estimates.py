"""What is expected of a model, in words, in JSON and on the page."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streets import QUICK

from pinvgcn.cli.segment import announce
from pinvgcn.fitting.estimate import AccuracyEstimate, HeldOutRecalls
from pinvgcn.report.evaluation import Score
from pinvgcn.report.held_out import HeldOut
from pinvgcn.report.pages import scan_page
from pinvgcn.scans import SegmentRequest, segment

GOOD = AccuracyEstimate(0.962, 0.948, 0.974, basis="labels held out at distances like those of the points")
NONE = AccuracyEstimate(
    None, None, None, reason="every class has its labels in one place", advice="label each in three places"
)


def test_sentences():
    assert GOOD.sentence() == (
        "Expected to be right at 96.2 % of the unlabelled points (90 % interval 94.8 to 97.4)."
    )
    assert NONE.sentence() == (
        "No estimate: every class has its labels in one place. Label each in three places."
    )
    assert AccuracyEstimate(1.0, None, None).sentence().endswith("100.0 % of the unlabelled points.")


@pytest.mark.parametrize("estimate", [GOOD, NONE])
def test_through_json(estimate):
    assert AccuracyEstimate(**json.loads(json.dumps(estimate.as_dict()))) == estimate


@pytest.fixture(scope="module")
def result(street, tmp_path_factory):
    folder = tmp_path_factory.mktemp("estimates")
    request = SegmentRequest(
        street.path, "classification", folder / "o.las", report=folder / "r.html", settings=QUICK
    )
    return segment(request)


@pytest.mark.parametrize("estimate", [GOOD, NONE, None])
def test_on_the_screen_in_json_and_on_the_page(result, estimate, monkeypatch, capfd):
    monkeypatch.setattr(result.model, "accuracy_estimate_", estimate)
    announce(result, as_json=False, quiet=False)
    screen = capfd.readouterr().out
    announce(result, as_json=True, quiet=False)
    said = json.loads(capfd.readouterr().out)
    page = scan_page(result, None)
    assert "Where it is unsure" in page
    assert 'id="plan-' in page
    first = result.questions[0]
    assert f"<td>{first.x:.2f}</td>" in page
    assert f"The first 10 of {len(result.questions)} places." in page
    assert result.question_file is None
    assert result.confidence_map.labels.sum() == 100
    assert result.confidence_map.points.sum() + 100 + result.noise == result.source.count
    assert result.weights in screen
    assert result.weights in page
    if estimate is None:
        assert said["estimate"] is None
        assert "Expected to be right" not in screen + page
        return
    assert estimate.sentence() in screen
    assert said["estimate"] == {**estimate.as_dict(), "of": "this scan"}
    assert estimate.sentence() in page
    headline = page.index("Expected to be right, of the unlabelled points")
    assert headline < page.index("mean probability of the classes")
    assert ("96.2 %" if estimate is GOOD else "no estimate") in page[headline : headline + 120]


def test_the_estimate_takes_the_place_of_random_folds(result, monkeypatch):
    scores = [Score(name, 20 * np.eye(5, dtype=int)) for name in ("PinvGCN", "Extremely randomised trees")]
    tested = HeldOut(tuple(scores), 3, (), 100)
    monkeypatch.setattr(result.model, "accuracy_estimate_", None)
    before = scan_page(result, tested)
    assert "Right, of the scan</h3>" in before
    monkeypatch.setattr(result.model, "accuracy_estimate_", GOOD)
    after = scan_page(result, tested)
    assert "Right, of the scan</h3>" not in after
    assert "Right, of labels held out at random" in after
    assert after.index("96.2 %") < after.index("held out at random")


def test_a_prediction_says_which_scan_it_is_about(result, monkeypatch):
    """Of the fitted scan, or of another one, most of which lies outside."""
    monkeypatch.setattr(result.model, "accuracy_estimate_", GOOD)
    again = replace(result, given=np.zeros(5, dtype=int))
    assert again.expectation == f"On the scan that the model was fitted to: {GOOD.sentence()}"
    held = HeldOutRecalls.of(np.ones(50), np.arange(50) % 5, np.full(5, 10))
    fitted = replace(result.model.fitted_, estimate=GOOD, held_away=held)
    monkeypatch.setattr(result.model, "fitted_", fitted)
    other = replace(again, outside=result.source.count)
    expected = (10.5 / 11 + result.mean_confidence) / 2
    assert other.estimate.accuracy == pytest.approx(expected)
    assert other.expectation == other.estimate.sentence()
    assert other.as_dict()["estimate"]["of"] == "this scan"
