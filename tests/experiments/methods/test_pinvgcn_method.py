"""PinvGCN among the methods: whose settings it has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import Task


@pytest.fixture(scope="module")
def task() -> Task:
    """A table with the hypergraph of the paper's settings: hyperedges of a single row are kept."""
    generator = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    columns = {f"c{i}": np.where(generator.random(80) < 0.8, y, 1 - y).astype(str) for i in range(5)}
    columns["rare"] = np.array(["only here", *["elsewhere"] * 79])
    X = pd.DataFrame(columns)
    graph = Hypergraph.from_table(X, min_size=1)
    return Task("t", "T", "table", X, y, ("a", "b"), per_class=5, graph=graph)


def test_the_paper_s_settings_take_the_hypergraph_that_is_given(task: Task) -> None:
    labels = task.labels(0)
    answer = PinvMethod({"epochs": 20}, paper=True).prepare(task).answer(labels, 0)
    own = PinvGCNClassifier.paper(task.graph, epochs=20, random_state=0).fit(None, labels)
    assert np.array_equal(answer.codes, own.transduction_)
    assert answer.model.spectrum_.rank == own.spectrum_.rank


def test_defaults_on_a_table_are_those_of_the_classifier(task: Task) -> None:
    """Five networks and walks on its own hyperedges, as a user has them who asks for nothing."""
    labels = task.labels(0)
    answer = PinvMethod({"epochs": 20}).prepare(task).answer(labels, 0)
    own = PinvGCNClassifier("categorical", epochs=20, random_state=0).fit(task.X, labels)
    np.testing.assert_array_equal(answer.model.transduction_proba_, own.transduction_proba_)
    one = PinvMethod({"epochs": 20}, paper=True).prepare(task).answer(labels, 0)
    assert not np.allclose(answer.model.transduction_proba_, one.model.transduction_proba_)
