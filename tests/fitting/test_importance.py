"""Permutation importance at held-out labels: on tables that know what it should be, and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import ColumnError, DataError, ParameterError
from pinvgcn.fitting.importance import column_importance, expert_shares


def table(rows=200, noise=5, seed=0):
    """One column decides, one helps, others are noise, and the last joins no rows."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) % 2
    frame = pd.DataFrame({f"noise{j}": rng.choice(list("abc"), rows) for j in range(noise)})
    frame.insert(1, "decides", np.where(truth ^ (rng.random(rows) < 0.05), "yes", "no"))
    frame["size"] = truth + rng.normal(size=rows)
    frame["own"] = [f"only {i}" for i in range(rows)]
    return frame, truth


@pytest.fixture(scope="module")
def fitted():
    frame, truth = table()
    labels = np.where(np.arange(200) < 60, truth, -1)
    return PinvGCNClassifier("categorical", epochs=50).fit(frame, labels), frame, labels


def test_what_decides_is_found_and_noise_is_not(fitted):
    model, frame, _ = fitted
    found = model.column_importance(frame)
    assert (found.labels, found.permutations) == (60, 10)
    assert {column.column for column in found.columns} == set(frame)
    best = found.columns[0]
    assert best.column == "decides"
    assert best.clear
    assert best.log_likelihood > 4 * best.error
    assert best.accuracy > 0.1
    assert best.accuracy_spread > 0
    assert "decides" in [column.column for column in found.clear]
    noise = [column for column in found.columns if column.column.startswith("noise")]
    assert not any(column.clear for column in noise)
    (own,) = (column for column in found.columns if column.column == "own")
    assert (own.log_likelihood, own.error, own.spread, own.accuracy, own.clear) == (0, 0, 0, 0, False)
    assert model.column_importance(frame) == found
    assert model.column_importance(frame, random_state=1) != found


def test_it_is_what_permuted_frames_give(fitted):
    """By the members' own probabilities at frames that are permuted as a whole."""
    model, frame, labels = fitted
    inside, held = model.fitted_, model.fitted_.conformal
    order = np.argsort(held.rows)
    rows, codes, members = held.rows[order], held.codes[order], held.members[order]
    np.testing.assert_array_equal(rows, np.flatnonzero(labels >= 0))
    np.testing.assert_array_equal(codes, labels[rows])

    def logs(some):
        placed = inside.place(some)
        asked = inside.ensemble.each(placed.seen.at(np.arange(len(placed.seen))))
        each = [s[placed.inverse] * inside.ensemble.alone for s in asked]
        P = [np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True)) for s in each]
        P = [inside.smoothing.weighed(p) for p in P]
        return np.array([np.log(P[m][i, c]) for i, (m, c) in enumerate(zip(members, codes, strict=True))])

    some = frame.iloc[rows]
    rng = np.random.default_rng(5)
    orders = [rng.permutation(len(rows)) for _ in range(4)]
    found = {c.column: c for c in model.column_importance(frame, permutations=4, random_state=5).columns}
    for name in ("decides", "size", "noise2"):
        lost = [logs(some) - logs(some.assign(**{name: some[name].to_numpy()[order]})) for order in orders]
        assert found[name].log_likelihood == pytest.approx(np.mean(lost), abs=1e-9)
        assert found[name].spread == pytest.approx(np.mean(lost, axis=1).std(ddof=1), abs=1e-9)
        error = 1.5 * np.mean(lost, axis=0).std(ddof=1) / np.sqrt(len(rows))  # √(1 + 5/4)
        assert found[name].error == pytest.approx(error, abs=1e-9)


def test_labels_are_those_that_the_member_has_not_seen(fitted):
    model, _, labels = fitted
    held = model.fitted_.conformal
    assert sorted(held.rows.tolist()) == np.flatnonzero(labels >= 0).tolist()
    assert set(held.members.tolist()) == set(range(5))


def test_sources_are_permuted_together(fitted):
    model, frame, _ = fitted
    names = [name for name in frame if name not in ("decides", "size")]
    sources = {"both": ["decides", "size"]} | {name: [name] for name in names}
    joint = model.column_importance(frame, sources=sources).columns[0]
    alone = {c.column: c for c in model.column_importance(frame).columns}
    assert joint.column == "both"
    assert joint.log_likelihood > max(alone[name].log_likelihood for name in ("decides", "size"))
    with pytest.raises(ColumnError, match="each column of the model once"):
        model.column_importance(frame, sources={"both": ["decides"]})


def test_wide_tables_get_fewer_permutations_and_labels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{j}": rng.choice(list("ab"), 150) for j in range(150)})
    labels = np.where(np.arange(150) < 100, (frame["c7"] == "a").astype(int), -1)
    model = PinvGCNClassifier("categorical", epochs=5).fit(frame, labels)
    found = model.column_importance(frame)
    assert (found.labels, found.permutations, len(found.columns)) == (66, 2, 150)


def test_a_row_without_any_other_value_has_the_shares_of_the_classes():
    """Its only cell may come from a row where it is missing: then nothing is known."""
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20})
    frame.loc[0:5, "b"] = None
    frame.loc[6:11, "a"] = None
    labels = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
    model = PinvGCNClassifier("categorical", epochs=20).fit(frame, labels)
    assert all(np.isfinite(column.log_likelihood) for column in model.column_importance(frame).columns)
    (found,) = model.explain(frame.iloc[[0]])
    assert found.base + sum(v.moved for v in found.values) == pytest.approx(found.log_odds)


def test_shares_of_experts(fitted):
    model, _, _ = fitted
    shares = expert_shares(model.fitted_)
    weights = model.fitted_.ensemble.weights
    assert set(shares) == set(weights)
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    for name, share in shares.items():
        assert share == pytest.approx(weights[name] / sum(weights.values()))


def test_refused_in_one_line(fitted, tmp_path):
    model, frame, labels = fitted
    single = PinvGCNClassifier("categorical", epochs=2, members=1).fit(frame, labels)
    with pytest.raises(ParameterError, match="Got labels of which none was held out"):
        single.column_importance(frame)
    model.save(tmp_path / "m.pinvgcn")
    with pytest.raises(ParameterError, match="Got a model from a file"):
        PinvGCNClassifier.load(tmp_path / "m.pinvgcn").column_importance(frame)
    with pytest.raises(DataError, match=r"rows that the model was fitted to\. Got no row 59"):
        column_importance(model.fitted_, frame.iloc[:30])
    with pytest.raises(ParameterError, match="permutations must be"):
        model.column_importance(frame, permutations=0)
