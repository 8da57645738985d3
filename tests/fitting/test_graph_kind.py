"""Tables and points are told apart by the types of their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn import GaussianGraph, PinvGCNClassifier
from pinvgcn.errors import ColumnError, DataError, ParameterError
from pinvgcn.fitting.nodes import graph_kind
from pinvgcn.repeated_fits import SharedRows, fit_many

RNG = np.random.default_rng(0)
N = 60
POINTS = RNG.normal(size=(N, 3))
CODES = np.arange(N) % 2
LABELS = np.where(np.arange(N) < 20, CODES, -1)
TEXT = np.where(RNG.random(N) < 0.9, CODES, 1 - CODES)
FRAME = pd.DataFrame(
    {
        "colour": np.take(["red", "blue"], TEXT),
        "kind": pd.Categorical(np.take(["u", "v", "w"], np.arange(N) % 3)),
        "size": np.where(np.arange(N) % 7 == 0, np.nan, POINTS[:, 0]),
        "count": pd.array([None if i % 5 == 0 else i % 4 for i in range(N)], dtype="Int64"),
        "new": CODES.astype(bool),
        "mixed": [("yes", True, 3, None)[i % 4] for i in range(N)],
    }
)

TABLES = {
    "text": FRAME[["colour"]],
    "pandas text": FRAME[["colour"]].astype("string"),
    "categories": FRAME[["kind"]],
    "categories of numbers": pd.DataFrame({"a": pd.Categorical([1, 2, 1])}),
    "truth values": FRAME[["new"]],
    "truth values that may miss": FRAME[["new"]].astype("boolean"),
    "objects": FRAME[["mixed"]],
    "dates": pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
    "text among numbers": FRAME[["size", "colour"]],
    "an array of text": np.array([["red", "1"], ["blue", "2"]]),
    "an array of objects": np.array([["red", 1.5], ["blue", None]], dtype=object),
    "a list": [["red", 1], ["blue", 2]],
    "a frame of four columns of numbers": pd.DataFrame(RNG.normal(size=(4, 4))),
    "a wide frame": pd.DataFrame(RNG.normal(size=(4, 40))),
}
NUMBERS = {
    "two columns": POINTS[:, :2],
    "many columns": RNG.normal(size=(4, 40)),
    "whole numbers": np.arange(6).reshape(3, 2),
    "truth values": np.array([[True, False]]),
    "numbers as objects": POINTS.astype(object),
    "objects of no use": np.array([[{"a": 1}, 2.0]], dtype=object),
    "a list": [[1, 2.5], [3, 4]],
    "rows of different lengths": [[1, 2], [3]],
    "a frame": pd.DataFrame(POINTS),
    "a frame that may miss numbers": FRAME[["count"]],
    "a sparse matrix": sp.eye(3),
    "nothing": None,
}


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_tables(X):
    assert graph_kind(X) == "categorical"


@pytest.mark.parametrize("X", NUMBERS.values(), ids=NUMBERS)
def test_points(X):
    assert graph_kind(X) == "gaussian"


def quick(graph="auto", **settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(graph, epochs=5, **settings)


@pytest.mark.parametrize(("kind", "X"), [("gaussian", POINTS), ("categorical", FRAME)])
def test_what_is_chosen_is_what_could_have_been_said(kind, X, reloaded):
    """To the bit, in every way to fit, and in a file."""
    said, found = quick(kind).fit(X, LABELS), quick().fit(X, LABELS)
    assert (found.graph, found.graph_kind_) == ("auto", said.graph_kind_)
    assert said.graph_kind_ == kind
    others = [
        SharedRows(quick(), X).fit(LABELS),
        *fit_many(quick(), X, [LABELS]),
        quick(warm_start=True).fit(X, LABELS),
        found,
    ]
    for other in others:
        assert other.graph_kind_ == kind
        np.testing.assert_array_equal(other.transduction_proba_, said.transduction_proba_)
    loaded = reloaded(found)
    assert (loaded.graph, loaded.graph_kind_) == ("auto", kind)
    np.testing.assert_allclose(loaded.predict_proba(X), said.predict_proba(X), atol=1e-12)


def test_another_kind_of_rows_is_another_kind_of_graph():
    model = quick().fit(FRAME, LABELS)
    assert not hasattr(model, "sigma_")
    assert model.fit(POINTS, LABELS).graph_kind_ == "gaussian"
    assert model.sigma_ > 0
    model.set_params(graph=GaussianGraph(POINTS, 1.0)).fit(None, LABELS)
    assert model.graph_kind_ == "given"


def test_sigma_is_found_by_the_labels_of_points_alone():
    chosen = quick(sigma="labels").fit(POINTS, LABELS)
    assert chosen.sigma_ == quick("gaussian", sigma="labels").fit(POINTS, LABELS).sigma_
    assert SharedRows(quick(sigma="labels"), FRAME).fit(LABELS).graph_kind_ == "categorical"
    with pytest.raises(ParameterError, match="where runs share one spectrum"):
        SharedRows(quick(sigma="labels"), POINTS)


@pytest.mark.parametrize(("columns", "kind"), [(3, "gaussian"), (6, "categorical")])
def test_a_frame_of_numbers_is_points_up_to_three_columns(columns, kind):
    X = RNG.normal(size=(N, columns))
    frame = pd.DataFrame(X)
    np.testing.assert_array_equal(
        quick().fit(frame, LABELS).transduction_proba_, quick(kind).fit(X, LABELS).transduction_proba_
    )
    assert quick().fit(X, LABELS).graph_kind_ == "gaussian"


def test_what_a_table_cannot_hold_is_refused():
    with pytest.raises(ColumnError, match="'day' must hold numbers, text or booleans"):
        quick().fit(FRAME.assign(day=pd.Timestamp("2020-01-01")), LABELS)
    with pytest.raises(DataError, match=r"X must be finite.*A table may have gaps"):
        quick().fit(FRAME[["size"]], LABELS)


def test_the_paper_is_told():
    with pytest.raises(ParameterError, match=r"the paper's settings depend on it\. Got 'auto'"):
        PinvGCNClassifier.paper("auto")
    assert PinvGCNClassifier.paper().graph == "gaussian"
