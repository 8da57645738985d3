"""Labels that travel along a graph, against the equations that they solve."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn.errors import ParameterError, TrainingError
from pinvgcn.experiments.methods import BASELINES, label_propagation, plain_baselines
from pinvgcn.experiments.methods.label_propagation import (
    LabelSpreading,
    Solver,
    poisson_learning,
    self_tuned,
)
from pinvgcn.experiments.task import Task
from pinvgcn.graphs import SparseGraph, nearest_points

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 3)) + 8 * (np.arange(60) >= 35)[:, None]  # two clouds, far apart
W = self_tuned(nearest_points(POINTS, 5))


def few(n: int, given: dict[int, int]) -> np.ndarray:
    labels = np.full(n, -1)
    labels[list(given)] = list(given.values())
    return labels


def test_weights_of_points() -> None:
    dense = np.zeros((60, 60))
    for i, x in enumerate(POINTS):
        distance = np.linalg.norm(POINTS - x, axis=1)
        near = np.argsort(distance)[1:6]
        dense[i, near] = np.exp(-4 * (distance[near] / distance[near].max()) ** 2)
    np.testing.assert_allclose(W.toarray(), dense + dense.T, atol=1e-14)


@pytest.mark.parametrize(
    "solver",
    [Solver(W, factorised=True), Solver(W, factorised=False, tolerance=1e-12)],
    ids=["factors", "rounds"],
)
def test_the_equation_is_solved(solver: Solver) -> None:
    assert solver.pieces == 2
    F = np.random.default_rng(1).normal(size=(60, 3))
    for c in range(2):
        F[solver.piece == c] -= F[solver.piece == c].mean(axis=0)
    u = solver.solve(F)
    d = np.asarray(W.sum(axis=1)).ravel()
    expected = np.linalg.pinv(np.diag(d) - W.toarray()) @ F
    for c in range(2):  # the pseudoinverse has mean zero; ours has mean zero by degrees
        own = solver.piece == c
        expected[own] -= d[own] @ expected[own] / d[own].sum()
        np.testing.assert_allclose(d[own] @ u[own], 0, atol=1e-10)
    np.testing.assert_allclose(u, expected, atol=1e-9)


@pytest.mark.parametrize("factorised", [True, False])
def test_classes_by_the_dense_formula(factorised: bool) -> None:
    A = self_tuned(nearest_points(POINTS[:35], 5))
    labels = few(35, {0: 0, 4: 0, 9: 1, 20: 2})
    d = np.asarray(A.sum(axis=1)).ravel()
    F = np.zeros((35, 3))
    known = np.flatnonzero(labels >= 0)
    F[known] = np.eye(3)[labels[known]] - np.eye(3)[labels[known]].mean(axis=0)
    u = np.linalg.pinv(np.diag(d) - A.toarray()) @ F
    u -= d @ u / d.sum()
    solver = Solver(A, factorised=factorised)
    np.testing.assert_array_equal(poisson_learning(solver, labels, 3), u.argmax(axis=1))


@pytest.mark.parametrize("factorised", [True, False])
def test_pieces_with_labels_of_one_class_or_of_none(factorised: bool) -> None:
    clique = np.ones((4, 4)) - np.eye(4)
    A = sp.csr_array(sp.block_diag([clique, clique, clique, np.zeros((1, 1))]))
    labels = few(13, {0: 2, 4: 0, 7: 1, 5: 0})
    codes = poisson_learning(Solver(A, factorised=factorised), labels, 3)
    np.testing.assert_array_equal(codes[:4], 2)
    np.testing.assert_array_equal(codes[[4, 5, 7]], [0, 0, 1])
    np.testing.assert_array_equal(codes[8:], 0)  # the class with most labels


def test_an_equation_that_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_propagation, "POISSON_ROUNDS", 2)
    with pytest.raises(TrainingError, match="not solved to 1e-06 in 2 rounds"):
        poisson_learning(Solver(W, factorised=False), few(60, {0: 0, 5: 1, 40: 0, 41: 1}), 2)


def test_label_spreading_is_its_closed_form() -> None:
    A = sp.csr_array((W > 0).astype(float))
    labels = few(60, {0: 0, 5: 1, 40: 0, 41: 1, 50: 2})
    d = np.asarray(A.sum(axis=1)).ravel()
    S = A.toarray() / np.sqrt(np.outer(d, d))
    Y = np.zeros((60, 3))
    Y[labels >= 0, labels[labels >= 0]] = 1
    F = np.linalg.solve(np.eye(60) - 0.2 * S, 0.8 * Y)
    task = Task("n", "N", "network", np.zeros((60, 1)), labels, ("a", "b", "c"), 1, graph=SparseGraph(A))
    answer = LabelSpreading(k=None).prepare(task).answer(labels, 0)
    np.testing.assert_array_equal(answer.codes, F.argmax(axis=1))
    shares = F / F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answer.model.label_distributions_, shares, atol=1e-2)  # it stops at 1e-3


@pytest.mark.parametrize("name", ["label_spreading", "poisson"])
def test_points_and_tables(name: str) -> None:
    points = Task("p", "P", "points", POINTS, (np.arange(60) >= 35).astype(int), ("a", "b"), 1)
    prepared = BASELINES[name].prepare(points)
    assert prepared.seconds["graph"] > 0
    answer = prepared.answer(few(60, {0: 0, 50: 1}), 0)
    np.testing.assert_array_equal(answer.codes, points.y)
    frame = pd.DataFrame({f"column{c}": [*"uuuuuuuuuuuu", *"vvvvvvvvvvvv"] for c in range(3)})
    table = Task("t", "T", "table", frame, np.repeat([1, 0], 12), ("a", "b"), 1)
    answer = BASELINES[name].prepare(table).answer(few(24, {3: 1, 20: 0}), 0)
    np.testing.assert_array_equal(answer.codes, table.y)


ALONG_EDGES = {method.name: method for method in plain_baselines("network")}


def ring(n: int) -> np.ndarray:
    return np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)


@pytest.mark.parametrize("name", ["label_spreading", "poisson"])
def test_the_edges_of_a_network_and_not_its_features(name: str) -> None:
    """Two rings whose features are those of the other ring; loops carry nothing."""
    A = sp.csr_array(sp.block_diag([ring(9), ring(9)]))
    words = sp.csr_array(np.tile(np.eye(9), (2, 1)))
    task = Task(
        "n", "N", "network", words, np.repeat([1, 0], 9), ("a", "b"), 1, graph=SparseGraph(A, loops=1.0)
    )
    prepared = ALONG_EDGES[name].prepare(task)
    edges = prepared.edges
    np.testing.assert_array_equal(edges.toarray(), A.toarray())
    np.testing.assert_array_equal(prepared.answer(few(18, {2: 1, 11: 0}), 0).codes, task.y)


@pytest.mark.parametrize("name", ["label_spreading", "poisson"])
def test_without_edges_or_neighbours(name: str) -> None:
    points = Task("p", "P", "points", POINTS, np.zeros(60, dtype=int), ("a", "b"), 1)
    with pytest.raises(ParameterError, match="k must be a whole number on P, which has no edges"):
        ALONG_EDGES[name].prepare(points)


@pytest.mark.parametrize("name", [name for name in ALONG_EDGES if name not in ("label_spreading", "poisson")])
def test_the_others_see_the_features_of_a_network(name: str) -> None:
    """Three words, of which the second decides; the edges join both classes."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    words = sp.csr_array(np.column_stack([rng.integers(0, 2, 40), y, np.ones(40)]).astype(float))
    graph = SparseGraph(sp.csr_array(ring(40)), loops=1.0)
    task = Task("n", "N", "network", words, y, ("a", "b"), 8, graph=graph)
    answer = ALONG_EDGES[name].prepare(task).answer(few(40, {i: int(y[i]) for i in range(16)}), 0)
    np.testing.assert_array_equal(answer.codes, y)
