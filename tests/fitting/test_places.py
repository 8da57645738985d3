"""A scan as a whole: near labels the place counts, farther away less, and in another scan not at all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split
from pinvgcn.errors import DataError, ExtrapolationWarning
from pinvgcn.experts.labels import RowLabels
from pinvgcn.fitting import scan as fitted_scan
from pinvgcn.fitting.folds import random_folds
from pinvgcn.fitting.pool import PLACE_FREE
from pinvgcn.fitting.scan import Scan, scans_of

STREET = generate_street(4_000, random_state=0)
POINTS = np.round(STREET.X / 2 * 1024) / 1024  # shifts by 1,024 are exact
LABELS = random_split(STREET.y, per_class=10, random_state=0)
FAR = np.array([1024.0, -2048.0, 0.0])
SETTINGS = {"epochs": 10, "rank": 10, "hidden": 8, "members": 3, "trees": 10}


@pytest.fixture(scope="module")
def model() -> PinvGCNClassifier:
    return PinvGCNClassifier(**SETTINGS).fit(POINTS, LABELS)


@pytest.fixture(scope="module")
def clicked() -> PinvGCNClassifier:
    """Labels in one half of the street only."""
    half = np.where(POINTS[:, 0] < np.median(POINTS[:, 0]), STREET.y, -1)
    return PinvGCNClassifier(**SETTINGS).fit(POINTS, random_split(half, per_class=10, random_state=0))


def labelled_points(model: PinvGCNClassifier) -> np.ndarray:
    places = model.fitted_.places
    assert places is not None
    return places.points


class TestHere:
    def test_the_place_counts_by_the_distance_to_the_labels(self, clicked):
        places = clicked.fitted_.places
        d = np.linalg.norm(POINTS[:, None] - labelled_points(clicked)[None], axis=2).min(axis=1)
        trust = clicked.fitted_.place(POINTS).seen.trust
        expected = np.minimum(1, np.sqrt(places.reach / np.maximum(d, 1e-12)))
        known = trust > 0  # some points have no neighbour in the graph
        assert known.mean() > 0.99
        np.testing.assert_allclose(trust[known], expected[known], atol=1e-12)
        assert (trust == 1).any()
        assert trust[d > 9 * places.reach].max(initial=0) < 1 / 3 + 1e-12
        assert trust[known].min() < 0.9

    def test_the_weight_of_the_network_is_phi(self, clicked):
        """By hand, for each member, from the opinions of its experts."""
        fitted = clicked.fitted_
        rows = fitted.place(POINTS)
        phi, w = rows.seen.trust[:, None], fitted.ensemble.weights
        rest = 1 + (1 - phi) * w["network"] / sum(w[name] for name in PLACE_FREE)
        for own, scores in zip(fitted.opinions(rows), fitted.ensemble.each(rows.seen), strict=True):
            expected = phi * w["network"] * own["network"]
            expected = expected + rest * sum(w[name] * own[name] for name in PLACE_FREE)
            away = sum(weight * own[name] for name, weight in fitted.ensemble.away.items())
            np.testing.assert_allclose(scores, np.where(phi > 0, expected, away), atol=1e-10)

    def test_points_of_training_have_what_they_had(self, model):
        """A few among those of training, all of them among their own."""
        fitted = model.fitted_
        few = np.arange(7, 4_000, 400)
        assert fitted.surrounded_by(POINTS[few]) == "training"
        rows = fitted.place(POINTS[few])
        assert (rows.among, rows.elsewhere) == ("training", False)
        expected = model.transduction_proba_
        np.testing.assert_allclose(model.predict_proba(POINTS[few]), expected[few], rtol=0, atol=1e-12)
        rows = fitted.place(POINTS)  # both clouds are the same
        assert (rows.among, rows.elsewhere) == ("training", False)
        np.testing.assert_allclose(model.predict_proba(POINTS, among="own"), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(POINTS), expected, rtol=0, atol=1e-12)

    def test_nothing_is_warned_of(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(POINTS)
            model.predict(POINTS[:5])

    def test_an_estimate(self, model):
        found = model.accuracy_estimate_
        assert found is not None
        if found.accuracy is not None:
            assert 0 <= found.low <= found.accuracy <= found.high <= 1
            right = (model.transduction_ == STREET.y)[LABELS == -1].mean()
            assert found.low - 0.1 <= right <= found.high + 0.1


class TestElsewhere:
    def test_a_shifted_copy_is_another_scan(self, model):
        rows = model.fitted_.place(POINTS + FAR)  # nothing is warned of: that is what the model is for
        assert (rows.among, rows.elsewhere) == ("own", True)
        assert (rows.seen.trust == 0).all()

    def test_experts_that_know_no_place_decide(self, model):
        """By hand: their opinions, averaged over the copy's own neighbours, with its own class shares."""
        fitted = model.fitted_
        rows = model.fitted_.place(POINTS + FAR)
        weights = fitted.ensemble.away
        here = fitted.place(POINTS)  # shapes do not depend on the place
        scores = np.mean(
            [sum(w * own[name] for name, w in weights.items()) for own in fitted.opinions(here)], axis=0
        )
        np.testing.assert_allclose(fitted.ensemble.joint(rows.seen), scores, atol=1e-10)
        expected = fitted.smoothing(scores, POINTS, "own", elsewhere=True)
        found = model.predict_proba(POINTS + FAR)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        classes = model.predict(POINTS + FAR)
        np.testing.assert_array_equal(classes, model.classes_[expected.argmax(axis=1)])
        assert (classes == STREET.y).mean() > 0.6

    def test_networks_do_not_matter_there(self, model, monkeypatch):
        def refuse(self, seen):
            raise AssertionError("a network was asked")

        monkeypatch.setattr(type(model.fitted_.networks), "opinions", refuse)
        assert np.isfinite(model.predict_proba(POINTS + FAR)).all()

    def test_a_few_points_far_away(self, model):
        with pytest.warns(
            ExtrapolationWarning, match="3 of 3 points lie outside .*: they are .* without their place"
        ):
            found = model.predict_proba(POINTS[:3] + FAR)
        np.testing.assert_allclose(found.sum(axis=1), 1)

    def test_points_here_do_not_change_beside_points_there(self, model):
        """Half of a cloud in another place: that half alone is without its place."""
        both = np.vstack([POINTS, POINTS[:1_000] + FAR])
        with pytest.warns(ExtrapolationWarning, match="1000 of 5000 points"):
            found = model.predict_proba(both)
        np.testing.assert_allclose(found[:4_000], model.transduction_proba_, atol=1e-9)

    def test_an_estimate_and_sets(self, model):
        estimate = model.estimate_accuracy(POINTS + FAR)
        assert estimate.basis != model.accuracy_estimate_.basis
        assert 0 <= estimate.low <= estimate.accuracy <= estimate.high <= 1
        sets = model.predict_set(POINTS + FAR, coverage=0.8)
        assert sets.shape == (4_000, len(model.classes_))


