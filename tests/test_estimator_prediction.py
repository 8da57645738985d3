"""Prediction: at the training rows what training said, elsewhere something sensible, or an error."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons

from pinvgcn import GaussianGraph, Hypergraph, PinvGCNClassifier, SparseGraph
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.errors import ColumnError, DataError, ExtrapolationWarning, UnseenValueWarning
from pinvgcn.graphs.gaussian import SOLVERS

AGREEMENT = 1e-8  # of probabilities; 1e-4 is what is asked for


def cloud(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on a slope with three classes, at map coordinates; true classes; five labels a class."""
    X, y = make_blobs(n, centers=3, n_features=3, cluster_std=2.0, random_state=seed)
    X += [4.5e5, 5.4e6, 300]
    return X, y, random_split(y, per_class=5, random_state=seed)


def table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Every kind of column, with gaps; the class shows in three of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(n) < 0.2)) % 3],
            "shape": rng.choice(["round", "flat", "long", "odd"], n),
            "weight": np.round(rng.normal(size=n) + 2 * y, 2),
            "rings": rng.integers(0, 4, n),
            "bruised": (rng.random(n) < 0.2 + 0.6 * y),
            "grade": pd.Categorical(
                rng.choice(["lo", "hi"], n), categories=["lo", "mid", "hi"], ordered=True
            ),
        }
    )
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "weight"] = np.nan
    return frame, y, random_split(y, per_class=15, random_state=seed)


def assert_agrees_at_training_rows(model: PinvGCNClassifier, X, **features) -> None:
    np.testing.assert_array_equal(model.predict(X, **features), model.transduction_)
    np.testing.assert_allclose(
        model.predict_proba(X, **features), model.transduction_proba_, rtol=0, atol=AGREEMENT
    )


class TestTrainingRows:
    """predict(X) on the rows of fit is transduction_, for every graph, solver and loop weight."""

    @pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "auto"])
    @pytest.mark.parametrize("loops", [0.0, 0.5, 1.0])
    def test_points(self, solver, loops):
        X, _, labels = cloud(600)
        sigma = 60.0 if solver == "taylor" else 20.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a solver says of its accuracy is not the matter here
            model = PinvGCNClassifier(sigma=sigma, rank=12, loops=loops, solver=solver, epochs=20).fit(
                X, labels
            )
        assert_agrees_at_training_rows(model, X)

    @pytest.mark.parametrize("loops", [0.0, 1.0])
    def test_points_at_a_rank_beyond_what_is_smooth(self, loops):
        """Without loops high eigenvectors are noise at single nodes, and still their own extension."""
        X, _, labels = cloud(400)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PinvGCNClassifier(sigma=100.0, rank=60, loops=loops, epochs=20).fit(X, labels)
        assert_agrees_at_training_rows(model, X)

    @pytest.mark.parametrize("dimension", [1, 2, 5])
    def test_points_in_any_dimension(self, dimension):
        X, y = make_blobs(200, centers=3, n_features=dimension, random_state=0)
        model = PinvGCNClassifier(rank=6, epochs=20).fit(X, y)
        assert_agrees_at_training_rows(model, X)

    def test_points_many_enough_for_the_iteration(self):
        X, _, labels = cloud(2_500)
        model = PinvGCNClassifier(sigma=20.0, rank=15, epochs=10).fit(X, labels)
        assert model.spectrum_.solver != "dense"
        assert_agrees_at_training_rows(model, X)

    @pytest.mark.parametrize(
        ("missing", "min_size", "rank"),
        [("ignore", 1, None), ("value", 1, 3), ("ignore", 2, 3), ("value", 20, None), ("ignore", 20, 3)],
    )
    def test_tables(self, missing, min_size, rank):
        frame, _, labels = table()
        model = PinvGCNClassifier(
            "categorical", bins=8, missing=missing, min_size=min_size, rank=rank, epochs=20
        ).fit(frame, labels)
        assert_agrees_at_training_rows(model, frame)

    def test_tables_as_arrays_and_lists(self):
        frame, _, labels = table()
        for form in (frame[["colour", "shape"]].to_numpy(), frame[["shape", "rings"]].to_numpy().tolist()):
            model = PinvGCNClassifier("categorical", epochs=20).fit(form, labels)
            assert_agrees_at_training_rows(model, form)

    @pytest.mark.parametrize("graph", ["gaussian", "categorical"])
    @pytest.mark.parametrize("scaling", ["centre", "standard", "none"])
    def test_with_features(self, graph, scaling):
        X, _, labels = cloud(300) if graph == "gaussian" else table()
        features = np.random.default_rng(0).normal(size=(300, 4)) * [1, 10, 100, 0] + 50
        model = PinvGCNClassifier(graph, rank=5, scaling=scaling, epochs=20).fit(X, labels, features=features)
        assert_agrees_at_training_rows(model, X, features=features)

    @pytest.mark.parametrize(
        ("hidden", "filters"),
        [
            ((), "no-zero-impulse"),
            (16, "no-high-pass"),
            ((8, 8), "low-rank"),
            (16, "pseudoinverse"),
            ((8, 8), (1, 2, 3)),
        ],
        ids=str,
    )
    def test_every_network(self, hidden, filters):
        X, _, labels = cloud(100)
        model = PinvGCNClassifier(rank=6, hidden=hidden, filters=filters, epochs=10).fit(X, labels)
        assert_agrees_at_training_rows(model, X)

    def test_graphs_that_are_given(self):
        X, y, labels = cloud(200)
        X = X - X.mean(axis=0)
        H = np.hstack([np.eye(3)[y], np.eye(5)[np.arange(200) % 5]])
        A = sp.random_array((200, 200), density=0.05, rng=np.random.default_rng(0))
        graphs = [GaussianGraph(X, 10.0), Hypergraph(H), SparseGraph(A + A.T, loops=1.0)]
        for graph in graphs:
            model = PinvGCNClassifier(graph, rank=5, epochs=20).fit(X, labels)
            assert_agrees_at_training_rows(model, X)
            np.testing.assert_array_equal(model.predict(None), model.transduction_)
            extended = PinvGCNClassifier(graph, rank=5, epochs=20).fit(X, labels, features=X**2)
            assert_agrees_at_training_rows(extended, X, features=X**2)
        for graph in graphs[:2]:
            model = PinvGCNClassifier(graph, rank=5, epochs=20).fit(None, labels)
            assert_agrees_at_training_rows(model, None)


