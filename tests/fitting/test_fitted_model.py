"""A fitted model as a value: rows are placed once, and everything is asked of placed rows."""

from __future__ import annotations

import functools
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import ParameterError
from pinvgcn.features.averages import Averages
from pinvgcn.fitting.model_file import fitted_from_state, fitted_state
from pinvgcn.fitting.pool import OF_TABLES

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 200)
POINTS = RNG.normal(size=(200, 3)) + 2 * TRUTH[:, None]
TABLE = pd.DataFrame(
    {f"c{j}": np.array(list("abc"))[(TRUTH + RNG.integers(0, 2, 200)) % 3] for j in range(4)}
)
LABELS = np.where(np.arange(200) < 60, TRUTH, -1)


@functools.cache
def fitted(kind: str) -> PinvGCNClassifier:
    if kind == "table":
        return PinvGCNClassifier("categorical", epochs=10, trees=4).fit(TABLE, LABELS)
    return PinvGCNClassifier(epochs=10, rank=8, geometry=True, members=3, trees=4).fit(POINTS, LABELS)


@pytest.mark.parametrize(("kind", "X"), [("points", POINTS + 0.01), ("table", TABLE.iloc[::-1])])
class TestPlacedRows:
    def test_they_give_what_the_classifier_gives(self, kind, X):
        model = fitted(kind)
        rows = model.fitted_.place(X)
        np.testing.assert_array_equal(model.fitted_.probabilities(rows), model.predict_proba(X))
        sets = model.fitted_.sets(rows, coverage=0.8)
        np.testing.assert_array_equal(sets, model.predict_set(X, coverage=0.8))

    def test_opinions_have_names_and_add_up(self, kind, X):
        model = fitted(kind).fitted_
        rows = model.place(X)
        opinions = list(model.opinions(rows))
        free = ("fine_trees", "wide_trees", "context_trees")
        names = ("network", *free) if kind == "points" else OF_TABLES
        assert [tuple(own) for own in opinions] == [names] * model.ensemble.members
        weights = {name: np.full((200, 1), weight) for name, weight in model.ensemble.weights.items()}
        if kind == "points":
            phi = rows.seen.trust[:, None]
            assert 0 < phi.min() < phi.max() == 1  # the place counts everywhere, less away from labels
            rest = 1 + (1 - phi) * weights["network"] / sum(weights[name] for name in free)
            weights = {"network": phi * weights["network"]} | {name: rest * weights[name] for name in free}
        scores = np.mean([sum(weights[name] * own[name] for name in names) for own in opinions], axis=0)
        seen = rows.seen if kind == "points" else rows.seen.at(np.arange(len(rows.seen)))
        np.testing.assert_allclose(scores, model.ensemble.joint(seen)[rows.inverse])
        assert scores.shape == (200, 2)

    def test_a_state_gives_it_back(self, kind, X):
        model = fitted(kind)
        description, arrays = fitted_state(model.fitted_)
        description["n_features_in"] = X.shape[1]
        again = fitted_from_state(description, arrays, dropout=model.dropout, filters=model.filters)
        found = again.probabilities(again.place(X))
        np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(again.transduction, model.fitted_.transduction)


def test_points_with_known_basis_values_and_shapes():
    model = fitted("points").fitted_
    rows = model.place(POINTS, among="own")
    V = model.spectrum.extend_basis(POINTS)
    shapes = model.nodes.features_of(POINTS, among="own")[:, 3:]
    trust = model.places.trust(POINTS)
    np.testing.assert_array_equal(rows.seen.trust, trust)
    first = model.first_probabilities(shapes, None)
    around = Averages.of(POINTS, first, model.first.lattice.cell, levels=model.first.lattice.levels)
    known = model.place_points(POINTS, V, shapes=shapes, trust=trust, context=around.context(POINTS, first))
    np.testing.assert_array_equal(known.seen.inputs, rows.seen.inputs)
    np.testing.assert_array_equal(known.seen.values, rows.seen.values)
    np.testing.assert_array_equal(model.probabilities(known), model.probabilities(rows))
    each = model.point_probabilities(known, members=True)
    assert each.shape == (200, (1 + 3) * 2)
    rounds = model.smoothing.rounds
    weighed = model.smoothing.weighed(each)
    proba, above = model.smoothed(model.smoothing.averaged(weighed, POINTS, None, "own", rounds=rounds))
    np.testing.assert_allclose(proba, model.probabilities(known))
    sets = model.sets(known, coverage=0.8)
    np.testing.assert_array_equal(above < model.thresholds(0.8), sets)


def test_it_is_a_value():
    with pytest.raises(FrozenInstanceError):
        fitted("points").fitted_.priors = None


def test_sets_need_held_out_labels():
    model = PinvGCNClassifier(epochs=2, rank=4, members=1).fit(POINTS, LABELS)
    with pytest.raises(ParameterError, match=r"members must be 2 or more.*Got members=1 in the end"):
        model.fitted_.thresholds(0.9)