def test_saved_and_loaded(model, reloaded):
    copy = reloaded(model)
    first, again = model.fitted_, copy.fitted_
    np.testing.assert_array_equal(again.places.points, first.places.points)
    np.testing.assert_array_equal(again.places.cells, first.places.cells)
    assert (again.places.reach, again.places.level) == (first.places.reach, first.places.level)
    assert dict(again.ensemble.away) == pytest.approx(dict(first.ensemble.away))
    assert (again.smoothing.rounds, again.smoothing.away_rounds) == (
        first.smoothing.rounds,
        first.smoothing.away_rounds,
    )
    assert copy.accuracy_estimate_ == model.accuracy_estimate_
    np.testing.assert_array_equal(again.held_away.recalls, first.held_away.recalls)
    for points in (POINTS, POINTS[::400], POINTS + FAR):
        np.testing.assert_allclose(copy.predict_proba(points), model.predict_proba(points), atol=1e-12)


def test_one_member_has_nothing_to_hold_out(reloaded):
    """The place then counts fully within the cloud, also after a file."""
    model = PinvGCNClassifier(**{**SETTINGS, "members": 1}).fit(POINTS, LABELS)
    for one in (model, reloaded(model)):
        assert one.fitted_.places.reach == 1e30
        assert one.accuracy_estimate_.accuracy is None
        assert "no label was held out" in one.accuracy_estimate_.sentence()
        assert one.fitted_.held_away is None
        trust = one.fitted_.place(POINTS).seen.trust
        assert (trust == 1).mean() > 0.99
        assert np.isfinite(one.predict_proba(POINTS + FAR)).all()


