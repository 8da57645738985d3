"""All methods see what PinvGCN sees, and their probabilities are averaged as its own are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street
from pinvgcn.experiments.methods import BASELINES, RIVALS
from pinvgcn.experiments.methods.inputs import class_probabilities, encoded, method_inputs
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import Task
from pinvgcn.features import local_geometry
from pinvgcn.features.averages import Averages
from pinvgcn.repeated_fits import SharedRows


@pytest.fixture(scope="module")
def scan() -> Task:
    street = generate_street(2_100)
    extra = np.random.default_rng(0).exponential(size=(2_100, 1))
    return Task(
        "s", "S", "points", street.X, street.y, street.target_names, 5, extra=extra, surroundings=True
    )


def test_the_rows_are_the_inputs_of_the_network(scan: Task) -> None:
    inputs = SharedRows(PinvGCNClassifier(), scan.X, features=scan.extra).prepared.inputs
    inputs_seen = method_inputs(scan)
    assert inputs_seen.rows.shape == (2_100, 3 + 88 + 1)
    np.testing.assert_allclose(inputs_seen.rows, inputs / 10, rtol=1e-12)
    shapes = local_geometry(scan.X)
    np.testing.assert_allclose(inputs_seen.values, np.hstack([inputs[:, :3], shapes, scan.extra]), rtol=1e-12)
    assert set(inputs_seen.seconds) == {"features"}


def test_probabilities_are_averaged_as_those_of_the_classifier(scan: Task) -> None:
    P = np.random.default_rng(1).dirichlet(np.ones(5), size=scan.rows)
    cell = SharedRows(PinvGCNClassifier(), scan.X).prepared.nodes.lattice.cell
    expected = (P + 10 * Averages.of(scan.X, P, cell).at(scan.X, P)).argmax(axis=1)
    classes = np.array([3, 5, 7, 8, 9])
    np.testing.assert_array_equal(method_inputs(scan).most_probable(P, classes), classes[expected])
    assert np.mean(expected == P.argmax(axis=1)) < 0.9


def test_coordinates_alone_stay_as_they_are(scan: Task) -> None:
    inputs_seen = method_inputs(replace(scan, extra=None, surroundings=False))
    assert inputs_seen.rows is scan.X
    assert inputs_seen.values is scan.X
    assert inputs_seen.smoothing is None
    extra_alone = method_inputs(replace(scan, surroundings=False))
    assert extra_alone.rows.shape == (2_100, 4)
    assert extra_alone.smoothing is None


def test_a_small_cloud_has_no_local_shapes_for_anyone(scan: Task) -> None:
    small = replace(scan, X=scan.X[:500], y=scan.y[:500], extra=None)
    inputs_seen = method_inputs(small)
    assert inputs_seen.rows.shape == (500, 3)
    assert inputs_seen.smoothing is None


def test_ours_sees_coordinates_alone_where_the_others_do(scan: Task) -> None:
    inputs = PinvMethod().prepare(replace(scan, extra=None, surroundings=False)).rows.prepared.inputs
    assert inputs.shape[1] == 3
    assert PinvMethod().prepare(scan).rows.prepared.inputs.shape[1] == 92


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_answers_a_scan(name: str, scan: Task) -> None:
    labels = scan.labels(0)
    answer = BASELINES[name].prepare(scan).answer(labels, 0)
    asked = scan.asked(labels)
    accuracy = np.mean(answer.codes[asked] == scan.y[asked])
    assert accuracy > 0.55  # the largest class has 37 %


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_takes_a_single_label_a_class(name: str, scan: Task) -> None:
    one = replace(scan, per_class=1)
    codes = BASELINES[name].prepare(one).answer(one.labels(0), 0).codes
    assert codes.shape == (one.rows,)
    assert set(np.unique(codes)) <= set(range(5))


def test_votes_are_probabilities_or_zero_and_one() -> None:
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([4, 4, 6, 6])
    np.testing.assert_array_equal(class_probabilities(SVC().fit(X, y), X), [[1, 0], [1, 0], [0, 1], [0, 1]])
    half = KNeighborsClassifier(4).fit(X, y)
    np.testing.assert_array_equal(class_probabilities(half, X), np.full((4, 2), 0.5))


@pytest.mark.parametrize("dense", [False, True])
def test_a_table_is_encoded_by_hand(dense: bool) -> None:
    frame = pd.DataFrame(
        {
            "colour": ["red", None, "blue", "red"],
            "mixed": ["a", 1, "a", None],
            "flag": [True, False, True, True],
            "size": [1.0, np.nan, 3.0, 5.0],  # the median fills in 3; mean 3, standard deviation √2
        }
    )
    X = encoded(frame, dense=dense)
    X = X if dense else X.toarray()
    expected = [
        # "" blue red | "" 1 a | False True | size
        [0, 0, 1, 0, 0, 1, 0, 1, -np.sqrt(2)],
        [1, 0, 0, 0, 1, 0, 1, 0, 0],
        [0, 1, 0, 0, 0, 1, 0, 1, 0],
        [0, 0, 1, 1, 0, 0, 0, 1, np.sqrt(2)],
    ]
    np.testing.assert_allclose(X, expected)


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_answers_a_table_of_texts_and_numbers(name: str) -> None:
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    size = y * 3 + rng.normal(size=80)
    size[5] = np.nan
    frame = pd.DataFrame({"size": size, "kind": np.where(rng.random(80) < 0.9, y, 1 - y).astype(str)})
    task = Task("t", "T", "table", frame, y, ("a", "b"), 10)
    labels = task.labels(0)
    codes = BASELINES[name].prepare(task).answer(labels, 0).codes
    assert np.mean(codes[task.asked(labels)] == y[task.asked(labels)]) > 0.75


def test_rows_whose_class_nobody_knows_are_neither_shown_nor_scored() -> None:
    y = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    task = Task("t", "T", "points", np.zeros((8, 3)), y, ("a", "b"), 1)
    labels = task.labels(0)
    assert (labels != -1).sum() == 2
    np.testing.assert_array_equal(labels[6:], [-1, -1])
    np.testing.assert_array_equal(task.asked(labels), (labels == -1) & (y != -1))
    np.testing.assert_array_equal(task.class_sizes, [3, 3])