class TestNewRows:
    @pytest.mark.filterwarnings("ignore::pinvgcn.errors.ExtrapolationWarning")  # one point at the rim
    def test_points_of_blobs(self):
        X, y = make_blobs(500, centers=4, random_state=0, cluster_std=0.7)
        labels = random_split(y[:250], per_class=5, random_state=0)
        model = PinvGCNClassifier(epochs=200).fit(X[:250], labels)
        assert np.mean(model.predict(X[250:]) == y[250:]) > 0.95

    def test_points_of_moons(self):
        X, y = make_moons(600, noise=0.07, random_state=0)
        labels = random_split(y[:300], per_class=10, random_state=0)
        model = PinvGCNClassifier(sigma=0.2, rank=20, epochs=200).fit(X[:300], labels)
        assert np.mean(model.predict(X[300:]) == y[300:]) > 0.95

    def test_probabilities_are_continuous_in_position(self):
        X, _, labels = cloud(300)
        model = PinvGCNClassifier(sigma=20.0, rank=10, epochs=50).fit(X, labels)
        near = model.predict_proba(X + 1e-5)
        np.testing.assert_allclose(near, model.transduction_proba_, atol=1e-3)
        assert not np.array_equal(near, model.transduction_proba_)

    def test_a_row_does_not_depend_on_the_others(self):
        X, _, labels = cloud(300)
        model = PinvGCNClassifier(sigma=20.0, rank=10, epochs=20).fit(X[:200], labels[:200])
        together = model.predict_proba(X[200:])
        np.testing.assert_allclose(model.predict_proba(X[200:201]), together[:1], atol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X[:199:-1])[::-1], together, atol=1e-12)

    def test_held_out_rows_of_mushroom(self):
        """Half of the table never seen: predicted as well as the unlabelled rows that were."""
        mushroom = load_dataset("mushroom")
        order = np.random.default_rng(0).permutation(len(mushroom.y))
        seen, new = order[:4_000], order[4_000:]
        labels = random_split(mushroom.y[seen], per_class=10, random_state=0)
        model = PinvGCNClassifier("categorical", epochs=150).fit(mushroom.X.iloc[seen], labels)
        transductive = np.mean((model.transduction_ == mushroom.y[seen])[labels < 0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenValueWarning)
            inductive = np.mean(model.predict(mushroom.X.iloc[new]) == mushroom.y[new])
        assert transductive > 0.88
        assert inductive == pytest.approx(transductive, abs=0.02)

    @pytest.mark.parametrize(("rank", "distance"), [(10, 30.0), (10, 60.0), (10, 80.0), (3, 45.0), (3, 80.0)])
    def test_a_point_outside_the_cloud_is_said(self, rank, distance):
        """Also where the eigenvectors have grown and died out again."""
        X, _, labels = cloud(300)
        model = PinvGCNClassifier(sigma=20.0, rank=rank, epochs=5).fit(X, labels)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(X)
            model.predict((X + X[::-1]) / 2)  # between points of the cloud
        outside = X[:4].copy()
        outside[3] = X.mean(axis=0)
        outside[3, 0] += distance
        with pytest.warns(
            ExtrapolationWarning, match="1 of 4 points lie far outside the training cloud"
        ) as said:
            model.predict(outside)
        assert said[0].filename == __file__

    def test_a_point_far_from_all_is_an_error(self):
        X, _, labels = cloud(200)
        model = PinvGCNClassifier(sigma=5.0, rank=10, epochs=5).fit(X, labels)
        with pytest.raises(
            DataError, match=r"1 of 3 points are too far from all training points.*larger sigma"
        ):
            model.predict(np.vstack([X[:2], X[:1] + 1e4]))


class TestTables:
    @pytest.fixture(scope="class")
    @staticmethod
    def model() -> PinvGCNClassifier:
        frame, _, labels = table()
        return PinvGCNClassifier("categorical", bins=8, epochs=20).fit(frame, labels)

    @pytest.mark.parametrize("numbers", [True, False])
    def test_values_never_seen_are_said_and_ignored(self, numbers):
        """Numbers beyond those of training are in no bin; seen as numbers they are moved to the nearest."""
        frame, _, labels = table()
        model = PinvGCNClassifier("categorical", bins=8, epochs=20, numbers=numbers).fit(frame, labels)
        rows = frame.iloc[:20].copy()
        without = rows.copy()
        rows.loc[rows.index[:3], "shape"] = "cubic"
        rows.loc[rows.index[:2], "weight"] = 1e6
        without.loc[without.index[:3], "shape"] = None
        without.loc[without.index[:2], "weight"] = np.nan
        with pytest.warns(
            UnseenValueWarning, match=r"ignored in 2 columns: 'shape' \(3 rows\), 'weight' \(2 rows\)"
        ) as said:
            got = model.predict_proba(rows)
        assert said[0].filename == __file__  # the warning points at the caller
        if not numbers:
            np.testing.assert_allclose(got, model.predict_proba(without), atol=1e-12)
            return
        np.testing.assert_allclose(got[2:], model.predict_proba(without)[2:], atol=1e-12)
        further = rows.copy()
        further.loc[rows.index[:2], "weight"] = 1e9
        with pytest.warns(UnseenValueWarning):
            np.testing.assert_allclose(got, model.predict_proba(further), atol=1e-12)

    def test_a_row_without_any_known_value(self, model):
        rows = table()[0].iloc[:3].copy()
        rows["bruised"] = False
        for column in ("colour", "shape", "weight", "rings", "grade"):
            rows[column] = rows[column].astype(object)
            rows.loc[rows.index[1], column] = None
        with pytest.raises(DataError, match=r"1 of 3 rows have no value that training knew \(first: row 1\)"):
            model.predict(rows)

    def test_columns_are_found_by_name(self, model):
        frame, _, _ = table()
        more = frame[frame.columns[::-1]].assign(comment="unused")
        np.testing.assert_array_equal(model.predict_proba(more), model.predict_proba(frame))

    def test_missing_columns(self, model):
        frame, _, _ = table()
        with pytest.raises(ColumnError, match=r"Missing: 'shape', 'rings'\. Got 'colour'") as caught:
            model.predict(frame.drop(columns=["shape", "rings"]))
        assert "\n" not in str(caught.value)
        with pytest.raises(ColumnError, match=r"X has 5 features, but .* is expecting 6 features"):
            model.predict(frame.to_numpy()[:, :5])

    def test_another_type_of_value(self, model):
        rows = table()[0].iloc[:3].astype({"weight": str})
        with pytest.raises(
            ColumnError, match=r"Column 'weight' must hold numbers, as it did in training\. Got"
        ):
            model.predict(rows)


class TestWhatPredictRefuses:
    @pytest.fixture(scope="class")
    @staticmethod
    def data():
        return cloud(60)

    @pytest.fixture(scope="class")
    @staticmethod
    def model(data) -> PinvGCNClassifier:
        return PinvGCNClassifier(rank=5, epochs=5).fit(data[0], data[2])

    @pytest.mark.parametrize("method", ["predict", "predict_proba"])
    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (
                lambda X: X[:, :2],
                ColumnError,
                "X has 2 features, but PinvGCNClassifier is expecting 3 features",
            ),
            (lambda X: X[0], DataError, "Reshape your data"),
            (lambda X: X[:0], DataError, r"0 sample\(s\) \(shape=\(0, 3\)\)"),
            (lambda X: np.where(X > 1e6, np.nan, X), DataError, "Got NaN in rows 0, 1, 2 and 57 more"),
            (lambda X: np.where(X > 1e6, np.inf, X), DataError, "Got infinity in rows"),
            (
                lambda X: X.astype(str).astype(object) + "m",
                DataError,
                "must be numbers. Got could not convert",
            ),
            (lambda X: sp.csr_array(X), DataError, "sparse csr_array"),
            (lambda X: None, DataError, r"Got shape \(\)"),
        ],
        ids=["width", "row", "empty", "nan", "infinity", "text", "sparse", "none"],
    )
    def test_points(self, model, data, method, change, error, message):
        with pytest.raises(error, match=message) as caught:
            getattr(model, method)(change(data[0]))
        assert "\n" not in str(caught.value)

    def test_missing_columns_of_a_frame(self, data):
        frame = pd.DataFrame(data[0], columns=["x", "y", "z"])
        model = PinvGCNClassifier(rank=5, epochs=5).fit(frame, data[2])
        with pytest.raises(ColumnError, match="seen at fit time, yet now missing: - y") as caught:
            model.predict(frame[["x", "z"]])
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            (None, "features must be given as in fit, with 2 columns. Got None instead."),
            (np.zeros((60, 3)), "features must have 2 columns as in fit. Got 3 instead."),
            (
                np.zeros((59, 2)),
                "features must have one row for each of the 60 rows of X. Got 59 rows instead.",
            ),
            (np.full((60, 2), np.nan), "features must be finite. Got NaN in rows 0, 1, 2 and 57 more"),
            (np.zeros(60), "features must be a 2-dimensional array"),
        ],
        ids=["none", "width", "rows", "nan", "flat"],
    )
    def test_features(self, data, features, message):
        X, _, labels = data
        model = PinvGCNClassifier(rank=5, epochs=5).fit(X, labels, features=X[:, :2])
        with pytest.raises(DataError) as caught:
            model.predict(X, features=features)
        assert message in str(caught.value)
        assert model.score(X, data[1], features=X[:, :2]) == np.mean(model.transduction_ == data[1])

    def test_features_that_fit_never_saw(self, model, data):
        with pytest.raises(DataError, match=r"features must have 0 columns as in fit\. Got 2 instead"):
            model.predict(data[0], features=data[0][:, :2])

    def test_nodes_of_a_given_graph_only(self, data):
        X, _, labels = data
        model = PinvGCNClassifier(GaussianGraph(X, 10.0), rank=5, epochs=5).fit(X, labels)
        with pytest.raises(DataError, match=r"60 nodes of the graph \(.*its own nodes only\)\. Got 10 rows"):
            model.predict(X[:10])

    @pytest.mark.parametrize("fitted_with", ["X", "nothing"])
    def test_columns_of_a_given_graph(self, data, fitted_with):
        """One column must not be spread over all that fit had."""
        X, _, labels = data
        model = PinvGCNClassifier(GaussianGraph(X, 10.0), rank=5, epochs=5)
        model.fit(X if fitted_with == "X" else None, labels)
        for columns in (1, 2):
            with pytest.raises(ColumnError, match=f"{columns} features|Got {columns} instead"):
                model.predict(X[:, :columns])
