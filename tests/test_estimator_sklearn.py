"""scikit-learn's conventions: its own checks, and its tools around the classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_classifier_data_not_an_array,
    check_classifiers_predictions,
    parametrize_with_checks,
)

from pinvgcn import GaussianGraph, PinvGCNClassifier
from pinvgcn.errors import DataError, LabelError

EPOCHS = 30  # for time, as fewer members and trees; every check that passes does so with the defaults too
SMALL_TABLE = PinvGCNClassifier(graph="categorical", epochs=EPOCHS, members=2, trees=10)

EVERYWHERE = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a row is a node of the graph whatever its weight: "
        "weights count in the loss alone, repeated rows in the graph too"
    ),
    "check_classifiers_classes": "its last part has a class named -1, which means unlabelled here",
}
TABLE = {
    "check_classifier_data_not_an_array": (
        "its row (4, 4) shares no value with another row: an isolated node, which is an error at min_size=2"
    ),
    "check_class_weight_classifiers": (
        "a test row lies outside the range of training in every column: without a known value it has no place"
    ),
}


def exceptions(estimator: PinvGCNClassifier) -> dict[str, str]:
    return EVERYWHERE | (TABLE if estimator.graph == "categorical" else {})


# these checks meet values never seen and points far outside, and both are said
@pytest.mark.filterwarnings("ignore::pinvgcn.errors.UnseenValueWarning")
@pytest.mark.filterwarnings("ignore::pinvgcn.errors.ExtrapolationWarning")
@parametrize_with_checks(
    [PinvGCNClassifier(epochs=EPOCHS), SMALL_TABLE],
    expected_failed_checks=exceptions,
    xfail_strict=True,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


class TestWhatTheExceptionsLeaveOut:
    """The parts of the expected failures that must hold all the same."""

    def test_classes_of_any_other_name(self):
        X, y = make_blobs(n_samples=30, random_state=0, cluster_std=0.1)
        for names in (["one", "two", "three"], [-2, 1, 7], [0.0, 1.0, 5.0]):
            labels = np.take(names, y)
            for labels_i in (labels, labels.astype(object)):
                check_classifiers_predictions(
                    X, labels_i, "PinvGCNClassifier", PinvGCNClassifier(epochs=EPOCHS)
                )

    def test_numbers_as_objects(self):
        X, y = make_blobs(n_samples=30, random_state=0)
        plain = PinvGCNClassifier(epochs=5).fit(X, y)
        objects = PinvGCNClassifier(epochs=5).fit(X.astype(object), y)
        np.testing.assert_array_equal(plain.transduction_proba_, objects.transduction_proba_)
        broken = X.astype(object)
        broken[0, 0] = {"foo": "bar"}
        with pytest.raises(DataError, match="argument must be a string or a real number, not 'dict'"):
            PinvGCNClassifier().fit(broken, y)

    def test_tables_that_are_not_arrays(self):
        check_classifier_data_not_an_array(
            "PinvGCNClassifier", PinvGCNClassifier(graph="categorical", min_size=1, epochs=EPOCHS)
        )

    @pytest.mark.parametrize("centers", [2, 3])
    def test_class_weights_rule_on_tables_too(self, centers):
        """The check itself, but with test rows within the range of the training rows."""
        X, y = make_blobs(centers=centers, random_state=0, cluster_std=20)
        train, test = X[::2], X[1::2].clip(X[::2].min(axis=0), X[::2].max(axis=0))
        weights = {0: 1000, **dict.fromkeys(range(1, centers), 0.0001)}
        model = PinvGCNClassifier("categorical", bins=5, class_weight=weights, epochs=EPOCHS).fit(
            train, y[::2]
        )
        assert np.mean(model.predict(test) == 0) > 0.87


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, centers=3, cluster_std=1.2, random_state=3)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(**{"epochs": 30, "rank": 8, **settings})


def test_parameters_are_stored_untouched_and_cloned():
    hidden, weight, filters = (4, 4), {0: 1.0, 1: 2.0}, (1, 2, 3)
    model = PinvGCNClassifier("categorical", hidden=hidden, class_weight=weight, filters=filters, sigma="bad")
    assert model.hidden is hidden
    assert model.class_weight is weight
    assert model.get_params()["filters"] is filters
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(rank=5, graph="gaussian") is copy
    assert (copy.rank, copy.graph, model.rank) == (5, "gaussian", None)
    with pytest.raises(ValueError, match="Invalid parameter 'ranks'"):
        copy.set_params(ranks=5)


def test_every_parameter_is_public_and_has_a_line_in_the_docstring():
    for name in PinvGCNClassifier().get_params():
        assert name in PinvGCNClassifier.__doc__.split("Attributes")[0]


def test_a_clone_of_a_model_of_a_graph_has_a_graph_of_its_own(blobs):
    X, y = blobs
    model = quick(graph=GaussianGraph(X, 3.0, loops=1.0)).fit(None, y)
    copy = clone(model)
    assert not hasattr(copy, "classes_")
    np.testing.assert_array_equal(copy.fit(None, y).transduction_proba_, model.transduction_proba_)


def test_unfitted_says_so(blobs):
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(quick(), method)(blobs[0])
    with pytest.raises(NotFittedError):
        quick().score(*blobs)
    with pytest.raises(NotFittedError):
        quick().save("nowhere")


def test_score_is_the_accuracy_of_the_labelled_rows(blobs):
    X, y = blobs
    model = quick(epochs=5).fit(X, y)
    right = model.predict(X) == y
    assert 0.3 < right.mean() < 1
    assert model.score(X, y) == pytest.approx(right.mean(), abs=1e-15)
    some = np.arange(90) % 4 == 0
    assert model.score(X, np.where(some, y, -1)) == pytest.approx(right[some].mean())
    assert model.score(X, [int(c) if s else None for c, s in zip(y, some, strict=True)]) == pytest.approx(
        right[some].mean()
    )
    weights = np.linspace(0, 1, 90)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(np.average(right, weights=weights))
    assert model.score(X, np.where(some, y, -1), weights) == pytest.approx(
        np.average(right[some], weights=weights[some])
    )
    with pytest.raises(LabelError, match="Got 90 unlabelled rows"):
        model.score(X, np.full(90, -1))
    with pytest.raises(LabelError, match="Got inconsistent numbers of samples: 89 labels"):
        model.score(X, y[1:])


def test_grid_search_over_sigma_and_rank(blobs):
    X, y = blobs
    search = GridSearchCV(quick(), {"sigma": [1.5, 4.0], "rank": np.array([2, 6])}, cv=3).fit(X, y)
    assert set(search.cv_results_["param_sigma"]) == {1.5, 4.0}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.9
    assert search.best_estimator_.spectrum_.rank == search.best_params_["rank"]
    assert search.best_estimator_.graph_.sigma == search.best_params_["sigma"]
    assert search.predict(X).shape == (90,)


def test_grid_search_with_few_labels(blobs):
    """Unlabelled rows of a fold are nodes of the graph in training and do not count in the score."""
    X, y = blobs
    labels = np.where(np.arange(90) % 3 == 0, y, -1)
    search = GridSearchCV(quick(), {"dropout": [0.0, 0.5]}, cv=3).fit(X, labels)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.graph_.n_nodes == 90


def test_cross_validation(blobs):
    scores = cross_val_score(quick(), *blobs, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.85).all()


def test_cross_validation_with_features(blobs):
    """scikit-learn's metadata routing carries them to fit and to score."""
    X, y = blobs
    with config_context(enable_metadata_routing=True):
        model = quick(sigma=50.0, rank=4, scaling="standard", epochs=60)
        model.set_fit_request(features=True).set_score_request(features=True)
        where = np.random.default_rng(0).uniform(0, 90, size=(90, 1))  # says nothing of the class
        scores = cross_val_score(model, where, y, cv=3, params={"features": X})
    assert (scores > 0.8).all()


