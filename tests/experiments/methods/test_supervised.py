"""The simple methods answer what can be worked out without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.svm import SVC

from pinvgcn.errors import ParameterError
from pinvgcn.experiments.methods import BASELINES, OF_TABLES, RIVALS, plain_baselines
from pinvgcn.experiments.task import Task

LEARNERS = ["logistic_regression", "nearest_neighbour", "extra_trees", "random_forest", "support_vectors"]
SPREADERS = ["label_spreading", "poisson"]


@pytest.fixture
def corners() -> Task:
    """Two far apart clusters of points."""
    points = np.random.default_rng(0).uniform(size=(60, 3))
    points[30:] += 20
    return Task("corners", "Corners", "points", points, np.repeat([0, 1], 30), ("left", "right"), 2)


@pytest.fixture
def table() -> Task:
    """A column that decides, one that does not, and a value that only one unlabelled row has."""
    frame = pd.DataFrame({"decides": ["u", "v"] * 20, "noise": ["p", "p", "q", "q"] * 10})
    frame.loc[39, "noise"] = "rare"
    return Task("table", "Table", "table", frame, np.tile([0, 1], 20), ("u", "v"), 4)


def few(task: Task, rows: list[int]) -> np.ndarray:
    labels = np.full(task.rows, -1)
    labels[rows] = task.y[rows]
    return labels


def test_the_registry_names_its_methods() -> None:
    others = ["gradient_boosting", *SPREADERS, "self_training", "catboost"]
    assert list(BASELINES) == ["majority", *LEARNERS, *others]
    assert {*RIVALS, *OF_TABLES} == {*BASELINES} - {"majority", "poisson"}
    for kind in ("points", "table", "network"):
        assert [method.name for method in plain_baselines(kind)] == [*LEARNERS, *SPREADERS]
    assert [method.title for method in plain_baselines("points")][-2:] == [
        "Label spreading, 10-NN",
        "Poisson learning, 10-NN",
    ]
    on_edges = [method.title for method in plain_baselines("network")][-2:]
    assert on_edges == ["Label spreading", "Poisson learning"]
    assert all(
        method.name == key and method.title and method.description for key, method in BASELINES.items()
    )


@pytest.mark.parametrize("name", [*LEARNERS, "gradient_boosting"])
def test_points_in_two_clusters(name: str, corners: Task) -> None:
    answer = BASELINES[name].prepare(corners).answer(few(corners, [0, 1, 30, 31]), seed=0)
    np.testing.assert_array_equal(answer.codes, corners.y)
    assert set(answer.seconds) == {"fit", "predict"}


@pytest.mark.parametrize("name", [*LEARNERS, "gradient_boosting", "catboost"])
def test_a_table_with_a_value_that_no_label_has(name: str, table: Task) -> None:
    if name == "catboost":
        pytest.importorskip(name)
    answer = BASELINES[name].prepare(table).answer(few(table, [0, 1, 2, 3, 4, 5, 6, 7]), seed=0)
    np.testing.assert_array_equal(answer.codes, table.y)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("support_vectors", SVC()),
        ("random_forest", RandomForestClassifier(300, random_state=5)),
        (
            "gradient_boosting",
            HistGradientBoostingClassifier(min_samples_leaf=1, early_stopping=False, random_state=5),
        ),
    ],
)
def test_a_table_is_encoded_by_the_values_of_all_its_rows(name: str, model: Any) -> None:
    """Against scikit-learn on the one-hot encoding of all rows: many values are those of no labelled row."""
    rng = np.random.default_rng(2)
    y = np.arange(300) % 3
    cells = np.where(rng.random((300, 6)) < 0.3, y[:, None], rng.integers(0, 40, (300, 6)))
    frame = pd.DataFrame(cells).add_prefix("column ").astype(str)
    task = Task("t", "T", "table", frame, y, ("a", "b", "c"), 8)
    labels = task.labels(0)
    known = labels >= 0
    everything = pd.get_dummies(frame).to_numpy(float)
    seen = everything[:, everything[known].any(axis=0)]
    assert seen.shape[1] < everything.shape[1] / 2

    prepared = BASELINES[name].prepare(task)
    found = prepared.answer(labels, seed=5).codes
    np.testing.assert_array_equal(found, model.fit(everything[known], y[known]).predict(everything))
    assert set(prepared.seconds) == {"encoding"}
    if name != "gradient_boosting":  # whose trees look at every column that varies
        assert (found != model.fit(seen[known], y[known]).predict(seen)).any()


def test_the_numbers_of_a_table_are_scaled_by_all_its_rows() -> None:
    """The labelled rows hardly differ in one column, in which all rows do."""
    frame = pd.DataFrame({"wide": [0.0, 0.1, 0.1, 50, -50, np.nan], "narrow": [0.0, 1, 0.4, 0, 1, 0]})
    task = Task("t", "T", "table", frame, np.array([0, 1, 0, 0, 1, 0]), ("a", "b"), 1)
    answer = BASELINES["nearest_neighbour"].prepare(task).answer(np.array([0, 1, -1, -1, -1, -1]), seed=0)
    np.testing.assert_array_equal(answer.codes, [0, 1, 0, 0, 1, 0])


def test_the_nearest_neighbour_measures_in_metres() -> None:
    # with the axes scaled apart, the point at height 3 would go to the label at height 4
    points = np.array([[0.0, 0, 0], [100, 0, 4], [3, 0, 3], [90, 0, 0]])
    task = Task("t", "T", "points", points, np.array([0, 1, 0, 1]), ("a", "b"), 1)
    answer = BASELINES["nearest_neighbour"].prepare(task).answer(np.array([0, 1, -1, -1]), seed=0)
    np.testing.assert_array_equal(answer.codes, [0, 1, 0, 1])


def test_the_majority_is_the_largest_class_not_the_first() -> None:
    task = Task("t", "T", "points", np.zeros((5, 3)), np.array([0, 2, 2, 2, 1]), ("a", "b", "c"), 1)
    answer = BASELINES["majority"].prepare(task).answer(np.array([0, 2, -1, -1, 1]), seed=0)
    np.testing.assert_array_equal(answer.codes, [2] * 5)


def test_equal_seeds_give_equal_trees(corners: Task) -> None:
    labels = few(corners, [0, 1, 30, 31])
    first, second = (BASELINES["extra_trees"].prepare(corners).answer(labels, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.model.predict_proba(corners.X), second.model.predict_proba(corners.X))


def test_catboost_takes_a_table_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Three classes, gaps in numbers and categories; it is quiet, writes no file, and repeats itself."""
    pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)
    y = np.arange(90) % 3
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(np.where(y == 0, None, np.take(["u", "v", "v"], y))),
            "size": np.where(y == 1, np.nan, y.astype(float)),
            "flag": y > 1,
            "whole": pd.array([None if i % 5 == 0 else i for i in range(90)], dtype="Int64"),
        }
    )
    task = Task("table", "Table", "table", frame, y, ("a", "b", "c"), 4)
    prepared = BASELINES["catboost"].prepare(task)
    answers = [prepared.answer(few(task, list(range(30))), seed=5) for _ in range(2)]
    np.testing.assert_array_equal(answers[0].codes, y)
    assert answers[0].model.get_param("random_seed") == 5
    names = answers[0].model.feature_names_
    assert [names[place] for place in answers[0].model.get_cat_feature_indices()] == ["kind", "flag"]
    np.testing.assert_array_equal(answers[0].codes, answers[1].codes)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_catboost_is_for_tables(corners: Task) -> None:
    with pytest.raises(ParameterError, match="CatBoost is compared on tables"):
        BASELINES["catboost"].prepare(corners)
