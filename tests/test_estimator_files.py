"""Saved and pickled models: the same bits, and clear words where a file is none of ours."""

from __future__ import annotations

import functools
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from safetensors import safe_open
from sklearn.base import clone
from sklearn.datasets import make_blobs

from pinvgcn import GaussianGraph, Hypergraph, PinvGCNClassifier, SparseGraph
from pinvgcn.errors import GraphError, ModelFileError, ParameterError, UnseenValueWarning

X, Y = make_blobs(120, centers=3, cluster_std=1.5, random_state=1, n_features=3)
NEW = X[:40] + 0.3
FRAME = pd.DataFrame(X, columns=["east", "north", "up"])
TABLE = pd.DataFrame(
    {
        "kind": np.array(["a", "b", "c"])[Y],
        "size": X[:, 0],
        "count": np.arange(120) % 7,
        "wet": X[:, 1] > 0,
        "mixed": [1 if i % 3 else "one" for i in range(120)],
    }
)
FEW = np.where(np.arange(120) % 4 == 0, Y, -1)
WORDS = np.array([None if c < 0 else ["oak", "élan", "fir"][c] for c in FEW], dtype=object)
H = np.hstack([np.eye(3)[Y], np.eye(4)[np.arange(120) % 4]])
A = sp.random_array((120, 120), density=0.1, rng=np.random.default_rng(0))


def quick(graph="gaussian", **settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(graph, **{"epochs": 10, "rank": 4, **settings})


BIG = np.random.default_rng(0).normal(size=(1_500, 3))
SIDE = np.where(np.arange(1_500) % 10 == 0, (BIG[:, 0] > 0).astype(int), -1)
GAPS = TABLE.mask(TABLE == "a")
YES_NO = np.array(["no", "yes"])[(Y > 0).astype(int)]

# name -> a model, the rows of fit, rows to predict and their features
CASES = {
    "points": lambda: (quick(sigma=4.0).fit(X, FEW), X, NEW, None),
    "points-no-loops": lambda: (quick(sigma=4.0, loops=0.0, scaling="none").fit(X, FEW), X, NEW, None),
    "points-iterated": lambda: (quick(sigma=2.0, solver="krylov").fit(BIG, SIDE), BIG, BIG[:9] + 0.1, None),
    "points-automatic": lambda: (quick(sigma=6.0).fit(BIG, SIDE), BIG, BIG[:9] + 0.1, None),
    "frame": lambda: (quick(sigma=4.0).fit(FRAME, WORDS), FRAME, FRAME + 0.1, None),
    "features": lambda: (quick(scaling="standard").fit(X, Y, features=X**2), X, NEW, NEW**2),
    "numpy-text": lambda: (quick().fit(X, YES_NO), X, NEW, None),
    "booleans": lambda: (quick().fit(X, Y > 0), X, NEW, None),
    "floats": lambda: (quick().fit(X, Y * 2.0), X, NEW, None),
    "deep": lambda: (quick(hidden=(5, 4), filters="no-high-pass", dropout=0.2).fit(X, FEW), X, NEW, None),
    "single": lambda: (quick(hidden=(), filters=(1.0, 2.0, 0.5)).fit(X, FEW), X, NEW, None),
    "table": lambda: (quick("categorical", bins=4).fit(TABLE, WORDS), TABLE, TABLE.iloc[::-1], None),
    "table-gaps": lambda: (
        quick("categorical", missing="value", min_size=1).fit(GAPS, FEW), GAPS, GAPS.iloc[5:9], None
    ),
    "given-points": lambda: (quick(GaussianGraph(X, 4.0)).fit(None, FEW), None, None, None),
    "given-hypergraph": lambda: (quick(Hypergraph(H)).fit(X, FEW), X, X, None),
    "given-hypergraph-alone": lambda: (quick(Hypergraph(H)).fit(None, FEW), None, None, None),
    "given-sparse": lambda: (quick(SparseGraph(A + A.T, loops=1.0)).fit(X, FEW), X, X, None),
}  # fmt: skip


@functools.cache
def fitted(name: str):
    return CASES[name]()


def assert_same_model(copy: PinvGCNClassifier, model: PinvGCNClassifier) -> None:
    cloud = model.fitted_.nodes.kind == "gaussian"  # of which a file keeps what predictions need
    for name in ("classes_", "transduction_", *([] if cloud else ["transduction_proba_"])):
        np.testing.assert_array_equal(getattr(copy, name), getattr(model, name))
        assert getattr(copy, name).dtype == getattr(model, name).dtype
    assert copy.loss_curve_ == model.loss_curve_
    assert copy.n_iter_ == model.n_iter_
    assert copy.timings_ == model.timings_
    given = model.fitted_.nodes.kind == "given"
    for name in ("values", "residuals", *(["null_vectors", "vectors"] if given else [])):
        np.testing.assert_array_equal(getattr(copy.spectrum_, name), getattr(model.spectrum_, name))
    for a, b in zip(copy.network_.parameters(), model.network_.parameters(), strict=True):
        assert torch.equal(a, b)
    for name in ("n_features_in_", "feature_names_in_"):
        assert hasattr(copy, name) == hasattr(model, name)
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(copy, name), getattr(model, name))


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_model_predicts_the_same_bits(name, reloaded):
    model, seen, new, features = fitted(name)
    copy = reloaded(model)
    np.testing.assert_array_equal(
        copy.predict_proba(new, features=features), model.predict_proba(new, features=features)
    )
    np.testing.assert_array_equal(copy.predict(new, features=features), model.predict(new, features=features))
    if features is None:
        np.testing.assert_array_equal(copy.predict(seen), model.transduction_)
    assert_same_model(copy, model)
    again = reloaded(copy)
    np.testing.assert_array_equal(
        again.predict_proba(new, features=features), model.predict_proba(new, features=features)
    )