def test_pipeline_with_a_scaler(blobs):
    X, y = blobs
    X = X * [1.0, 1000.0]
    pipeline = make_pipeline(StandardScaler(), quick(random_state=1)).fit(X, y)
    by_hand = quick(random_state=1).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(
        pipeline.predict_proba(X), by_hand.predict_proba(StandardScaler().fit_transform(X))
    )
    assert pipeline.score(X, y) > 0.9
    named = pipeline.set_params(pinvgcnclassifier__rank=3).fit(X, y)
    assert named[-1].spectrum_.rank == 3


class TestColumns:
    def test_names_are_remembered_and_their_order_checked(self, blobs):
        X, y = blobs
        frame = pd.DataFrame(X, columns=["east", "north"])
        model = quick().fit(frame, y)
        assert model.feature_names_in_.tolist() == ["east", "north"]
        assert model.n_features_in_ == 2
        np.testing.assert_array_equal(model.predict_proba(frame), quick().fit(X, y).predict_proba(X))
        with pytest.raises(DataError, match="Feature names must be in the same order") as caught:
            model.predict(frame[["north", "east"]])
        assert "\n" not in str(caught.value)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            model.predict(X)

    def test_arrays_have_no_names(self, blobs):
        X, y = blobs
        model = quick().fit(pd.DataFrame(X, columns=["east", "north"]), y).fit(X, y)
        assert not hasattr(model, "feature_names_in_")
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            model.predict(pd.DataFrame(X, columns=["east", "north"]))

    def test_a_model_without_X_has_no_columns(self, blobs):
        X, y = blobs
        model = quick().fit(X, y)
        model.set_params(graph=GaussianGraph(X, 3.0, loops=1.0)).fit(None, y)
        assert not hasattr(model, "n_features_in_")
        np.testing.assert_array_equal(model.predict(None), model.transduction_)


def test_tags():
    """What is not told may be a table; only of a table that was told cells may be missing."""
    takes = {}
    for graph in ("auto", "gaussian", "categorical"):
        tags = PinvGCNClassifier(graph).__sklearn_tags__()
        assert tags.estimator_type == "classifier"
        assert tags.target_tags.required
        takes[graph] = tags.input_tags.categorical, tags.input_tags.string, tags.input_tags.allow_nan
    assert takes == {
        "auto": (True, True, False),
        "gaussian": (False, False, False),
        "categorical": (True, True, True),
    }
