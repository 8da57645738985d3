"""The paper's baselines as methods: what they see of a task, and what they answer."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn.errors import MissingDependencyError, ParameterError
from pinvgcn.experiments.methods import network_baselines, paper_baseline
from pinvgcn.experiments.methods.inputs import adjacency, features
from pinvgcn.experiments.task import Task
from pinvgcn.graphs import Hypergraph, SparseGraph

RNG = np.random.default_rng(0)
CLOUD = np.concatenate([RNG.normal(size=(30, 3)), RNG.normal(size=(30, 3)) + np.array([9, -9, 0])])
FRAME = pd.DataFrame(
    {f"column{c}": np.where(RNG.random(60) < 0.1, "w", np.repeat(["u", "v"], 30)) for c in range(6)}
)
TRUTH = np.repeat([0, 1], 30)
NAMES = ("GCN", "GraphSAGE", "GDC", "ARMA", "HGNN*", "FastHyperGCN")


def points() -> Task:
    return Task("points", "Points", "points", CLOUD, TRUTH, ("left", "right"), 3)


def table() -> Task:
    graph = Hypergraph.from_table(FRAME, min_size=1)
    return Task("table", "Table", "table", FRAME, TRUTH, ("u", "v"), 3, graph)


def network() -> Task:
    A = np.kron(np.eye(2), np.ones((30, 30))) * (RNG.random((60, 60)) < 0.3)
    A = np.triu(A, 1)
    words = sp.csr_array((RNG.random((60, 80)) < 0.05).astype(float) + 0)
    graph = SparseGraph(sp.csr_array(A + A.T), loops=1.0)
    return Task("network", "Network", "network", words, TRUTH, ("one", "two"), 3, graph)


def need(name: str) -> None:
    if name in ("GCN", "GraphSAGE", "GDC", "ARMA"):
        pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    if name == "GDC":
        pytest.importorskip("numba", reason="numba is not installed")


def answered(method: Any, task: Task, epochs: int = 60) -> float:
    prepared = replace(method, epochs=epochs).prepare(task)
    assert set(prepared.seconds) == {"graph"}
    labels = task.labels(0)
    first, again = (prepared.answer(labels, 5) for _ in range(2))
    np.testing.assert_array_equal(first.codes, again.codes)
    assert first.codes.shape == (task.rows,)
    assert set(first.seconds) == {"training", "predict"}
    asked = task.asked(labels)
    return float((first.codes == task.y)[asked].mean())


@pytest.mark.parametrize("name", NAMES)
def test_a_table(name: str) -> None:
    need(name)
    assert answered(paper_baseline(name, knn=10), table()) > 0.9


@pytest.mark.parametrize("name", NAMES[:4])
def test_points(name: str) -> None:
    need(name)
    assert answered(paper_baseline(name, knn=6), points()) > 0.9


@pytest.mark.parametrize("name", NAMES[:4])
def test_a_network(name: str) -> None:
    need(name)
    (method,) = [method for method in network_baselines() if method.title == name]
    assert answered(method, network(), epochs=200) > 0.9


def test_names_tell_the_settings() -> None:
    assert paper_baseline("GCN", knn=10, sigma=100.0).name == "gcn knn=10 sigma=100"
    assert paper_baseline("GCN", knn=100, sigma=10).title == "GCN, 100-NN, σ = 10"
    assert paper_baseline("GraphSAGE", knn=10).name == "graphsage knn=10"
    assert [method.name for method in network_baselines()] == ["gcn", "graphsage", "gdc", "arma"]
    assert {paper_baseline(name, knn=10).name.split()[0] for name in NAMES} == {
        "gcn",
        "graphsage",
        "gdc",
        "arma",
        "hgnn",
        "hypergcn",
    }
    with pytest.raises(ParameterError, match=r"name must be.*Got 'GAT'"):
        paper_baseline("GAT")


@pytest.mark.parametrize("name", NAMES)
def test_equal_settings_are_one_method_in_every_process(name: str) -> None:
    method = paper_baseline(name, knn=10)
    assert method == paper_baseline(name, knn=10)
    assert pickle.loads(pickle.dumps(method)) == method


def test_what_networks_see() -> None:
    np.testing.assert_array_equal(features(points()), CLOUD)
    np.testing.assert_array_equal(features(table()).toarray(), table().graph.incidence.toarray())
    task = network()
    sums = features(task).sum(axis=1)
    assert set(np.round(sums, 12)) <= {0.0, 1.0}
    A = adjacency(task, None)
    assert A.diagonal().sum() == 0
    np.testing.assert_array_equal(A.toarray() + np.eye(60), task.graph.adjacency.toarray())


def test_what_does_not_fit() -> None:
    with pytest.raises(ParameterError, match=r"needs a table or a hypergraph\. Got Points"):
        paper_baseline("HGNN*").prepare(points())
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    with pytest.raises(ParameterError, match="k must be a whole number on Points"):
        paper_baseline("GCN").prepare(points())


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GDC", "ARMA"])
def test_without_torch_geometric(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [module for module in sys.modules if module.split(".")[0] == "torch_geometric"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(MissingDependencyError, match=r"^This method needs .*pip install torch_geometric$"):
        paper_baseline(name, knn=10).prepare(table())