@pytest.mark.parametrize("name", CASES)
def test_a_pickled_model_predicts_the_same_bits(name):
    model, _, new, features = fitted(name)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        copy.predict_proba(new, features=features), model.predict_proba(new, features=features)
    )
    assert_same_model(copy, model)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("given")])
def test_a_loaded_model_keeps_its_settings_and_can_be_fitted_again(name, reloaded):
    model, seen, _, features = fitted(name)
    loaded = reloaded(model)
    for key, value in model.get_params().items():
        kept = loaded.get_params()[key]
        assert (tuple(kept) if isinstance(kept, list) else kept) == value, key
    y = model.transduction_
    extra = None if features is None else X**2
    expected = clone(model).fit(seen, y, features=extra).transduction_proba_
    np.testing.assert_array_equal(clone(loaded).fit(seen, y, features=extra).transduction_proba_, expected)
    np.testing.assert_array_equal(loaded.fit(seen, y, features=extra).transduction_proba_, expected)


def test_a_given_graph_is_not_kept(reloaded):
    model, *_ = fitted("given-sparse")
    loaded = reloaded(model)
    assert loaded.graph is None
    with pytest.raises(ParameterError, match=r"'categorical' or a Graph\. Got None"):
        clone(loaded).fit(X, FEW)
    refitted = clone(loaded).set_params(graph=SparseGraph(A + A.T, loops=1.0)).fit(X, FEW)
    np.testing.assert_array_equal(refitted.transduction_proba_, model.transduction_proba_)


def test_a_loaded_table_model_says_what_it_never_saw(reloaded):
    model, *_ = fitted("table")
    loaded = reloaded(model)
    rows = TABLE.iloc[:4].assign(kind="new")
    with pytest.warns(UnseenValueWarning, match=r"'kind' \(4 rows\)"):
        expected = model.predict_proba(rows)
    with pytest.warns(UnseenValueWarning, match=r"'kind' \(4 rows\)"):
        np.testing.assert_array_equal(loaded.predict_proba(rows), expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
        {"class_weight": {np.int64(1): np.float32(2.0)}},
        {"class_weight": "balanced"},
        {"rank": np.int64(4), "sigma": np.float32(3.0), "epochs": np.int32(5)},
        {"hidden": [np.int64(4), 3]},
        {"filters": np.array([1.0, 2.0, 3.0])},
        {"tolerance": 1e-5, "random_state": None},
    ],
    ids=str,
)
def test_settings_of_any_plain_type(settings, reloaded):
    """What a grid search leaves behind, and keys that are not text."""
    model = quick(**settings).fit(X, FEW)
    loaded = reloaded(model)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    if "random_state" not in settings:
        np.testing.assert_array_equal(
            clone(loaded).fit(X, FEW).transduction_proba_, model.transduction_proba_
        )


def test_weights_of_text_classes(reloaded):
    model = quick(class_weight={"oak": 3.0}).fit(X, WORDS)
    assert reloaded(model).class_weight == {"oak": 3.0}


