"""Walks between like rows: against dense formulas, on any order of rows, at rows never seen."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

import pinvgcn.experts.diffusion
from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.errors import ParameterError
from pinvgcn.experts.diffusion import DOUBT, ON, Steps, Walk
from pinvgcn.experts.like_rows import most_shared
from pinvgcn.fitting.folds import random_folds
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.settings import FitSettings, seed_of
from pinvgcn.graphs.distinct import distinct_rows, row_hashes
from pinvgcn.nn.nodewise import apply_layers

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 300)
# six columns of letters, of which four lean towards the class
TABLE = pd.DataFrame(
    {f"c{j}": np.array(list("abcde"))[(2 * TRUTH * (j < 4) + RNG.integers(0, 3, 300)) % 5] for j in range(6)}
)
FEW = np.where(np.arange(300) < 40, TRUTH, -1)


def dense_steps(rows: np.ndarray, anchors: np.ndarray, k: int, itself: bool) -> np.ndarray:
    """Row by row, as docs/maths.md 9.5 says it."""
    W = np.zeros((len(rows), len(anchors)))
    for i, row in enumerate(rows):
        same = (anchors == row).all(axis=1)
        if itself and same.any():
            W[i, same] = 1
            continue
        shared = np.where(same, -1, anchors @ row)
        kth = np.sort(shared)[-k]
        W[i, shared > kth] = 1 / k
        W[i, shared == kth] = (k - (shared > kth).sum()) / (shared == kth).sum() / k
    return W


@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("k", [1, 4, 10])
def test_steps_are_what_the_definition_says(itself, k):
    H = np.unique(Hypergraph.from_table(TABLE).incidence.toarray(), axis=0)
    anchors = H[:50]
    found = most_shared(sp.csr_array(H), sp.csr_array(anchors), k, itself=itself)
    np.testing.assert_allclose(found.toarray(), dense_steps(H, anchors, k, itself), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("anchors", [20, 8_192])
def test_what_a_walk_meets(anchors, monkeypatch):
    """F = Σ α^t W^t Y by a dense inverse, for all rows as anchors and for some."""
    monkeypatch.setattr(pinvgcn.experts.diffusion, "ANCHORS", anchors)
    graph = Hypergraph.from_table(TABLE)
    H = graph.incidence.toarray()
    first = distinct_rows(graph.incidence).first
    chosen = H[first][np.sort(np.argsort(row_hashes(graph.incidence[first]))[:anchors])]
    steps = Steps.of(graph, 5)
    labels = [RowLabels.of(FEW, 300), RowLabels.of(np.where(np.arange(300) < 30, FEW, -1), 300)]
    walk = steps.walk(labels)
    W, near = dense_steps(chosen, chosen, 5, False), dense_steps(H, chosen, 5, True)
    for found, own in zip(walk.logs(steps.nearest)[:, steps.inverse], labels, strict=True):
        Y = np.zeros((300, 2))
        Y[own.rows, own.codes] = 1
        F = np.linalg.inv(np.eye(len(W)) - ON * W) @ near.T @ Y
        np.testing.assert_allclose(found, np.log(near @ F + DOUBT * F.mean()), atol=1e-4)
    np.testing.assert_allclose(walk.at(graph.incidence), walk.logs(steps.nearest)[:, steps.inverse])


def test_no_order_of_rows_enters(monkeypatch):
    monkeypatch.setattr(pinvgcn.experts.diffusion, "ANCHORS", 30)
    order = np.random.default_rng(1).permutation(300)
    found = []
    for rows in (np.arange(300), order):
        steps = Steps.of(Hypergraph.from_table(TABLE.iloc[rows]), 10)
        walk = steps.walk([RowLabels.of(FEW[rows], 300)])
        found.append(walk.logs(steps.nearest)[0, steps.inverse])
    np.testing.assert_allclose(found[1], found[0][order], atol=1e-5)


def test_few_rows():
    """Fewer than k, and labels that weigh nothing alike."""
    graph = Hypergraph(np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]]))
    steps = Steps.of(graph, 10)
    assert steps.neighbours == 2
    labels = RowLabels.of([0, 1, -1], 3, sample_weight=[3.0, 1.0, 0.0])
    logs = steps.walk([labels]).at(graph.incidence)[0]
    assert logs[2, 0] - logs[2, 1] == pytest.approx(np.log(3), abs=0.01)


@functools.cache
def fitted() -> PinvGCNClassifier:
    return PinvGCNClassifier("categorical", epochs=20).fit(TABLE, FEW)


class TestClassifier:
    def test_the_formula(self):
        """(scores + log F)/2, the mean over members, each without its part of the labels."""
        model = fitted()
        assert model.fitted_.ensemble.members == 5
        V, H = model.fitted_.nodes.place(TABLE, model.spectrum_)
        labels = RowLabels.of(FEW, 300)
        learned = [own for own, _ in random_folds(labels, 5, seed_of(model.random_state)).parts]
        logs = Steps.of(model.graph_, 5).walk(learned).at(H)
        nets = [apply_layers(member.layers, H, V) for member in model.fitted_.networks.members]
        joint = np.mean([(n + w) / 2 for n, w in zip(nets, logs, strict=True)], axis=0)
        T = model.fitted_.ensemble.exponents.sum() ** -2
        np.testing.assert_allclose(model.fitted_.ensemble.exponents, T**-0.5 / 2)
        expected = softmax(joint / np.sqrt(T), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-9)

    def test_rows_seen_again_and_never(self, tmp_path):
        model = fitted()
        np.testing.assert_allclose(model.predict_proba(TABLE), model.transduction_proba_, atol=1e-9)
        new = TABLE.iloc[::-1].assign(c0="b")
        model.save(tmp_path / "model.safetensors")
        copy = PinvGCNClassifier.load(tmp_path / "model.safetensors")
        np.testing.assert_allclose(copy.predict_proba(new), model.predict_proba(new), atol=1e-12)
        alone = np.vstack([model.predict_proba(new.iloc[[i]]) for i in range(10)])
        np.testing.assert_allclose(alone, model.predict_proba(new)[:10], atol=1e-9)

    def test_it_helps_where_rows_are_alike(self):
        hidden = FEW < 0
        plain = PinvGCNClassifier("categorical", epochs=20, neighbours=None).fit(TABLE, FEW)
        assert plain.fitted_.ensemble.experts.get("walk") is None
        for model, least in ((plain, 0.7), (fitted(), 0.8)):
            assert np.mean(model.transduction_[hidden] == TRUTH[hidden]) > least

    def test_features_beside_the_table(self):
        features = RNG.normal(size=(300, 2))
        model = PinvGCNClassifier("categorical", epochs=5).fit(TABLE, FEW, features=features)
        again = model.predict_proba(TABLE, features=features)
        np.testing.assert_allclose(again, model.transduction_proba_, atol=1e-9)

    def test_off_in_the_paper_and_for_given_graphs(self):
        paper = PinvGCNClassifier.paper("categorical", epochs=2).fit(TABLE, FEW)
        assert (paper.fitted_.ensemble.experts.get("walk"), paper.fitted_.ensemble.members) == (None, 1)
        given = PinvGCNClassifier(Hypergraph.from_table(TABLE), epochs=2).fit(None, FEW)
        assert (given.fitted_.ensemble.experts.get("walk"), given.fitted_.ensemble.members) == (None, 1)

    def test_automatic_settings(self):
        for graph, expected in (("categorical", (0.01, 200)), ("gaussian", (0.0005, 500))):
            given = FitSettings.of(PinvGCNClassifier(graph).get_params())
            settings = given.training(0, table=graph == "categorical")
            assert (settings.weight_decay, settings.epochs) == expected
        with pytest.raises(
            ParameterError, match=r"epochs must be a whole number or 'auto'\. Got 'many' instead"
        ):
            PinvGCNClassifier("categorical", epochs="many").fit(TABLE, FEW)
        with pytest.raises(ParameterError, match=r"neighbours must be a whole number, 'auto' or None"):
            PinvGCNClassifier("categorical", neighbours="many", epochs=2).fit(TABLE, FEW)


def test_a_walk_without_labels_near_says_nothing():
    walk = Walk(sp.csr_array(np.eye(2)), 1, np.array([[[5.0, 1.0], [0.0, 0.0]]]), np.array([0.01]))
    near, far = log_softmax(walk.at(sp.csr_array(np.eye(2)))[0], axis=1)
    assert near[0] > -0.2
    np.testing.assert_allclose(far, np.log(0.5))


def test_a_file_whose_walk_leads_nowhere():
    walk = Walk(sp.csr_array(np.eye(2)), 1, np.ones((1, 2, 2)), np.array([0.01]))
    arrays = walk.state()
    assert Walk.from_state(arrays) is not None
    for name, value in (("walk.values", np.array([0, 2**30])), ("walk.hits", np.ones((1, 3, 2)))):
        with pytest.raises(ValueError):
            Walk.from_state(arrays | {name: value})
