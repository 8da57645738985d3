"""How much each value moved an answer: against the definition, and on tables that know what it should be."""

from __future__ import annotations

import functools
import warnings
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn import PinvGCNClassifier, SparseGraph
from pinvgcn.errors import ColumnError, DataError, ModelFileError, ParameterError, UnseenValueWarning
from pinvgcn.fitting.table_nodes import PlainRows

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, 150)
TABLE = pd.DataFrame(
    {
        "colour": np.array(["red", "blue", "green"])[(TRUTH + (RNG.random(150) < 0.2)) % 3],
        "size": TRUTH + RNG.normal(size=150),
        "wet": (TRUTH == 1) ^ (RNG.random(150) < 0.2),
        "noise": RNG.choice(list("pq"), 150),
    }
)
TABLE.loc[3, "colour"] = None
TABLE.loc[4, "size"] = np.nan
LABELS = np.where(np.arange(150) < 45, np.array(["low", "mid", "high"])[TRUTH], None)


@functools.cache
def model() -> PinvGCNClassifier:
    return PinvGCNClassifier("categorical", epochs=40).fit(TABLE, LABELS)


def log_odds(model, frame, column):
    P = model.predict_proba(frame)
    return np.log(P[:, column] / np.delete(P, column, axis=1).sum(axis=1))


def by_definition(model, row, background, column):
    """Over all subsets of the columns, by frames that are put together cell by cell."""
    names = list(row.columns)
    p = len(names)

    def worth(some):
        mixed = background.copy()
        for name in some:
            mixed[name] = [row[name].iloc[0]] * len(mixed)
        return log_odds(model, mixed, column).mean()

    values = np.zeros(p)
    for j, name in enumerate(names):
        others = [other for other in names if other != name]
        for size in range(p):
            weight = factorial(size) * factorial(p - size - 1) / factorial(p)
            for some in combinations(others, size):
                values[j] += weight * (worth((*some, name)) - worth(some))
    return values, worth(())


@pytest.mark.parametrize("number", [0, 60, 100])
def test_four_columns_are_the_definition(number):
    row, background = TABLE.iloc[[number]], TABLE.iloc[10:22]
    (found,) = model().explain(row, background=background)
    column = model().classes_.tolist().index(found.answer)
    values, base = by_definition(model(), row, background, column)
    np.testing.assert_allclose([value.moved for value in found.values], values, atol=1e-9)
    assert found.base == pytest.approx(base)
    assert found.exact
    assert found.compared == 12
    assert found.answer == model().predict(row)[0]
    assert found.probability == model().predict_proba(row).max()
    assert found.log_odds == pytest.approx(log_odds(model(), row, column)[0])


@functools.cache
def wide() -> tuple[PinvGCNClassifier, pd.DataFrame]:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 120)
    frame = pd.DataFrame(
        {f"c{j}": np.array(list("abcd"))[(truth + rng.integers(0, 3, 120)) % 4] for j in range(18)}
    )
    frame["own"] = [f"only {i}" for i in range(120)]  # joins no rows: no expert has a use for it
    labels = np.where(np.arange(120) < 40, truth, -1)
    return PinvGCNClassifier("categorical", epochs=20).fit(frame, labels), frame


def test_many_columns_have_the_exact_sum_and_errors():
    model, frame = wide()
    for found in model.explain(frame.iloc[[50, 3]]):
        assert found.base + sum(v.moved for v in found.values) == pytest.approx(found.log_odds, abs=1e-10)
        assert not found.exact
        assert found.compared == 50
        errors = [value.error for value in found.values if value.column != "own"]
        assert all(0 < error < 0.1 for error in errors)
        assert found.values[-1].moved == 0  # to the last bit
        assert found.ranked[0].error < abs(found.ranked[0].moved)


def test_the_drawn_orders_follow_the_seed_alone():
    model, frame = wide()
    first, again = (model.explain(frame.iloc[[k, 7]], random_state=3)[1] for k in (1, 2))
    assert first == again
    other = model.explain(frame.iloc[[7]], random_state=4)[0]
    assert other != first
    for one, two in zip(first.values, other.values, strict=True):
        assert abs(one.moved - two.moved) <= 6 * np.hypot(one.error, two.error)


def test_what_decides_moves_most():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"noise{j}": rng.choice(list("abc"), 200) for j in range(4)})
    frame.insert(2, "decides", np.where(np.arange(200) % 2, "yes", "no"))
    labels = np.where(np.arange(200) < 60, np.arange(200) % 2, -1)
    model = PinvGCNClassifier("categorical", epochs=60).fit(frame, labels)
    for found in model.explain(frame.iloc[100:104]):
        best, second = found.ranked[:2]
        assert best.column == "decides"
        assert best.moved > 3 * abs(second.moved)
        assert best.words == f"decides = {'yes' if found.answer else 'no'}"