def test_what_cannot_be_kept_is_named(tmp_path):
    model = quick(random_state=np.random.RandomState(0)).fit(X, FEW)
    with pytest.raises(
        ParameterError, match=r"Got random_state=RandomState\(MT19937\).*set_params\(random_state="
    ):
        model.save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []
    model.set_params(random_state=1).save(tmp_path / "model.safetensors")


def test_loading_leaves_the_generators_alone(tmp_path):
    fitted("points")[0].save(tmp_path / "model.safetensors")
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    PinvGCNClassifier.load(tmp_path / "model.safetensors")
    assert torch.equal(states[0], torch.get_rng_state())
    np.testing.assert_array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002


def test_what_is_told_about_a_model_is_kept(tmp_path):
    path = tmp_path / "model.safetensors"
    model = quick().fit(X, FEW)
    assert model.about_ is None
    model.save(path)
    assert PinvGCNClassifier.load(path).about_ is None
    about = {"file": "höhe.las", "columns": ["x", 2, 0.5, None], "nested": {"count": np.int64(3)}}
    model.save(path, about=about)
    loaded = PinvGCNClassifier.load(path)
    assert loaded.about_ == {"file": "höhe.las", "columns": ["x", 2, 0.5, None], "nested": {"count": 3}}
    loaded.save(path)  # says nothing new: what was known stays
    assert PinvGCNClassifier.load(path).about_ == loaded.about_
    assert loaded.fit(X, FEW).about_ is None  # another model


@pytest.mark.parametrize("about", ["words", {1: "x"}, {"x": object()}], ids=["words", "key", "value"])
def test_about_must_be_plain(about, tmp_path):
    with pytest.raises(ParameterError, match="about"):
        quick().fit(X, FEW).save(tmp_path / "model.safetensors", about=about)
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_plain_safetensors(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted("frame")[0].save(str(path))
    with safe_open(path, framework="numpy") as file:
        description = json.loads(file.metadata()["pinvgcn"])
    assert (description["kind"], description["format"]) == ("model", 1)
    assert description["columns"] == ["east", "north", "up"]
    assert description["classes"] == ["fir", "oak", "élan"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.safetensors"]


class TestDamagedFiles:
    def test_none(self, tmp_path):
        with pytest.raises(ModelFileError, match=r"There is no file .*absent"):
            PinvGCNClassifier.load(tmp_path / "absent")

    def test_truncated(self, tmp_path):
        path = tmp_path / "model.safetensors"
        fitted("points")[0].save(path)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(ModelFileError, match=r"not a readable safetensors file .*truncated"):
            PinvGCNClassifier.load(path)

    def test_something_else(self, tmp_path):
        path = tmp_path / "model.pickle"
        path.write_bytes(pickle.dumps({"a": 1}))
        with pytest.raises(ModelFileError, match="not a readable safetensors file"):
            PinvGCNClassifier.load(path)

    def test_a_spectrum(self, tmp_path):
        fitted("points")[0].spectrum_.save(tmp_path / "spectrum")
        with pytest.raises(ModelFileError, match=r"must hold a model\. Got a 'spectrum' instead"):
            PinvGCNClassifier.load(tmp_path / "spectrum")


def test_what_a_file_of_points_does_not_keep(reloaded):
    model, seen, *_ = fitted("points")
    copy = reloaded(model)
    assert copy.spectrum_.n_nodes == len(seen)
    assert not hasattr(copy, "transduction_proba_")
    with pytest.raises(GraphError, match=r"eigenvectors at the \d+ fitted rows were not kept"):
        print(copy.spectrum_.vectors)
    np.testing.assert_array_equal(copy.spectrum_.extend(seen), model.spectrum_.extend(seen))


@pytest.mark.parametrize("name", ["scan-1", "table-1"])
def test_files_of_format_1_are_read(name):
    """Made by ``tests/files/make_models.py``: later versions must read them, and predict the same."""
    model = PinvGCNClassifier.load(Path(__file__).parent / "files" / f"{name}.safetensors")
    asked = model.about_["rows"]
    rows = pd.DataFrame(asked) if isinstance(asked, dict) else np.array(asked)
    np.testing.assert_allclose(model.predict_proba(rows), model.about_["probabilities"], rtol=0, atol=1e-6)


def test_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pinvgcn.io.tensors.FORMAT", 2)
    fitted("points")[0].save(tmp_path / "model")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"has format 2; this .* reads format 1\. Upgrade"):
        PinvGCNClassifier.load(tmp_path / "model")
