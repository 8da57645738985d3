"""Bad input to fit: each gets an error of the project's tree, in one line that names the value received."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn import GaussianGraph, Hypergraph, PinvGCNClassifier, PinvGCNError, SparseGraph
from pinvgcn.errors import (
    ColumnError,
    DataError,
    GraphError,
    LabelError,
    ParameterError,
    RankWarning,
    TrainingError,
)
from pinvgcn.fitting.settings import FitSettings
from pinvgcn.repeated_fits import fit_many

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.arange(30) % 2
TABLE = pd.DataFrame({"a": list("xyz") * 10, "b": np.arange(30) % 5})


def refusal(error, X, y, *, features=None, sample_weight=None, **settings) -> str:
    """The one line with which fit refuses, and that nothing was learned."""
    model = PinvGCNClassifier(**{"epochs": 3, **settings})
    with pytest.raises(error) as caught:
        model.fit(X, y, features=features, sample_weight=sample_weight)
    assert type(caught.value) is error
    assert isinstance(caught.value, PinvGCNError)
    assert not hasattr(model, "classes_")
    message = str(caught.value)
    assert "\n" not in message
    return message


def with_value(value) -> np.ndarray:
    changed = X.copy()
    changed[4, 1] = value
    return changed


POSITIVE, SHARE = "a positive, finite number.", "a number from 0 to below 1."
WHOLE, NONE_OR_MORE = "a whole number, 1 or more.", "a finite number, zero or more."
SCALINGS = "one of 'ranks', 'isotropic', 'centre', 'none', 'standard'."
GRAPHS, WEIGHTS = "'auto', 'gaussian', 'categorical' or a Graph.", "a dict, 'balanced' or None."
SETTINGS = {  # what a setting must be, and what it is not
    ("sigma", POSITIVE): [0, -2.5, np.nan, np.inf, None],
    ("sigma", "a positive number, 'auto' or 'labels'."): ["wide"],
    ("rank", WHOLE): [0, -4, 5.0, "60"],
    ("loops", NONE_OR_MORE): [-1, np.nan],
    ("tolerance", POSITIVE): [0],
    ("hidden", WHOLE): [0],
    ("dropout", SHARE): [1, -0.5],
    ("epochs", WHOLE): [0, 2.5],
    ("learning_rate", POSITIVE): [0, -0.01],
    ("weight_decay", NONE_OR_MORE): [-1.0],
    ("scaling", SCALINGS): ["x", None],
    ("graph", GRAPHS): ["x", None],
    ("class_weight", WEIGHTS): ["x", [1, 2]],
    ("bins", WHOLE): [0, 2.5],
    ("min_size", WHOLE): [0],
    ("missing", "one of 'ignore', 'value'."): ["drop"],
    ("solver", "one of 'auto', "): ["x", None],
    ("filters", "one of 'three-part', "): ["x", (1, 2)],
    ("device", "one that PyTorch has here, such as 'cpu'."): ["nonsense", "meta", None],
    ("random_state", "None, a whole number "): ["x", -1, 1.5],
}


@pytest.mark.parametrize(("name", "what"), SETTINGS, ids=[f"{name}: {what}" for name, what in SETTINGS])
def test_settings(name, what):
    for value in SETTINGS[name, what]:
        message = refusal(ParameterError, X, Y, **{name: value})
        assert message.startswith(f"{name} must be {what}")
        assert f" Got {value!r} instead" in message
        if what.endswith("."):
            assert name == "device" or message == f"{name} must be {what} Got {value!r} instead."


def test_settings_inside_of_others():
    for settings, message in (
        ({"hidden": (8, -1)}, f"hidden must be {WHOLE} Got -1 instead."),
        ({"class_weight": {1: -2}}, f"class_weight[1] must be {NONE_OR_MORE} Got -2 instead."),
        ({"class_weight": {0: np.nan}}, f"class_weight[0] must be {NONE_OR_MORE} Got nan instead."),
    ):
        assert refusal(ParameterError, X, Y, **settings) == message


@pytest.mark.parametrize(
    "setting",
    [
        {"hidden": 0},
        {"dropout": 2},
        {"filters": "x"},
        {"device": "nonsense"},
        {"held_out": 1.5},
        {"rank": 0},
        {"tolerance": -1},
        {"bins": 0},
        {"missing": "drop"},
        {"min_size": 0},
        {"sigma": -1},
        {"loops": -1},
    ],
    ids=str,
)
@pytest.mark.parametrize("graph", ["gaussian", "categorical"])
def test_settings_are_checked_before_any_work(setting, graph, monkeypatch):
    """Those of the other kind of graph too."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the graph was made")

    monkeypatch.setattr(FitSettings, "nodes", work)
    (name,) = setting
    assert refusal(ParameterError, X, Y, graph=graph, **setting).startswith(f"{name} must be ")
    with pytest.raises(ParameterError, match=f"{name} must be "):
        fit_many(PinvGCNClassifier(graph, **setting), X, [Y])