def test_sources_count_as_one():
    row = TABLE.iloc[[60]]
    sources = {"look": ["colour", "wet"], "size": ["size"], "noise": ["noise"], "left out": []}
    (found,) = model().explain(row, sources=sources)
    assert [value.column for value in found.values] == ["look", "size", "noise"]
    assert found.values[0].value == f"{row['colour'].iloc[0]}, {row['wet'].iloc[0]}"
    assert found.base + sum(v.moved for v in found.values) == pytest.approx(found.log_odds)
    with pytest.raises(ColumnError, match=r"each column of the model once\. Got 'wet' otherwise"):
        model().explain(row, sources={name: [name] for name in ("colour", "size", "noise")})


def test_rows_come_in_any_form():
    (one,) = model().explain(TABLE.iloc[[60]])
    assert model().explain(TABLE.iloc[60]) == [one]
    assert model().explain(TABLE.iloc[[60]][::-1].assign(more=1)[["more", *TABLE.columns[::-1]]]) == [one]
    missing = model().explain(TABLE.iloc[[3, 4]])
    assert missing[0].values[0].words == "colour is missing"
    assert missing[1].values[1].words == "size is missing"
    assert one.as_dict()["values"][0]["moved"] == one.ranked[0].moved
    array = np.column_stack([TRUTH, np.arange(150) % 4])
    of_array = PinvGCNClassifier("categorical", epochs=2).fit(array, LABELS)
    (found,) = of_array.explain(array[:1])
    assert [value.words for value in found.values] == [f"x0 = {TRUTH[0]}", "x1 = 0"]


def test_unseen_values_are_told():
    row = TABLE.iloc[[60]].assign(colour="mauve")
    with pytest.warns(UnseenValueWarning, match="'colour'") as caught:
        (found,) = model().explain(row)
    assert caught[0].filename == __file__
    assert found.values[0].words == "colour = mauve"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found.probability == pytest.approx(model().predict_proba(row).max(), abs=1e-12)


def test_a_file_keeps_the_rows_to_compare_with(reloaded):
    loaded = reloaded(model())
    assert loaded.explain(TABLE.iloc[60:62]) == model().explain(TABLE.iloc[60:62])
    assert len(loaded.fitted_.nodes.background) == 50


def test_rows_of_mixed_types_are_kept():
    frame = pd.DataFrame(
        {
            "mixed": [True, 1, "1", None],
            "whole": [3, 2**40, 3, 7],
            "kind": pd.Categorical(["b", None, "a", "b"]),
            "none": [None] * 4,
        }
    )
    rows = PlainRows.from_dict(PlainRows.of_all(frame, np.arange(4)).to_dict())
    again = rows.mixed([[name] for name in frame], np.repeat(np.arange(4)[:, None], 4, axis=1))
    assert [type(cell) for cell in again["mixed"]] == [bool, int, str, type(None)]
    assert again["whole"].tolist() == [3, 2**40, 3, 7]
    assert again["kind"].tolist()[::2] == ["b", "a"]
    assert again["none"].isna().all()
    both = rows.followed_by(rows.take(np.array([2])))
    assert both.cells(["whole"])[4] == both.cells(["whole"])[0] != both.cells(["whole"])[1]


@pytest.mark.parametrize("state", [{"a": [[0, 1], ["x"]]}, {"a": [[0], [None]]}, {"a": 3}, {}, [1]])
def test_damaged_rows_are_refused(state):
    with pytest.raises((AttributeError, ModelFileError, TypeError, ValueError)):
        PlainRows.from_dict(state)


def test_refused_in_one_line():
    points = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.where(np.arange(40) < 10, points[:, 0] > 0, -1)
    cloud = PinvGCNClassifier(epochs=2, rank=5).fit(points, labels)
    with pytest.raises(ParameterError, match=r"^Only a model of a table.*Got a model of a point cloud"):
        cloud.explain(points[:1])
    with pytest.raises(ParameterError, match=r"Got a model of a point cloud"):
        cloud.column_importance(points)
    ring = sp.diags_array([np.ones(39), np.ones(39)], offsets=[-1, 1], shape=(40, 40)).tocsr()
    graph = PinvGCNClassifier(SparseGraph(ring, loops=1.0), epochs=2, rank=5).fit(points, labels)
    with pytest.raises(ParameterError, match=r"Got a model of a given graph"):
        graph.explain(points[:1])
    beside = PinvGCNClassifier("categorical", epochs=2).fit(TABLE, LABELS, features=np.ones((150, 1)))
    with pytest.raises(ParameterError, match="fitted with features= beside them"):
        beside.explain(TABLE.iloc[[0]])
    with pytest.raises(ColumnError, match="Missing: 'colour' and 1 more"):
        model().explain(TABLE.iloc[[0]][["size", "wet"]])
    empty = TABLE.iloc[[0, 1]].astype(object)
    empty.iloc[1] = None
    with pytest.raises(DataError, match="Row 1 of X has no value that training knew"):
        model().explain(empty)
