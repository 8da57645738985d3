"""What the classifier does with points of a scan: local shapes, averages over neighbours, class shares."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from pinvgcn import GaussianGraph, PinvGCNClassifier
from pinvgcn.distributed.group import ALONE
from pinvgcn.errors import ExtrapolationWarning, ParameterError
from pinvgcn.features import local_geometry
from pinvgcn.features.averages import Averages
from pinvgcn.features.geometry import lattice_for
from pinvgcn.fitting.class_shares import estimated_shares
from pinvgcn.fitting.nodes import gathered
from pinvgcn.fitting.settings import FitSettings
from pinvgcn.nn.nodewise import apply_layers
from pinvgcn.repeated_fits import fit_many

RNG = np.random.default_rng(0)
# a plain and a ball above it: three quarters and one quarter of the points
PLAIN = RNG.uniform([0, 0, 0], [20, 20, 0.1], (1_800, 3))
BALL = RNG.normal([10, 10, 4], 1.0, (600, 3))
X, TRUTH = np.vstack([PLAIN, BALL]), np.repeat([0, 1], [1_800, 600])
LABELS = np.full(2_400, -1)
LABELS[[*range(10), *range(1_800, 1_810)]] = TRUTH[[*range(10), *range(1_800, 1_810)]]
NEW = X[::40] + 0.05


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(**{"epochs": 30, "rank": 10, **settings})


@functools.cache
def scan() -> PinvGCNClassifier:
    return quick().fit(X, LABELS)


def around(model: PinvGCNClassifier, p: np.ndarray) -> np.ndarray:
    """The means over the cells around each point."""
    return Averages.of(X, p, model.fitted_.smoothing.cell).at(X, p)


def test_the_formula():
    """Every step by hand, from the layers that were learned."""
    model = scan()
    shapes = local_geometry(X)
    inputs = model.fitted_.scaling(np.hstack([X, shapes[:, :88]]), None)  # by cells of one size everywhere
    np.testing.assert_allclose(inputs.mean(axis=0), 0, atol=1e-9)
    varied = np.ptp(shapes[:, :88], axis=0) > 0
    assert varied.sum() > 70
    np.testing.assert_allclose(inputs[:, 3:].std(axis=0), np.where(varied, 10, 0))
    V, _ = model.fitted_.nodes.place(X, model.spectrum_)
    members, w = model.fitted_.networks.members, model.fitted_.ensemble.weights
    nets = np.mean([log_softmax(apply_layers(own.layers, inputs, V), axis=1) for own in members], axis=0)
    first = model.fitted_.first
    looks = [
        weight * np.mean([forest.log_proba(shapes) for forest in first.trees.experts[name].members], axis=0)
        for name, weight in first.trees.weights.items()
    ]
    said = softmax(sum(looks), axis=1)
    context = Averages.of(X, said, first.lattice.cell, levels=5).context(X, said)
    seen = np.hstack([shapes, np.rint(context * 4_096) / 4_096])
    forests = model.fitted_.ensemble.experts["context_trees"].members
    trees = np.mean([forest.log_proba(seen) for forest in forests], axis=0)
    places = model.fitted_.places
    rows = np.flatnonzero(LABELS >= 0)
    d = np.linalg.norm(X[:, None] - X[rows], axis=2).min(axis=1)
    with np.errstate(divide="ignore"):
        phi = np.minimum(1, np.sqrt(places.reach / d))[:, None]
    free = w["context_trees"] * trees
    for name, own in first.trees.experts.items():
        free = free + w[name] * np.mean([forest.log_proba(shapes) for forest in own.members], axis=0)
    rest = 1 + (1 - phi) * w["network"] / (sum(w.values()) - w["network"])
    p = softmax(phi * w["network"] * nets + rest * free, axis=1)
    if model.fitted_.smoothing.rounds == 1:
        shares = estimated_shares(p, np.array([0.5, 0.5]), rows, LABELS[rows], caution=1.0)
    else:  # labels lie in two places: one step at half power
        total = p.sum(axis=0) - p[rows].sum(axis=0) + np.bincount(LABELS[rows])
        shares = np.sqrt(total / total.sum())
    q = p * shares / (p * shares).sum(axis=1, keepdims=True)
    for _ in range(model.fitted_.smoothing.rounds):
        q = (q + 2 * around(model, q)) / 3
    np.testing.assert_allclose(model.priors_, shares / shares.sum(), atol=1e-12)
    np.testing.assert_allclose(model.transduction_proba_, q, atol=1e-9)


def test_what_is_found():
    model = scan()
    assert np.mean(model.transduction_ == TRUTH) > 0.98
    # ten labels of each class count as much as all points: halfway between a quarter and a half
    assert abs(model.priors_[1] - (0.25 + 0.5) / 2) < 0.03


def test_points_seen_again_have_what_they_had():
    model = scan()
    np.testing.assert_allclose(model.predict_proba(X[5:50]), model.transduction_proba_[5:50], atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X, among="own"), model.transduction_proba_, atol=1e-9)
    assert model.score(X, TRUTH) == np.mean(model.transduction_ == TRUTH)


def test_new_points_do_not_depend_on_their_batch_unless_asked():
    model = scan()
    alone = np.vstack([model.predict_proba(x[None]) for x in NEW])
    np.testing.assert_allclose(model.predict_proba(NEW), alone, atol=1e-9)
    assert np.abs(model.predict_proba(NEW, among="own") - alone).max() > 1e-6


def test_saved_and_loaded(reloaded):
    model = scan()
    loaded = reloaded(model)
    for among in ("training", "own"):
        np.testing.assert_allclose(
            loaded.predict_proba(NEW, among=among), model.predict_proba(NEW, among=among), atol=1e-12
        )
    np.testing.assert_array_equal(loaded.transduction_, model.transduction_)
    np.testing.assert_array_equal(loaded.priors_, model.priors_)


def test_runs_side_by_side_and_a_warm_start():
    (run,) = fit_many(quick(), X, [LABELS])
    np.testing.assert_array_equal(run.transduction_proba_, scan().transduction_proba_)
    warm = quick(warm_start=True).fit(X, LABELS)
    np.testing.assert_array_equal(warm.transduction_proba_, scan().transduction_proba_)
    more = LABELS.copy()
    more[20:40] = TRUTH[20:40]
    assert np.mean(warm.fit(X, more).transduction_ == TRUTH) > 0.98


def test_other_columns_are_ranked_and_seen_by_trees(reloaded):
    """Intensities: the network sees them by rank, trees ask for thresholds of their own; no unit counts."""
    intensity = RNG.integers(0, 40, (2_400, 1)) + 30 * TRUTH[:, None]
    model = quick(epochs=5, trees=200).fit(X, LABELS, features=intensity)
    assert model.fitted_.scaling.normal_scores.knots.shape[1] == 88 + 1
    for own in model.fitted_.first.trees.experts.values():
        assert any((forest.feature == 124).any() for forest in own.members)
    other_unit = quick(epochs=5, trees=200).fit(X, LABELS, features=1024 * intensity)
    np.testing.assert_allclose(other_unit.transduction_proba_, model.transduction_proba_, atol=1e-9)
    loaded = reloaded(model)
    again = loaded.predict_proba(X[::40], features=intensity[::40])
    np.testing.assert_allclose(again, model.transduction_proba_[::40], atol=1e-9)


def test_how_long_training_takes():
    """Networks with trees beside them take fewer epochs, unless a number is given."""
    nodes = scan().fitted_.nodes
    epochs = {
        (trees, asked): FitSettings.of(PinvGCNClassifier(trees=trees, epochs=asked).get_params())
        .resolved(nodes)
        .network.training.epochs
        for trees in ("auto", 0)
        for asked in ("auto", 30)
    }
    assert epochs == {("auto", "auto"): 300, ("auto", 30): 30, (0, "auto"): 500, (0, 30): 30}


def test_sigma_by_labels_keeps_the_shapes():
    model = quick(sigma="labels", epochs=5).fit(X, LABELS)
    assert model.network_.layers[0].weights.shape[1] == 91


@pytest.mark.parametrize(
    ("points", "settings", "width"),
    [
        (X[::2], {}, 3),  # too few
        (X[:, :2], {}, 2),  # no height
        (X, {"geometry": False}, 3),
        (X[::2], {"geometry": True}, 91),
    ],
)
def test_who_is_a_scan(points, settings, width):
    labels = LABELS[:: 2 if len(points) < 2_000 else 1]
    model = quick(epochs=3, **settings).fit(points, labels)
    assert model.network_.layers[0].weights.shape[1] == width
    assert (model.fitted_.smoothing.neighbours, model.fitted_.smoothing.factors is None) == (
        (10, False) if width == 91 else (None, True)
    )
    assert model.fitted_.ensemble.members == (5 if width == 91 else 1)
    assert any(name.endswith("trees") for name in model.fitted_.ensemble.names) == (width == 91)


def test_each_part_alone():
    bare = quick(geometry=False).fit(X, LABELS)
    averaged = clone(bare).set_params(neighbours=4).fit(X, LABELS)
    p = bare.transduction_proba_
    np.testing.assert_allclose(
        averaged.transduction_proba_, (p + 4 * around(averaged, p)) / 5, rtol=0, atol=1e-12
    )
    told = clone(bare).set_params(priors={0: 3, 1: 1}).fit(X, LABELS)
    np.testing.assert_allclose(told.priors_, [0.75, 0.25])
    weighed = bare.transduction_proba_ * [0.75, 0.25]
    expected = weighed / weighed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(told.transduction_proba_, expected, atol=1e-12)
    found = clone(bare).set_params(priors="estimated").fit(X, LABELS)
    assert np.abs(found.priors_ - 0.5).max() > 0.1


def test_a_dict_of_priors_is_kept(reloaded):
    words = np.array([None, "ball", "plain"], dtype=object)[np.where(LABELS < 0, 0, 2 - LABELS)]
    model = quick(epochs=3, priors={"ball": 0.2, "plain": 0.8}).fit(X, words)
    assert reloaded(model).priors == {"ball": 0.2, "plain": 0.8}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"geometry": "yes"}, r"geometry must be True, False or 'auto'\. Got 'yes' instead"),
        ({"members": "many"}, r"members must be a whole number or 'auto'\. Got 'many' instead"),
        ({"members": 0}, r"members must be a whole number, 1 or more\. Got 0 instead"),
        ({"trees": -1}, r"trees must be a whole number, 0 or more\. Got -1 instead"),
        ({"epochs": "long"}, r"epochs must be a whole number or 'auto'\. Got 'long' instead"),
        ({"neighbours": "few"}, r"neighbours must be a whole number, 'auto' or None\. Got 'few' instead"),
        ({"neighbours": 0}, r"neighbours must be a whole number, 1 or more\. Got 0 instead"),
        ({"priors": 0.5}, r"priors must be 'auto', 'estimated', None or a dict of class: share\. Got 0\.5"),
        (
            {"priors": {np.int64(0): 1.0}},
            r"priors must have a share for each labelled class and no other\. Got \[0\]",
        ),
        ({"priors": {0: 1.0, 1: 0.0}}, r"priors\[1\] must be a positive, finite number\. Got 0\.0"),
    ],
    ids=str,
)
def test_bad_settings(settings, message):
    with pytest.raises(ParameterError, match=message):
        quick(**{"epochs": 2, **settings}).fit(X, LABELS)


def test_bad_settings_for_other_data():
    with pytest.raises(ParameterError, match=r"geometry=True needs points with x, y and z\. Got 2 columns"):
        quick(geometry=True).fit(X[:, :2], LABELS)
    with pytest.raises(ParameterError, match=r"neighbours must be 'auto' or None for given.* Got 5 instead"):
        PinvGCNClassifier(GaussianGraph(X, 4.0), neighbours=5, epochs=2).fit(None, LABELS)
    with pytest.raises(ParameterError, match=r"among must be .* Got 'theirs' instead"):
        scan().predict(X, among="theirs")


class TestAnotherScan:
    def test_in_another_unit(self):
        """Feet pass, millimetres do not: shapes are measured at the scale of training."""
        model = scan()
        assert model.fitted_.nodes.other_unit(X / 0.3048) is None
        assert "about 16 times wider apart than those of training" in model.fitted_.nodes.other_unit(X * 16)
        with pytest.warns(ExtrapolationWarning, match=r"The points lie about 128 times closer .* unit\?"):
            model.predict(X / 128, among="own")

    def test_the_cells_of_training_measure_it(self):
        """Thinner scans have other cells of their own, which do not count."""
        model = scan()
        thin = X[::3]
        _, features = model.fitted_.nodes.place(thin, model.spectrum_, among="own")
        np.testing.assert_array_equal(
            features[:, 3:], local_geometry(thin, cell=model.fitted_.nodes.lattice.cell).astype(float)
        )
        assert lattice_for(X[::40]).cell > model.fitted_.nodes.lattice.cell

    @pytest.mark.parametrize("among", ["own", "training"])
    def test_a_stray_changes_nothing_elsewhere(self, among):
        model = scan()
        stray = np.vstack([X, [[50.0, 9.0, 2.0]]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            P = model.predict_proba(stray, among=among)
        np.testing.assert_allclose(P[:-1], model.transduction_proba_, rtol=0, atol=1e-9)


class TestStrays:
    STRAY = np.vstack([X, [[1e7, -1e7, 1e7], [10.0, 1e5, 0.0]]])

    def test_a_stray_costs_nothing(self):
        """It would be a component of its own, and press all other coordinates together."""
        model = quick().fit(self.STRAY, np.append(LABELS, [-1, -1]))
        assert model.spectrum_.components == 1
        assert np.mean(model.transduction_[:-2] == scan().transduction_) > 0.995
        np.testing.assert_allclose(model.sigma_, scan().sigma_, rtol=0.01)
        spread = model.fitted_.nodes.features[:, :3].std(axis=0)
        np.testing.assert_allclose(spread, X.std(axis=0), rtol=0.05)

    def test_where_they_go(self):
        """To the distance of 99 of 100 points from the middle, in their direction."""
        near = gathered(self.STRAY, 30.0, ALONE)
        np.testing.assert_array_equal(near[:-2], X)
        middle = np.median(self.STRAY, axis=0)
        away = np.linalg.norm(self.STRAY - middle, axis=1)
        np.testing.assert_allclose(np.linalg.norm(near[-2:] - middle, axis=1), np.quantile(away, 0.99))
        assert gathered(X, 30.0, ALONE) is X

    def test_the_settings_of_the_paper_leave_them(self):
        points = np.vstack([X[:300], [[200.0, 0.0, 0.0]]])
        model = PinvGCNClassifier.paper(sigma=20.0, rank=5, epochs=2, loops=1.0)
        model.fit(points, np.append(LABELS[:299], [1, -1]))
        np.testing.assert_array_equal(model.fitted_.nodes.features, points)