@pytest.mark.parametrize("graph", ["gaussian", GaussianGraph(X, 1.0)], ids=["gaussian", "given"])
class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
    )
    def test_not_finite(self, graph, value, word):
        assert f"X must be finite. Got {word} in row 4;" in refusal(
            DataError, with_value(value), Y, graph=graph
        )

    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
    def test_features_not_finite(self, graph, value, word):
        message = refusal(DataError, X, Y, features=with_value(value), graph=graph)
        assert f"features must be finite. Got {word} in row 4;" in message

    def test_shapes(self, graph):
        assert "Got shape (30,)" in refusal(DataError, X[:, 0], Y, graph=graph)
        assert "Got 29 rows instead" in refusal(DataError, X, Y, features=X[1:], graph=graph)
        assert "Got shape (30,)" in refusal(DataError, X, Y, features=X[:, 0], graph=graph)

    def test_text(self, graph):
        message = refusal(DataError, TABLE, Y, graph=graph)
        assert "X must be numbers. Got could not convert string to float: 'x' instead" in message
        assert "graph='categorical'" in message


@pytest.mark.parametrize("scaling", ["isotropic", "standard"])
def test_features_too_large_to_scale(scaling):
    message = refusal(DataError, X, Y, features=with_value(3e200), scaling=scaling)
    assert "must be small enough to have a mean and a spread. Got 3e+200; use larger units." in message


class TestPoints:
    def test_empty(self):
        assert "0 sample(s) (shape=(0, 3))" in refusal(DataError, X[:0], Y[:0])
        assert "0 feature(s) (shape=(30, 0))" in refusal(DataError, X[:, :0], Y)
        assert "at least 2 points. Got n_samples=1" in refusal(DataError, X[:1], Y[:1])

    def test_no_points(self):
        assert "Got shape ()" in refusal(DataError, None, Y)

    def test_isolated(self):
        message = refusal(GraphError, with_value(1e4), Y, sigma=1.0, loops=0.0)
        assert "Got 1 isolated node (first: node 4)" in message
        assert "sigma=1" in message
        assert "set loops=1" in message

    def test_names_of_two_types(self):
        frame = pd.DataFrame(X, columns=["a", "b", 3])
        assert "['int', 'str']" in refusal(ColumnError, frame, Y)

    def test_more_rank_than_exists(self):
        with pytest.warns(RankWarning, match=r"rank=50 was asked for and 2\d eigenvectors exist"):
            model = PinvGCNClassifier(sigma=1.0, rank=50, epochs=3).fit(X, Y)
        assert model.spectrum_.rank < 30


class TestLabels:
    @pytest.mark.parametrize(
        ("y", "part"),
        [
            (None, "the target y is None"),
            (np.full(30, -1), "no label at all: all 30 entries"),
            ([None] * 30, "no label at all"),
            (np.full(30, np.nan), "no label at all"),
            (np.where(Y == 0, -1, 7), "greater than one; got 1 class (7)"),
            (["pine"] * 30, "got 1 class ('pine')"),
            (
                Y[:-2],
                "each of the 30 rows of X (-1 or None for unlabelled). Got inconsistent numbers of samples",
            ),
            (np.append(Y, 0), "31 labels instead"),
            (Y * 0.5, "Unknown label type: y must be classes. Got the continuous value 0.5"),
            (np.where(Y == 0, np.inf, 1.0), "the continuous value inf"),
            (np.stack([Y, 1 - Y], axis=1), "shape (30, 2)"),
            (np.array(["a", -1] * 15), "the text '-1'"),
            ([1, "a"] * 15, "a mixture of numbers and text"),
            (pd.Categorical(["a", "b"] * 15, categories=["a", "b", "c"]), "Got none for 'c'"),
        ],
    )
    def test_labels(self, y, part):
        assert part in refusal(LabelError, X, y)
        assert part in refusal(LabelError, TABLE, y, graph="categorical")

    def test_weights_of_classes_that_are_not_there(self):
        message = refusal(LabelError, X, Y, class_weight={0: 1, 5: 2})
        assert "Got 5 instead; the labelled classes are [0, 1]" in message