class TestGroups:
    """Several scans in one fit."""

    OTHER = generate_street(4_000, random_state=1)
    BOTH = np.vstack([POINTS, np.round(OTHER.X / 2 * 1024) / 1024 + [0, 64.0, 0]])
    Y = np.concatenate([LABELS, random_split(OTHER.y, per_class=10, random_state=1)])
    SCANS = np.repeat([7, -3], 4_000)

    def fit(self, groups, **settings) -> PinvGCNClassifier:
        return PinvGCNClassifier(**{**SETTINGS, **settings}).fit(self.BOTH, self.Y, groups=groups)

    def test_whole_scans_are_held_out(self, monkeypatch):
        """Labels learn from one street and are asked of the other."""
        seen = []

        def group_folds(labels, groups, count, seed):
            folds = original(labels, groups, count, seed)
            seen.append((groups, folds))
            return folds

        original = fitted_scan.group_folds
        monkeypatch.setattr(fitted_scan, "group_folds", group_folds)
        model = self.fit(self.SCANS, members=2)
        ((groups, folds),) = seen
        rows = folds.labels.rows
        np.testing.assert_array_equal(groups, self.SCANS[rows])
        common = np.isin(folds.labels.codes, np.flatnonzero(folds.places == 2))
        assert common.any()
        for scan in (7, -3):
            assert len(set(folds.number[common & (groups == scan)])) == 1
        np.testing.assert_array_equal(model.fitted_.held_away.places, folds.places)

    def test_they_tell_how_trees_are_weighed_in_other_scans(self):
        plain, grouped = self.fit(None), self.fit(self.SCANS)
        before, after = (model.fitted_.first.trees.weights for model in (plain, grouped))
        assert dict(before) != dict(after)
        assert not np.array_equal(plain.fitted_.held_away.places, grouped.fitted_.held_away.places)
        np.testing.assert_array_equal(grouped.fitted_.places.points, plain.fitted_.places.points)

    def test_one_scan_is_as_none(self):
        one, none = self.fit(np.zeros(8_000, dtype=int)), self.fit(None)
        np.testing.assert_array_equal(one.transduction_proba_, none.transduction_proba_)
        assert dict(one.fitted_.ensemble.away) == dict(none.fitted_.ensemble.away)

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            (np.zeros(7_999, dtype=int), "groups must have .* rows"),
            (np.zeros((8_000, 1), dtype=int), "groups must be a whole number for each row"),
            (np.zeros(8_000), "groups must be a whole number for each row"),
            (np.full(8_000, np.nan), "groups must be a whole number for each row"),
            (np.array(["a", "b"] * 4_000), "groups must be a whole number for each row"),
            (np.zeros(8_000, dtype=bool), "groups must be a whole number for each row"),
            (5, "groups must be a whole number for each row"),
            ("street", "groups must be a whole number for each row"),
        ],
    )
    def test_bad_groups(self, groups, message):
        with pytest.raises(DataError, match=message):
            self.fit(groups)

    def test_the_scans_of_labels(self, model):
        labels = RowLabels.of(LABELS, 4_000)
        groups = np.arange(4_000) % 5
        found = scans_of(groups, labels, model.fitted_.nodes)
        np.testing.assert_array_equal(found, groups[labels.rows])
        assert scans_of(None, labels, model.fitted_.nodes) is None


def test_how_labels_are_held_out_follows_how_they_lie(model):
    """Labels at random one by one; those of a few metres of the street in groups."""
    nodes = model.fitted_.nodes
    alone = Scan.of(nodes, RowLabels.of(LABELS, 4_000), 5, 0)
    assert not alone.folds.grouped
    middle = np.median(POINTS[:, 0])
    strips = (np.abs(POINTS[:, 0] - middle + 12) < 1) | (np.abs(POINTS[:, 0] - middle - 12) < 1)
    some = Scan.of(nodes, RowLabels.of(np.where(strips, STREET.y, -1), 4_000), 5, 0)
    assert some.folds.grouped
    near = random_folds(some.folds.labels, 5, 0).distances(some.places.points)
    assert some.places.reach > 2 * np.quantile(near, 0.9)
    assert some.places.reach == np.quantile(some.folds.distances(some.places.points), 0.9)


class TestLooks:
    """Trees look twice where labels lie as the points do."""

    def fit(self, labels, **settings) -> PinvGCNClassifier:
        return PinvGCNClassifier(**{**SETTINGS, "members": 3, **settings}).fit(POINTS, labels)

    def test_twice_with_labels_at_random(self):
        fitted = self.fit(random_split(STREET.y, per_class=6, random_state=0)).fitted_
        assert fitted.ensemble.names == ("network", *PLACE_FREE, "context_trees")
        assert tuple(fitted.first.trees.names) == PLACE_FREE
        first, away = fitted.first.trees.weights, fitted.ensemble.away
        assert tuple(away) == (*PLACE_FREE, "context_trees")
        assert sum(away.values()) == pytest.approx(sum(first.values()))
        for name in PLACE_FREE:
            assert away[name] == pytest.approx(0.4 * first[name])

    def test_once_with_labels_in_one_place_each(self):
        """Of every class the labels that are nearest to one of its points."""
        labels = np.full(len(POINTS), -1)
        for code in np.unique(STREET.y):
            rows = np.flatnonzero(STREET.y == code)
            near = np.argsort(np.linalg.norm(POINTS[rows] - POINTS[rows[0]], axis=1))[:6]
            labels[rows[near]] = code
        fitted = self.fit(labels).fitted_
        assert (fitted.first, fitted.ensemble.names) == (None, ("network", *PLACE_FREE))
        assert fitted.smoothing.rounds == fitted.smoothing.away_rounds

    def test_once_where_nothing_is_held_out(self):
        assert self.fit(random_split(STREET.y, per_class=6, random_state=0), members=1).fitted_.first is None

    def test_a_class_with_one_label_does_not_decide_it(self):
        labels = random_split(STREET.y, per_class=6, random_state=0)
        labels[np.flatnonzero(labels == 1)[1:]] = -1
        assert self.fit(labels).fitted_.first is not None
