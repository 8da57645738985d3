"""Points that stand for labels: which are drawn, what they weigh, and that trees learn from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import clicked_split, generate_street
from pinvgcn.errors import PinvGCNWarning
from pinvgcn.experts.labels import RowLabels
from pinvgcn.fitting import fit
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.pool import PLACE_FREE
from pinvgcn.fitting.scan import Scan
from pinvgcn.fitting.self_training import DRAWN, PseudoLabels
from pinvgcn.fitting.settings import seed_of

STREET = generate_street(6_000, random_state=0)
CLICKS = clicked_split(STREET.X, STREET.y, places=2, per_place=4, random_state=0)
CODES = np.asarray(STREET.y)
VALUES = np.column_stack([np.arange(6_000.0), CODES])  # a point is known by its number


@pytest.fixture(scope="module")
def scan() -> Scan:
    nodes = CloudNodes(STREET.X, sigma=2.0, loops=1.0, geometry=True)
    found = Scan.of(nodes, RowLabels.of(CLICKS, 6_000), 3, 0)
    assert found is not None
    return found


def sure(p: float) -> np.ndarray:
    """Probability p of the true class."""
    P = np.full((6_000, 5), (1 - p) / 4)
    P[np.arange(6_000), CODES] = p
    return P


class TestDrawn:
    def test_points_without_a_label_of_the_most_probable_class(self, scan):
        found = PseudoLabels.of(sure(0.8), VALUES, scan, 0)
        rows = found.values[:, 0].astype(int)
        assert len(np.unique(rows)) == len(rows)
        assert (CLICKS[rows] == -1).all()
        np.testing.assert_array_equal(found.codes, CODES[rows])
        there = np.bincount(CODES[CLICKS == -1], minlength=5)
        np.testing.assert_array_equal(np.bincount(found.codes), np.minimum(there, DRAWN))
        assert there.min() < DRAWN < there.max()

    def test_a_seed_draws_the_same_and_another_does_not(self, scan):
        one, again, other = (PseudoLabels.of(sure(0.8), VALUES, scan, seed).values for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, again)
        assert not np.array_equal(one, other)

    def test_the_square_of_the_probability_counts(self, scan):
        """Of a class with many points half are three times surer: nine times as many of them are drawn."""
        P = sure(0.3)
        half = np.arange(6_000) % 2 == 0
        P[half] = sure(0.9)[half]
        code = np.bincount(CODES).argmax()
        shares = []
        for seed in range(20):
            found = PseudoLabels.of(P, VALUES, scan, seed)
            rows = found.values[found.codes == code, 0].astype(int)
            shares.append(half[rows].mean())
        # without replacement among n points of each half, 400 drawn at rates 9 to 1: 1 − x and 1 − x⁹ of
        # each half are left out, with n (2 − x − x⁹) = 400
        n = (CODES[CLICKS == -1] == code).sum() / 2
        x = np.linspace(0, 1, 100_001)
        x = x[np.abs(n * (2 - x - x**9) - DRAWN).argmin()]
        assert np.mean(shares) == pytest.approx((1 - x**9) / (2 - x - x**9), abs=0.01)

    def test_a_class_that_is_nowhere_the_most_probable(self, scan):
        P = np.tile([0.6, 0.1, 0.1, 0.1, 0.1], (6_000, 1))
        assert set(PseudoLabels.of(P, VALUES, scan, 0).codes) == {0}


def test_weights_keep_the_shares_of_labels(scan):
    pseudo = PseudoLabels.of(sure(0.8), VALUES, scan, 0)
    for labels in (scan.labels, scan.labels.take(np.arange(len(scan.labels.rows)) > 3)):
        totals = np.bincount(pseudo.codes, pseudo.weights(labels))
        np.testing.assert_allclose(totals / totals.sum(), labels.shares)
        assert totals.sum() == pytest.approx(5 * DRAWN)


def test_trees_learn_from_them(scan):
    """Labels say nothing, the drawn points everything."""
    values = np.column_stack([CODES + 0.0] * len(scan.nodes.lattice.names))
    pseudo = PseudoLabels.of(sure(0.8), values, scan, 0)
    blank = np.zeros((len(scan.labels.rows), values.shape[1]))
    forest = pseudo.forest(blank, scan.labels, scan, trees=20, seed=0)
    found = forest.log_proba(values)
    np.testing.assert_array_equal(found.argmax(axis=1)[CODES > 0], CODES[CODES > 0])
    np.testing.assert_allclose(log_softmax(found, axis=1), found, atol=1e-9)


@pytest.fixture(scope="module")
def model() -> PinvGCNClassifier:
    return few_epochs().fit(STREET.X, CLICKS)


def few_epochs() -> PinvGCNClassifier:
    return PinvGCNClassifier(epochs=10, rank=10, hidden=8, members=3, trees=10, random_state=0)


class TestInAFit:
    def test_weights_are_the_usual_ones(self, model):
        fitted = model.fitted_
        assert fitted.ensemble.names == ("network", *PLACE_FREE)
        assert fitted.ensemble.weights == pytest.approx(
            {"network": 0.042, "fine_trees": 0.7, "wide_trees": 1.26}
        )

    def test_a_second_pass_learns_from_the_answer_of_the_first(self, model, monkeypatch):
        monkeypatch.setattr(fit, "PASSES", 1)
        first = few_epochs().fit(STREET.X, CLICKS).fitted_
        seed = seed_of(0)
        scan = Scan.of(first.nodes, RowLabels.of(CLICKS, 6_000), 3, seed)
        P, _ = first.smoothing.among_all(first.transduction_proba, scan.nodes)
        values = first.nodes.without_place(first.nodes.features, None)
        pseudo = PseudoLabels.of(P, values, scan, seed)  # of the first member
        learned = scan.folds.parts[0][0]
        forest = pseudo.forest(values[learned.rows], learned, scan, trees=10, seed=seed)
        found = model.fitted_.ensemble.experts["wide_trees"].members[0]
        np.testing.assert_array_equal(found.threshold, forest.threshold)
        np.testing.assert_array_equal(found.shares, forest.shares)

    def test_the_estimate_is_from_before_it(self, monkeypatch):
        """Held-out labels have a part in the points that are drawn."""
        spread = clicked_split(STREET.X, STREET.y, places=6, per_place=6, random_state=0)
        model = few_epochs().fit(STREET.X, spread)
        monkeypatch.setattr(fit, "PASSES", 0)
        without = few_epochs().fit(STREET.X, spread)
        assert without.accuracy_estimate_ == model.accuracy_estimate_
        assert model.accuracy_estimate_.accuracy is not None
        assert np.abs(without.transduction_proba_ - model.transduction_proba_).max() > 0.1

    def test_sets_say_that_places_are_few(self, model, reloaded):
        with pytest.warns(PinvGCNWarning, match="need labels of each class in 4 places.*Got [12] of"):
            expected = model.transduction_set(coverage=0.8)
        again = reloaded(model)
        with pytest.warns(PinvGCNWarning, match="in 4 places"):
            np.testing.assert_array_equal(again.transduction_set(coverage=0.8), expected)
