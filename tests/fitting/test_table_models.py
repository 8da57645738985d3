"""Models of tables with all experts: rows one by one, files, and tables of every kind."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone

import pinvgcn.experts.diffusion
import pinvgcn.experts.kernel
from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import random_split
from pinvgcn.fitting.class_shares import estimated_shares
from pinvgcn.fitting.model_file import fitted_state
from pinvgcn.fitting.pool import OF_TABLES
from pinvgcn.fitting.smoothing import CAUTION
from pinvgcn.io.tensors import load_tensors

RNG = np.random.default_rng(0)
N = 160
TRUTH = RNG.integers(0, 3, N)
MIXED = pd.DataFrame(
    {
        "kind": np.array(list("abcd"))[(TRUTH + RNG.integers(0, 2, N)) % 4],
        "size": np.round(RNG.normal(size=N) + TRUTH, 2),
        "wet": (TRUTH == 2) ^ (RNG.random(N) < 0.2),
        "rain": np.where(RNG.random(N) < 0.1, np.nan, RNG.exponential(size=N) * (1 + TRUTH)),
        "other": np.array(list("uv"))[RNG.integers(0, 2, N)],
    }
)
TABLES = {
    "mixed": MIXED,
    "numbers": MIXED[["size", "rain"]].fillna(0.0),
    "one number": MIXED[["size"]],
    "categories": MIXED[["kind", "other", "wet"]],
    "constants": MIXED[["kind", "size"]].assign(same="x", seven=7.0, none=None, yes=True),
}
FEW = np.where(np.arange(N) < 60, TRUTH, -1)
OTHERS = MIXED.iloc[::-1].assign(
    size=lambda f: (f["size"] + 0.013).clip(MIXED["size"].min(), MIXED["size"].max()), kind="b"
)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier("categorical", **{"epochs": 15, "trees": 8, "members": 3, **settings})


@functools.cache
def fitted(name: str) -> PinvGCNClassifier:
    return quick().fit(TABLES[name], FEW)


def new_rows(name: str) -> pd.DataFrame:
    return OTHERS[[c for c in TABLES[name] if c in OTHERS]].assign(
        **{c: TABLES[name][c].iloc[0] for c in TABLES[name] if c not in OTHERS}
    )


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("ignore::pinvgcn.errors.UnseenValueWarning")
class TestEveryTable:
    def test_all_experts_are_there_and_it_learns(self, name):
        model = fitted(name)
        assert model.fitted_.ensemble.names == OF_TABLES
        hidden = FEW < 0
        assert np.mean(model.transduction_[hidden] == TRUTH[hidden]) > 0.45

    def test_rows_seen_again(self, name):
        model = fitted(name)
        np.testing.assert_allclose(model.predict_proba(TABLES[name]), model.transduction_proba_, atol=1e-9)

    def test_rows_one_at_a_time(self, name):
        rows = pd.concat([TABLES[name].iloc[:10], new_rows(name).iloc[:10]])
        together = fitted(name).predict_proba(rows)
        alone = [fitted(name).predict_proba(rows.iloc[[i]])[0] for i in range(len(rows))]
        np.testing.assert_allclose(alone, together, atol=1e-9)

    def test_a_file(self, name, tmp_path, reloaded):
        model = fitted(name)
        again = reloaded(model)
        assert again.fitted_.ensemble.names == OF_TABLES
        assert again.fitted_.ensemble.weights == model.fitted_.ensemble.weights
        for rows in (TABLES[name], new_rows(name)):
            np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
            sets = [one.predict_set(rows, coverage=0.8) for one in (again, model)]
            np.testing.assert_array_equal(*sets)
        again.save(tmp_path / "again")
        files = (tmp_path / "model.safetensors", tmp_path / "again")
        (one, arrays), (other, same) = (load_tensors(file, "model") for file in files)
        assert one == other
        assert set(arrays) == set(same)
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, same[key])

    def test_no_order_of_rows_enters(self, name):
        """But by the random numbers of trees and folds: with one member and without trees."""
        order = RNG.permutation(N)
        model = quick(members=1, trees=0)
        found = clone(model).fit(TABLES[name], FEW).transduction_proba_
        moved = clone(model).fit(TABLES[name].iloc[order], FEW[order]).transduction_proba_
        np.testing.assert_allclose(moved, found[order], atol=0.02)


def test_each_expert_alone_beside_the_network():
    whole = {name: own for own in [next(iter(opinions("mixed")))] for name, own in own.items()}
    for name in OF_TABLES[1:]:
        model = quick(experts=("network", name)).fit(MIXED, FEW)
        assert model.fitted_.ensemble.names == ("network", name)
        (own, *_) = model.fitted_.opinions(model.fitted_.place(MIXED))
        np.testing.assert_array_equal(own[name], whole[name])  # experts do not depend on each other


def opinions(name: str):
    model = fitted(name).fitted_
    return model.opinions(model.place(TABLES[name]))


def test_every_step_by_hand():
    """Opinions, weighed and averaged over members; class shares with caution."""
    model = fitted("mixed").fitted_
    weights = model.ensemble.weights
    scores = np.mean(
        [sum(weights[name] * own[name] for name in OF_TABLES) for own in opinions("mixed")], axis=0
    )
    P = softmax(scores, axis=1)
    known = np.flatnonzero(FEW >= 0)
    trained = np.bincount(FEW[known]) / len(known)
    caution = CAUTION / (len(known) / 3)
    shares = estimated_shares(P, trained, known, FEW[known], caution=caution)
    Q = P * shares / trained
    np.testing.assert_allclose(model.transduction_proba, Q / Q.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(model.priors, shares, atol=1e-9)


def test_logarithms_of_all_experts_but_the_diffusion_are_of_probabilities():
    for own in opinions("mixed"):
        for name in OF_TABLES[:-1]:
            np.testing.assert_allclose(np.exp(own[name]).sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize("per_class", [1, 2])
def test_few_labels(per_class, reloaded):
    """One label a class holds none out: all experts count alike."""
    labels = random_split(TRUTH, per_class=per_class, random_state=0)
    model = quick(members="auto").fit(MIXED, labels)
    assert np.isfinite(model.transduction_proba_).all()
    if per_class == 1:
        assert model.fitted_.ensemble.weights["diffusion"] == pytest.approx(2 / 6.5)
    again = reloaded(model)
    np.testing.assert_allclose(again.predict_proba(MIXED), model.transduction_proba_, atol=1e-9)


@pytest.mark.parametrize("rows", [4, 6, 9])
def test_tables_of_a_few_rows(rows):
    table, y = TABLES["constants"].iloc[:rows], np.arange(rows) % 2
    table = table.assign(kind=np.array(list("ab"))[y])
    model = quick().fit(table, y)
    assert np.isfinite(model.predict_proba(table)).all()


def test_equal_rows():
    """Two rows that differ, each many times."""
    table = pd.DataFrame({"a": ["x", "y"] * 20, "b": [1.0, 2.0] * 20})
    model = quick().fit(table, np.where(np.arange(40) < 8, np.arange(40) % 2, -1))
    np.testing.assert_array_equal(model.transduction_, np.arange(40) % 2)


def test_class_weights_move_the_border():
    share = []
    for weight in (1e-3, 1.0, 1e3):
        model = quick(class_weight={0: weight, 1: 1.0, 2: 1.0}).fit(MIXED, FEW)
        share.append(np.mean(model.transduction_ == 0))
        assert model.fitted_.smoothing.factors is None  # which would undo them
    assert share[0] < 0.05 < share[1] < 0.9 < share[2]


def test_sample_weights():
    """Their unit does not matter; a label of almost no weight counts for almost nothing."""
    weights = RNG.uniform(0.5, 2, N)
    one, other = (quick().fit(MIXED, FEW, sample_weight=unit * weights) for unit in (1.0, 1e3))
    np.testing.assert_allclose(other.transduction_proba_, one.transduction_proba_, atol=5e-2)
    wrong = np.where(np.arange(N) < 20, (TRUTH + 1) % 3, FEW)
    light = quick().fit(MIXED, wrong, sample_weight=np.where(np.arange(N) < 20, 1e-6, 1.0))
    heavy = quick().fit(MIXED, wrong)
    hidden = FEW < 0
    right = [np.mean(model.transduction_[hidden] == TRUTH[hidden]) for model in (light, heavy)]
    assert right[0] > right[1]


def test_features_beside_the_table(reloaded):
    features = RNG.normal(size=(N, 2)) + TRUTH[:, None]
    model = quick().fit(MIXED, FEW, features=features)
    assert model.fitted_.scaling.n_extra == 4  # two columns of numbers, and these
    np.testing.assert_allclose(
        model.predict_proba(MIXED, features=features), model.transduction_proba_, atol=1e-9
    )
    again = reloaded(model)
    np.testing.assert_allclose(
        again.predict_proba(OTHERS, features=features),
        model.predict_proba(OTHERS, features=features),
        atol=1e-12,
    )


@pytest.mark.parametrize("scaling", ["ranks", "isotropic", "standard", "centre", "none"])
def test_numbers_of_any_unit(scaling):
    """Where they are scaled, huge and tiny ones too."""
    table = MIXED
    if scaling in ("ranks", "isotropic", "standard"):
        table = MIXED.assign(size=1e6 + 1e3 * MIXED["size"], tiny=1e-9 * (RNG.normal(size=N) + TRUTH))
    model = quick(scaling=scaling).fit(table, FEW)
    assert np.isfinite(model.transduction_proba_).all()
    np.testing.assert_allclose(model.predict_proba(table), model.transduction_proba_, atol=1e-9)


def test_numbers_that_are_not_seen_as_such():
    model = quick(numbers=False).fit(MIXED, FEW)
    assert model.fitted_.scaling.n_extra == 0
    near = MIXED.assign(size=MIXED["size"].clip(0.5, 0.6))
    same = model.predict_proba(near.assign(size=0.55))
    np.testing.assert_allclose(model.predict_proba(near.assign(size=0.56)), same, atol=1e-12)
    seen = fitted("mixed")
    assert (
        np.abs(seen.predict_proba(near.assign(size=0.56)) - seen.predict_proba(near.assign(size=0.55))).max()
        > 0
    )


def test_more_rows_than_anchors_and_more_labels_than_landmarks(monkeypatch, reloaded):
    monkeypatch.setattr(pinvgcn.experts.diffusion, "ANCHORS", 50)
    monkeypatch.setattr(pinvgcn.experts.kernel, "LANDMARKS", 20)
    model = quick().fit(MIXED, FEW)
    _, arrays = fitted_state(model.fitted_)
    assert arrays["diffusion.logs"].shape == (3, 50, 3)
    assert arrays["kernel.landmarks"].shape[0] == 20
    np.testing.assert_allclose(model.predict_proba(MIXED), model.transduction_proba_, atol=1e-9)
    again = reloaded(model)
    np.testing.assert_allclose(again.predict_proba(OTHERS), model.predict_proba(OTHERS), atol=1e-12)


def test_a_warm_start():
    model = quick(warm_start=True).fit(MIXED, FEW)
    model.fit(MIXED, np.where(np.arange(N) < 90, TRUTH, -1))
    assert model.n_iter_ == 3
    assert model.fitted_.ensemble.names == OF_TABLES


def test_trees_tell_large_numbers_apart():
    """In single precision 10¹⁰ + 1 is 10¹⁰; and 10³⁰⁰ is infinite."""
    truth = np.arange(80) // 40
    labels = np.where(np.arange(80) % 4 == 0, truth, -1)
    for offset, unit in ((0.0, 1.0), (1e10, 1.0), (0.0, 1e300), (-1e300, 4e298)):
        frame = pd.DataFrame({"x": offset + unit * np.arange(80.0)})
        model = quick(experts=("network", "forest", "trees")).fit(frame, labels)
        for name in ("forest", "trees"):
            own = [opinions[name] for opinions in model.fitted_.opinions(model.fitted_.place(frame))]
            assert np.mean(np.mean(own, axis=0).argmax(axis=1) == truth) > 0.9


def test_missing_numbers_are_found_from_others(reloaded):
    """A cell without its number is as good as the others say, also after saving, and for one row alone."""
    rng = np.random.default_rng(1)
    size = rng.normal(size=N) + 3 * (TRUTH == 2) - 3 * (TRUTH == 0)
    frame = pd.DataFrame({f"x{j}": size + 0.2 * rng.normal(size=N) for j in range(3)})
    frame = frame.mask(rng.random(frame.shape) < [0.3, 0.3, 0])
    model = PinvGCNClassifier("categorical", epochs=20).fit(frame, random_split(TRUTH, per_class=5))
    nodes = model.fitted_.nodes
    assert np.isfinite(nodes.numbers).all()
    lacks = frame["x0"].isna() & frame["x1"].notna()
    assert np.corrcoef(nodes.numbers[lacks, 0], frame["x1"][lacks])[0, 1] > 0.9
    again = reloaded(model)
    some = frame.iloc[:9]
    np.testing.assert_array_equal(again.predict_proba(some), model.predict_proba(some))
    each = np.vstack([again.predict_proba(some.iloc[[row]]) for row in range(9)])
    np.testing.assert_allclose(each, model.predict_proba(some), atol=1e-6)
