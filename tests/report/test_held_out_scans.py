"""Held-out labels of a scan: what is asked, and under which class prior it is answered."""

from __future__ import annotations

import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.report.held_out import AS_LABELLED, SIMPLE, held_out_of_scan


def test_methods_answer_labels_that_they_have_not_seen():
    """Labels that are pure chance cannot be known: whoever had seen them would be right."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 3))
    codes = np.where(np.arange(300) < 120, rng.integers(0, 2, 300), -1)
    model = PinvGCNClassifier(epochs=30, rank=10, members=3, trees=30).fit(points, codes)
    tested = held_out_of_scan(model, codes)
    assert tested is not None
    # no prior was estimated: there is no second line of ours
    assert [score.title for score in tested.scores] == ["PinvGCN", *SIMPLE]
    for method in tested.scores:
        assert method.confusion.sum() == 120
        assert 0.3 < method.accuracy < 0.7
    clear = np.where(codes >= 0, (points[:, 0] > 0).astype(int), -1)
    model.fit(points, clear)
    found = held_out_of_scan(model, clear)
    assert found is not None
    assert all(method.accuracy > 0.85 for method in found.scores)


def test_single_labels_cannot_be_tested():
    points = np.random.default_rng(0).normal(size=(50, 3))
    codes = np.full(50, -1)
    codes[:2] = 0, 1
    assert held_out_of_scan(PinvGCNClassifier(epochs=2, rank=4).fit(points, codes), codes) is None


def test_shares_that_were_found_are_undone_for_labels():
    """A model that prefers a frequent class is right of the scan; of labels, with the labels' shares."""
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(380, 3)), rng.normal(size=(20, 3)) + np.array([1.5, 0, 0])])
    truth = np.repeat([0, 1], [380, 20])
    codes = np.full(400, -1)
    codes[:15], codes[-15:] = truth[:15], truth[-15:]
    model = PinvGCNClassifier(epochs=60, rank=10, priors="estimated").fit(points, codes)
    found = held_out_of_scan(model, codes)
    assert found is not None
    ours, as_labelled, *_ = found.scores
    assert (ours.title, as_labelled.title) == ("PinvGCN", AS_LABELLED)
    assert as_labelled.confusion[1, 1] >= ours.confusion[1, 1]
    assert as_labelled.accuracy >= ours.accuracy
