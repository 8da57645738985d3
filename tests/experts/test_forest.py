"""A forest gives scikit-learn's own numbers, also after a file; arrays that are no forest are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.datasets import make_blobs
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import ModelFileError
from pinvgcn.experts.forest import CHUNK, Forest
from pinvgcn.experts.labels import RowLabels
from pinvgcn.io.tensors import digest

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=1, n_features=4)
FEW = np.where(np.arange(90) % 3 == 0, TRUTH, -1)
LABELS = RowLabels.of(FEW, 90)
# where trees split, and beside that: single precision must not move a point to the other side
EDGES = np.repeat(X[LABELS.rows], 3, axis=0) * np.tile([1 - 1e-7, 1, 1 + 1e-7], 30)[:, None]
COARSE = np.tile(
    np.round(X[:, :1] / 3), 4
)  # rows with equal features and different classes: leaves of several classes


def grown(labels: RowLabels = LABELS, features=X) -> Forest:
    return Forest.grown(features, labels, labels.rows, count=20, seed=3)


def learned(weights: np.ndarray | None = None, features=X) -> ExtraTreesClassifier:
    forest = ExtraTreesClassifier(20, random_state=3)
    return forest.fit(features[LABELS.rows], LABELS.codes, sample_weight=weights)


def expected(points: np.ndarray, weights: np.ndarray | None = None, features=X) -> np.ndarray:
    epsilon = 1 / (2 * 20 * 3)
    return np.log((learned(weights, features).predict_proba(points) + epsilon) / (1 + 3 * epsilon))


def on_the_thresholds() -> np.ndarray:
    """Points at the thresholds of five trees and beside them."""
    trees = [tree.tree_ for tree in learned().estimators_[:5]]
    split = np.concatenate([tree.threshold[tree.feature >= 0] for tree in trees]).astype(np.float32)
    beside = np.concatenate([split, np.nextafter(split, 9), np.nextafter(split, -9)])
    return np.repeat(beside, 4).reshape(-1, 4).astype(float)


@pytest.mark.parametrize("points", [X, EDGES, X[:1], np.tile(X, (CHUNK // 90 + 1, 1)), 1e30 * X], ids=len)
def test_probabilities_are_scikit_learns(points):
    found = grown().log_proba(points)
    np.testing.assert_allclose(found, expected(points), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)


def test_on_the_thresholds_themselves():
    points = on_the_thresholds()
    np.testing.assert_allclose(grown().log_proba(points), expected(points), rtol=0, atol=1e-14)


def leaves_of(forest: Forest, points: np.ndarray) -> np.ndarray:
    """The number of the node in each tree, (m, trees): trees alone, with shares that tell leaves apart."""
    leaves, ends = [], [*forest.roots[1:], len(forest.feature)]
    for start, stop in zip(forest.roots, ends, strict=True):
        places = np.flatnonzero(forest.feature[start:stop] < 0)
        other = forest.other[start:stop] - start
        other[places] = np.arange(len(places))
        tree = Forest(
            forest.roots[:1], forest.feature[start:stop], forest.threshold[start:stop], other,
            np.eye(len(places)),
        )  # fmt: skip
        leaves.append(places[tree.log_proba(points).argmax(axis=1)])
    return np.stack(leaves, axis=1)


def test_every_leaf_is_scikit_learns():
    points = np.concatenate([X, EDGES, on_the_thresholds()])
    np.testing.assert_array_equal(leaves_of(grown(), points), learned().apply(points))


@pytest.mark.parametrize(
    "weights", [None, np.random.default_rng(0).uniform(0.1, 3, 90)], ids=["equal", "weighed"]
)
@pytest.mark.parametrize("features", [X, COARSE], ids=["numbers", "coarse"])
def test_a_random_forest_is_scikit_learns(features, weights):
    """Labels drawn with replacement and the best thresholds."""
    labels = RowLabels.of(FEW, 90, sample_weight=weights)
    plain = RandomForestClassifier(20, random_state=3)
    plain.fit(features[labels.rows], labels.codes, sample_weight=labels.weights)
    points = np.concatenate([features, EDGES])
    epsilon = 1 / (2 * 20 * 3)
    expected = np.log((plain.predict_proba(points) + epsilon) / (1 + 3 * epsilon))
    forest = Forest.grown(features, labels, labels.rows, count=20, seed=3, drawn=True)
    np.testing.assert_allclose(forest.log_proba(points), expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(
        Forest.from_state(4, **forest.state()).log_proba(points), forest.log_proba(points)
    )
    sparse = Forest.grown(sp.csr_array(features), labels, labels.rows, count=20, seed=3, drawn=True)
    np.testing.assert_allclose(sparse.log_proba(sp.csr_array(points)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("leaf_size", [1, 5])
@pytest.mark.parametrize("columns", [None, [3, 0], [1], [2, 1, 0, 3]], ids=str)
def test_some_columns_and_larger_leaves(columns, leaf_size):
    """Every leaf is that of scikit-learn's trees on these columns alone, whatever the others are."""
    places = np.arange(4) if columns is None else np.array(columns)
    forest = Forest.grown(
        X, LABELS, LABELS.rows, count=20, seed=3,
        columns=None if columns is None else places, leaf_size=leaf_size,
    )  # fmt: skip
    assert set(forest.feature) <= {-1, *places}
    plain = ExtraTreesClassifier(20, random_state=3, min_samples_leaf=leaf_size)
    plain.fit(X[LABELS.rows][:, places], LABELS.codes)
    points = np.concatenate([X, EDGES])
    leaves = plain.apply(points[:, places])
    np.testing.assert_array_equal(leaves_of(forest, points), leaves)
    assert min(np.bincount(own)[np.unique(own)].min() for own in leaves[LABELS.rows].T) >= leaf_size
    epsilon = 1 / (2 * 20 * 3)
    expected = np.log((plain.predict_proba(points[:, places]) + epsilon) / (1 + 3 * epsilon))
    np.testing.assert_allclose(forest.log_proba(points), expected, rtol=0, atol=1e-14)
    other = points.copy()
    other[:, np.setdiff1d(np.arange(4), places)] = np.nan
    np.testing.assert_array_equal(forest.log_proba(other), forest.log_proba(points))
    again = Forest.from_state(4, **forest.state())
    np.testing.assert_array_equal(again.log_proba(points), forest.log_proba(points))


