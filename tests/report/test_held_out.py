"""Held-out labels: what is asked, how sure the answer is, and what the page says of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from pinvgcn import PinvGCNClassifier
from pinvgcn.report.held_out import AS_LABELLED, FOLDS, HeldOut, _parts, held_out, simple_methods


@pytest.mark.parametrize(("right", "wrong"), [(8, 2), (20, 0), (0, 5), (500, 37)])
def test_the_interval_is_wilsons(right, wrong):
    tested = HeldOut("any", np.array([[right, wrong], [0, 0]]))
    expected = binomtest(right, right + wrong).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(tested.interval, (expected.low, expected.high), atol=1e-9)


def test_over_the_scan_weighs_classes_by_their_shares():
    tested = HeldOut("any", np.array([[9, 1], [5, 5]]))
    share, give = tested.over_the_scan(np.array([0.8, 0.2]))
    assert share == pytest.approx(0.8 * 0.9 + 0.2 * 0.5)
    careful = np.array([10 / 12, 6 / 12])
    assert give == pytest.approx(
        1.959964 * np.sqrt((np.array([0.8, 0.2]) ** 2 * careful * (1 - careful) / 10).sum())
    )
    unasked = HeldOut("any", np.array([[9, 1, 0], [5, 5, 0], [0, 0, 0]]))
    assert unasked.over_the_scan(np.array([0.4, 0.1, 0.5]))[0] == pytest.approx(share)


def test_every_label_is_asked_for_once_and_never_the_only_one():
    codes = np.array([0] * 7 + [1] * 2 + [2] + [-1] * 20)
    parts = _parts(codes, 0)
    assert (parts[codes == -1] == -1).all()
    assert (parts[codes == 2] == -1).all()
    assert sorted(np.bincount(parts[codes == 0], minlength=FOLDS)) == [2, 2, 3]
    assert len(set(parts[codes == 1])) == 2


def test_methods_answer_labels_that_they_have_not_seen():
    """Labels that are pure chance cannot be known: whoever had seen them would be right."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3))
    codes = np.where(np.arange(300) < 120, rng.integers(0, 2, 300), -1)
    model = PinvGCNClassifier(epochs=30, rank=10).fit(points, codes)
    tested = held_out(model, codes)
    assert tested[0].title == "PinvGCN"
    assert AS_LABELLED not in [method.title for method in tested]  # no shares were found: nothing to undo
    assert tested[1:] == simple_methods(tested)
    for method in tested:
        assert method.confusion.sum() == 120
        assert 0.3 < method.accuracy < 0.7
    clear = np.where(codes >= 0, (points[:, 0] > 0).astype(int), -1)
    model.fit(points, clear)
    assert all(method.accuracy > 0.85 for method in held_out(model, clear))


def test_single_labels_cannot_be_tested():
    points = np.random.default_rng(0).normal(size=(50, 3))
    codes = np.full(50, -1)
    codes[:2] = 0, 1
    assert held_out(PinvGCNClassifier(epochs=2, rank=4).fit(points, codes), codes) == []


def test_shares_that_were_found_are_undone_for_labels():
    """A model that prefers a frequent class is right of the scan; of labels, with the labels' shares."""
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(380, 3)), rng.normal(size=(20, 3)) + np.array([1.5, 0, 0])])
    truth = np.repeat([0, 1], [380, 20])
    codes = np.full(400, -1)
    codes[:15], codes[-15:] = truth[:15], truth[-15:]
    model = PinvGCNClassifier(epochs=60, rank=10, priors="estimated").fit(points, codes)
    ours, as_labelled, *_ = held_out(model, codes)
    assert (ours.title, as_labelled.title) == ("PinvGCN", AS_LABELLED)
    assert as_labelled.confusion[1, 1] >= ours.confusion[1, 1]
    assert as_labelled.accuracy >= ours.accuracy