class TestSampleWeights:
    @pytest.mark.parametrize(
        ("weights", "part"),
        [
            (np.ones(29), "sample_weight.shape == (29,), expected (30,)"),
            (np.where(Y == 0, -1.0, 1.0), "Got -1.0 instead"),
            (np.where(Y == 0, np.nan, 1.0), "Got nan instead"),
            (np.zeros(30), "positive at one labelled row at least. Got zeros only"),
            (np.where(Y == 1, 0.0, 1.0), "labelled row whose weight is positive. Got none for 1; raise"),
            (["a"] * 30, "sample_weight must be numbers. Got could not convert string to float: 'a'"),
        ],
    )
    def test_weights(self, weights, part):
        assert part in refusal(DataError, X, Y, sample_weight=weights)


class TestTables:
    def test_empty(self):
        assert "0 sample(s)" in refusal(DataError, TABLE.iloc[:0], Y[:0], graph="categorical")
        assert "0 feature(s)" in refusal(DataError, TABLE[[]], Y, graph="categorical")
        assert "Got shape ()" in refusal(DataError, None, Y, graph="categorical")

    def test_constant(self):
        frame = pd.DataFrame({"a": ["x"] * 30, "b": [1.0] * 30})
        message = refusal(ColumnError, frame, Y, graph="categorical")
        assert "the same in every column: 'a', 'b'" in message

    def test_nothing_shared(self):
        frame = pd.DataFrame({"name": [f"n{i}" for i in range(30)]})
        message = refusal(ColumnError, frame, Y, graph="categorical")
        assert "min_size = 2" in message
        assert "'name'" in message

    def test_a_row_that_shares_nothing(self):
        frame = TABLE.astype({"b": object})
        frame.loc[7, "a"] = "alone"
        frame.loc[7, "b"] = None
        message = refusal(GraphError, frame, Y, graph="categorical")
        assert "Got 1 isolated node (first: node 7)" in message
        assert "give them a value that other rows have" in message

    def test_infinity(self):
        frame = TABLE.assign(b=np.where(Y == 0, np.inf, 1.0))
        assert "Column 'b' must be finite. Got infinity" in refusal(DataError, frame, Y, graph="categorical")

    def test_columns_of_one_name(self):
        frame = TABLE.set_axis(["a", "a"], axis=1)
        assert "Got 'a' more than once" in refusal(ColumnError, frame, Y, graph="categorical")

    def test_more_rank_than_exists(self):
        with pytest.warns(RankWarning, match="rank=40 was asked for and 6 eigenvectors exist"):
            PinvGCNClassifier("categorical", rank=40, epochs=3).fit(TABLE, Y)


class TestGraphsThatAreGiven:
    def test_no_features_for_a_sparse_graph(self):
        graph = SparseGraph(np.ones((30, 30)))
        assert "Got None instead; without features pass numpy.eye(n)" in refusal(
            DataError, None, Y, graph=graph
        )

    def test_other_rows(self):
        message = refusal(DataError, X[:20], Y, graph=GaussianGraph(X, 1.0))
        assert "one row for each of the 30 nodes of the graph" in message
        assert "Got 20 rows" in message

    def test_labels_of_another_length(self):
        assert "Got inconsistent numbers of samples: 29" in refusal(
            LabelError, None, Y[1:], graph=Hypergraph(np.eye(3)[np.arange(30) % 3])
        )

    @pytest.mark.parametrize(
        ("make", "part"),
        [
            (lambda: SparseGraph(np.triu(np.ones((4, 4)))), "adjacency must be symmetric. Got A["),
            (lambda: SparseGraph(-np.ones((4, 4))), "adjacency must be zero or more. Got -1"),
            (lambda: SparseGraph(sp.csr_array((4, 4))), "Got 4 isolated nodes (first: node 0)"),
            (lambda: Hypergraph(np.eye(4, 3)), "Got 1 isolated node (first: node 3)"),
        ],
        ids=["asymmetric", "negative", "isolated", "outside"],
    )
    def test_graphs_refuse_before_the_classifier_sees_them(self, make, part):
        with pytest.raises(GraphError) as caught:
            make()
        assert part in str(caught.value)


class TestTraining:
    def test_features_too_large(self):
        message = refusal(TrainingError, X, Y, features=X * 1e200, scaling="none")
        assert "in epoch 1 of 3. Lower learning_rate (now 0.01) or scale the features." in message

    def test_a_learning_rate_too_large(self):
        assert "in epoch 2 of 3. Lower learning_rate (now 1e+25)" in refusal(
            TrainingError, X, Y, learning_rate=1e25
        )

    def test_the_last_step_counts_too(self):
        """Nothing comes after it, but scores that are no numbers must not become classes."""
        settings = {"learning_rate": 1e37, "epochs": 1, "hidden": (4,) * 10, "dropout": 0.0}
        message = refusal(TrainingError, X, Y, **settings)
        assert "in epoch 1, the last. Lower learning_rate (now 1e+37)" in message