def test_some_columns_of_sparse_rows():
    sparse, columns = sp.csr_array(X), np.array([3, 1])
    found = Forest.grown(sparse, LABELS, LABELS.rows, count=20, seed=3, columns=columns)
    plain = Forest.grown(X, LABELS, LABELS.rows, count=20, seed=3, columns=columns)
    np.testing.assert_array_equal(found.log_proba(sparse), plain.log_proba(X))


def test_weights_of_labels_count():
    weights = np.linspace(0.1, 3, len(LABELS.rows))
    weighted = RowLabels(LABELS.classes, LABELS.rows, LABELS.codes, weights)
    np.testing.assert_allclose(grown(weighted).log_proba(X), expected(X, weights), rtol=0, atol=1e-14)


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, len(LABELS.rows))], ids=["equal", "weighted"])
def test_leaves_of_several_classes(weights):
    labels = RowLabels(LABELS.classes, LABELS.rows, LABELS.codes, weights)
    forest = grown(labels, COARSE)
    assert ((forest.shares > 0) & (forest.shares < 1)).any()
    found = Forest.from_state(4, **forest.state()).log_proba(COARSE)
    np.testing.assert_allclose(found, expected(COARSE, weights, COARSE), rtol=0, atol=1e-14)


def test_trees_of_one_leaf():
    """One class, or features that do not differ: nothing to ask."""
    alike = np.zeros((90, 2))
    forest = Forest.from_state(2, **grown(features=alike).state())
    assert (forest.feature == -1).all()
    np.testing.assert_allclose(forest.log_proba(alike), expected(alike, features=alike), atol=1e-14)


