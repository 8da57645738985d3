"""Trees as flat arrays: scikit-learn's own numbers, also after a file; walks that would leave the arrays."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.datasets import make_blobs
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import ModelFileError
from pinvgcn.io.tensors import digest
from pinvgcn.row_labels import RowLabels
from pinvgcn.trees import CHUNK, Trees

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=1, n_features=4)
FEW = np.where(np.arange(90) % 3 == 0, TRUTH, -1)
LABELS = RowLabels.of(FEW, 90)
# where trees split, and beside that: single precision must not move a point to the other side
EDGES = np.repeat(X[LABELS.rows], 3, axis=0) * np.tile([1 - 1e-7, 1, 1 + 1e-7], 30)[:, None]


def grown(labels: RowLabels = LABELS, features=X) -> Trees:
    return Trees.grown(features, labels, labels.rows, count=20, seed=3)


def expected(points: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    forest = ExtraTreesClassifier(20, random_state=3).fit(X[LABELS.rows], LABELS.codes, sample_weight=weights)
    epsilon = 1 / (2 * 20 * 3)
    return np.log((forest.predict_proba(points) + epsilon) / (1 + 3 * epsilon))


@pytest.mark.parametrize("points", [X, EDGES, X[:1], np.tile(X, (CHUNK // 90 + 1, 1)), 1e30 * X], ids=len)
def test_they_are_scikit_learns(points):
    found = grown().log_proba(points)
    np.testing.assert_allclose(found, expected(points), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)


def test_on_the_thresholds_themselves():
    forest = ExtraTreesClassifier(20, random_state=3).fit(X[LABELS.rows], LABELS.codes)
    for tree in forest.estimators_[:5]:
        split = tree.tree_.threshold[tree.tree_.feature >= 0].astype(np.float32)
        points = np.repeat(np.concatenate([split, np.nextafter(split, 9), np.nextafter(split, -9)]), 4)
        points = points.reshape(-1, 4).astype(float)
        np.testing.assert_allclose(grown().log_proba(points), expected(points), rtol=0, atol=1e-14)


def test_weights_of_labels_count():
    weights = np.linspace(0.1, 3, len(LABELS.rows))
    weighted = RowLabels(LABELS.classes, LABELS.rows, LABELS.codes, weights)
    np.testing.assert_allclose(grown(weighted).log_proba(X), expected(X, weights), rtol=0, atol=1e-14)


def test_sparse_rows_and_any_order_of_them():
    trees = grown()
    sparse = sp.csr_array(X)
    np.testing.assert_array_equal(grown(features=sparse).log_proba(sparse), trees.log_proba(X))
    np.testing.assert_array_equal(trees.log_proba(X[::-1])[::-1], trees.log_proba(X))
    back = RowLabels(LABELS.classes, LABELS.rows[::-1], LABELS.codes[::-1], None)
    np.testing.assert_array_equal(grown(back).log_proba(X), trees.log_proba(X))


def test_kept_and_taken_back():
    trees = grown()
    state = trees.state()
    assert sum(array.nbytes for array in state.values()) < 100 * len(trees.child)
    np.testing.assert_array_equal(Trees.from_state(state, 4).log_proba(X), trees.log_proba(X))


@pytest.mark.parametrize("features", [None, X[:, :1] ** 2])
def test_with_a_table(features):
    table = np.round(X / 3).astype(int).astype(str)
    model = PinvGCNClassifier("categorical", members=2, trees=10, epochs=10)
    model.fit(table, FEW, features=features)
    again = model.predict_proba(table, features=features)
    np.testing.assert_allclose(again, model.transduction_proba_, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "value"), [("child", 10**6), ("child", -1), ("feature", 40), ("feature", -1), ("roots", 10**6)]
)
def test_a_file_whose_trees_lead_nowhere(name, value, tmp_path):
    path = tmp_path / "model.safetensors"
    PinvGCNClassifier(members=2, trees=3, epochs=2, rank=4, sigma=6.0).fit(X[:, :2], FEW).save(path)
    with safe_open(path, framework="numpy") as file:
        arrays, header = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    assert json.loads(header["pinvgcn"])["format"] == 4
    arrays[f"member1.trees.{name}"][0] = value
    save_file(arrays, path, metadata=header | {"sha256": digest(header["pinvgcn"], arrays)})
    with pytest.raises(ModelFileError, match=r"is damaged: .*its trees lead nowhere"):
        PinvGCNClassifier.load(path)