def test_sparse_rows_and_any_order_of_them():
    forest = grown()
    sparse = sp.csr_array(X)
    np.testing.assert_array_equal(grown(features=sparse).log_proba(sparse), forest.log_proba(X))
    np.testing.assert_array_equal(forest.log_proba(X[::-1])[::-1], forest.log_proba(X))
    back = RowLabels(LABELS.classes, LABELS.rows[::-1], LABELS.codes[::-1], None)
    np.testing.assert_array_equal(grown(back).log_proba(X), forest.log_proba(X))


@pytest.mark.parametrize("form", [np.float32, np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_rows_in_any_layout(form):
    given = form(X)
    given.setflags(write=False)
    np.testing.assert_array_equal(grown().log_proba(given), grown().log_proba(X))


def test_no_rows_and_too_few_columns():
    assert grown().log_proba(X[:0]).shape == (0, 3)
    with pytest.raises(ValueError, match=r"X must have 4 columns or more\. Got 3 instead"):
        grown().log_proba(X[:, :3])


def test_kept_and_taken_back():
    forest = grown()
    state = forest.state()
    assert sum(array.nbytes for array in state.values()) < 13 * len(forest.feature) + 24 * 3
    np.testing.assert_array_equal(Forest.from_state(4, **state).log_proba(X), forest.log_proba(X))


@pytest.mark.parametrize("features", [None, X[:, :1] ** 2])
def test_with_a_table(features):
    table = np.round(X / 3).astype(int).astype(str)
    model = PinvGCNClassifier("categorical", members=2, trees=10, epochs=10)
    model.fit(table, FEW, features=features)
    again = model.predict_proba(table, features=features)
    np.testing.assert_allclose(again, model.transduction_proba_, atol=1e-9)


def first(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[0] = value
    return changed


def last(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[-1] = value
    return changed


FOREST = grown()
NODES = len(FOREST.feature)
DAMAGED = {
    "a child beyond the arrays": {"other": first(FOREST.other, NODES)},
    "a child far beyond them": {"other": first(FOREST.other, 2**31 - 1)},
    "a child before them": {"other": first(FOREST.other, -1)},
    "its own child": {"other": first(FOREST.other, 0)},
    "the same child twice": {"other": first(FOREST.other, 1)},
    "another node's child": {"other": first(FOREST.other, FOREST.other[0] + 1)},
    "a child in another tree": {"other": first(FOREST.other, FOREST.roots[1])},
    "a leaf that should be followed": {"feature": last(FOREST.feature, 0)},
    "a node that is a leaf": {"feature": first(FOREST.feature, -1)},
    "a feature that is not there": {"feature": first(FOREST.feature, 4)},
    "a feature below all": {"feature": first(FOREST.feature, -2)},
    "a leaf without shares": {"other": last(FOREST.other, len(FOREST.shares))},
    "a leaf with shares before all": {"other": last(FOREST.other, -1)},
    "shares of no leaf": {"shares": np.vstack([FOREST.shares, FOREST.shares[:1]])},
    "a root beyond the arrays": {"roots": last(FOREST.roots, NODES)},
    "a root before them": {"roots": first(FOREST.roots, -1)},
    "no tree at the first node": {"roots": first(FOREST.roots, 1)},
    "a root inside a tree": {"roots": last(FOREST.roots, FOREST.roots[-1] + 1)},
    "roots whose differences wrap round": {"roots": np.array([0, 2**31 - 1, -(2**31), 1], dtype=np.int32)},
    "roots in another order": {"roots": FOREST.roots[::-1]},
    "a tree twice": {"roots": np.append(FOREST.roots, FOREST.roots[-1])},
    "a tree less": {"roots": FOREST.roots[:-1]},
    "no trees": {"roots": FOREST.roots[:0]},
    "nothing at all": {name: array[:0] for name, array in FOREST.state().items()},
    "a threshold that is infinite": {"threshold": first(FOREST.threshold, np.inf)},
    "a threshold that is no number": {"threshold": first(FOREST.threshold, np.nan)},
    "a share that is no number": {"shares": first(FOREST.shares, np.nan)},
    "an infinite share": {"shares": first(FOREST.shares, np.inf)},
    "a negative share": {"shares": FOREST.shares - [[0.5, -0.5, 0]]},
    "a share above one": {"shares": 2 * FOREST.shares},
    "shares that are none of a whole": {"shares": FOREST.shares / 2},
    "no classes": {"shares": FOREST.shares[:, :0]},
    "shares in a row": {"shares": FOREST.shares.ravel()},
    "fewer thresholds": {"threshold": FOREST.threshold[:-1]},
    "fewer children": {"other": FOREST.other[:-1]},
    "fewer nodes": {name: FOREST.state()[name][:-1] for name in ("feature", "threshold", "other")},
    "nodes in a column": {
        name: FOREST.state()[name][:, None] for name in ("feature", "threshold", "other")
    },
    "roots in a column": {"roots": FOREST.roots[:, None]},
    "wide numbers": {"other": FOREST.other.astype(np.int64)},
    "features with fractions": {"feature": FOREST.feature.astype(np.float32)},
    "double precision": {"threshold": FOREST.threshold.astype(float)},
    "single precision": {"shares": FOREST.shares.astype(np.float32)},
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_damaged_arrays_are_refused(damage):
    with pytest.raises(ValueError, match="its trees lead nowhere"):
        Forest.from_state(4, **FOREST.state() | damage)


@pytest.mark.parametrize("name", FOREST.state())
def test_every_array_is_needed(name):
    state = FOREST.state()
    del state[name]
    with pytest.raises(ValueError, match="its trees lack arrays"):
        Forest.from_state(4, **state)


def test_features_in_range_are_those_of_the_model():
    with pytest.raises(ValueError, match="its trees lead nowhere"):
        Forest.from_state(3, **FOREST.state())


@given(st.data())
def test_any_change_is_refused_or_harmless(data):
    """What is not refused gives probabilities: no walk leaves the arrays or goes on for ever."""
    state = {name: array.copy() for name, array in FOREST.state().items()}
    for _ in range(data.draw(st.integers(1, 3))):
        array = state[data.draw(st.sampled_from(["roots", "feature", "other"]))]
        array[data.draw(st.integers(0, len(array) - 1))] = data.draw(st.integers(-2, NODES))
    try:
        forest = Forest.from_state(4, **state)
    except ValueError:
        return
    np.testing.assert_allclose(np.exp(forest.log_proba(X)).sum(axis=1), 1)


def test_changes_of_values_alone_are_accepted():
    """The refusals above are not refusals of everything."""
    changed = replace(FOREST, threshold=first(FOREST.threshold, 0.5), other=last(FOREST.other, 0))
    assert Forest.from_state(9, **changed.state()).log_proba(X).shape == (90, 3)


@pytest.mark.parametrize(
    ("name", "value"), [("other", 10**6), ("other", -1), ("feature", 40), ("feature", -2), ("roots", 10**6)]
)
def test_a_file_whose_trees_lead_nowhere(name, value, tmp_path):
    path = tmp_path / "model.safetensors"
    PinvGCNClassifier(members=2, trees=3, epochs=2, rank=4, sigma=6.0).fit(X[:, :2], FEW).save(path)
    with safe_open(path, framework="numpy") as file:
        arrays, header = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
    arrays[f"member1.trees.{name}"][0] = value
    save_file(arrays, path, metadata=header | {"sha256": digest(header["pinvgcn"], arrays)})
    with pytest.raises(ModelFileError, match=r"is damaged: .*its trees lead nowhere"):
        PinvGCNClassifier.load(path)
