"""A classifier whose rows are shared out over ranks is the classifier of one process with all rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from ranks import SIZES, shares

from pinvgcn import PinvGCNClassifier
from pinvgcn.nn import sampling

pytestmark = pytest.mark.usefixtures("double")


def cloud(n=240):
    """Three blobs in space, a few of whose points are labelled; the third class early in the order only."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[y]
    known = np.zeros(n, dtype=bool)
    for code, count in enumerate((12, 9, 6)):
        known[np.flatnonzero(y == code)[:count]] = True
    return X, np.where(known, y, -1), {"sample_weight": np.linspace(0.5, 2, n), "features": X[:, :1] ** 2}


def table(n=200):
    """Rows that repeat, on several ranks too, of two classes with names."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, n)
    columns = {f"c{j}": (y * (rng.random(n) < 0.7) + rng.integers(0, 3, n)).astype(str) for j in range(4)}
    names = np.where(y == 1, "elm", "ash").astype(object)
    names[rng.random(n) < 0.8] = None
    return pd.DataFrame(columns), names, {"features": np.round(rng.random((n, 1)), 1)}


def numbers(n=200):
    """With columns of numbers, some of them missing, and one that all rows share."""
    rng = np.random.default_rng(6)
    X, y, others = table(n)
    code = np.where(y == "elm", 1.0, 0.0)
    X = X[["c0", "c1"]].assign(
        size=np.round(rng.normal(size=n) + code, 2), rain=rng.exponential(size=n), seven=7.0
    )
    X.loc[rng.random(n) < 0.2, "rain"] = np.nan
    return X, y, others


def scan(n=2_100):
    """Enough points for all that "auto" does with them: shapes, trees, averages, estimated shares."""
    rng = np.random.default_rng(5)
    wall = rng.random(n) < 0.4
    X = rng.random((n, 3)) * np.where(wall[:, None], [20, 0.2, 5], [20, 20, 0.2])
    return X, np.where(rng.random(n) < 0.02, wall, -1).astype(int), {}


DATA = {"cloud": cloud, "table": table, "numbers": numbers, "scan": scan}
CASES = {  # the data, what is given beside them, settings, how two and four ranks share out the rows
    "simple": ("cloud", ["features"], {"sigma": 3.0, "rank": 12, "epochs": 10}, "uneven", "even"),
    "members": (
        "cloud",
        [],
        {"sigma": 3.0, "rank": 12, "epochs": 6, "members": 3, "trees": 5, "neighbours": 6},
        "empty",
        "uneven",
    ),
    "deep": (
        "cloud",
        ["sample_weight"],
        {"rank": 10, "hidden": (8, 6), "epochs": 30, "patience": 10, "class_weight": "balanced"},
        "even",
        "empty",
    ),
    "shares": ("cloud", [], {"epochs": 6, "members": 2, "priors": "estimated"}, "uneven", "empty"),
    "sampled": (
        "cloud",
        ["features"],
        {"sigma": 3.0, "rank": 12, "epochs": 20, "members": 3, "nodes_per_epoch": 40, "patience": 10},
        "uneven",
        "empty",
    ),
    "scan": ("scan", [], {"epochs": 4, "trees": 3, "members": 3, "rank": 10}, "uneven", "empty"),
    "rows": ("table", [], {"epochs": 6, "members": 2}, "even", "empty"),
    "numbers": (
        "numbers",
        ["features"],
        {"graph": "categorical", "epochs": 6, "members": 2, "class_weight": "balanced"},
        "empty",
        "uneven",
    ),
    "more": (
        "table",
        ["features"],
        {"graph": "categorical", "epochs": 6, "members": 2, "neighbours": None, "trees": 4},
        "empty",
        "uneven",
    ),
    "some": (
        "table",
        [],
        {"graph": "categorical", "epochs": 10, "members": 3, "nodes_per_epoch": 20},
        "uneven",
        "empty",
    ),
}
RUNS = [(name, size, case[size // 2 + 2]) for name, case in CASES.items() for size in SIZES]


def results(model, X, others, given):
    """What a model says of itself and of rows that it may have seen."""
    new = {"features": others["features"][:25]} if given else {}
    own = {} if model.graph_kind_ == "categorical" else {"among": "own"}
    says = {
        "weights": [w.detach().numpy() for w in model.network_.parameters()],
        "losses": model.loss_curve_,
        "classes": model.classes_.tolist(),
        "priors": model.priors_,
        "opinions": model.fitted_.ensemble.exponents,
        "proba": model.transduction_proba_,
        "labels": model.transduction_.tolist(),
        "new": model.predict_proba(X[:25], **new, **own),
    }
    if model.fitted_.conformal is not None:
        says["set"] = model.predict_set(X[:25], coverage=0.5, **new, **own)
        says["above"] = model.fitted_.conformal.above
    return says


def fitted(process_group, name, kind):
    data, wanted, settings, *_ = CASES[name]
    X, y, others = DATA[data]()
    mine = slice(0, len(X))
    if process_group is not None:
        mine = shares(len(X), process_group.size(), kind)[process_group.rank()]
    given = {key: others[key][mine] for key in wanted}
    model = PinvGCNClassifier(**settings)
    model.fit(X[mine], y[mine], **given, process_group=process_group)
    return results(model, X, others, "features" in given)


@cache
def alone(name):
    return fitted(None, name, "")


@pytest.mark.parametrize(("name", "size", "kind"), RUNS)
def test_ranks_find_what_one_process_finds(ranks, name, size, kind):
    compare(alone(name), ranks.run(size, fitted, name, kind))


def fitted_from_few(process_group, name, kind):
    """Beyond so many nodes, epochs draw from a pool; 262,144 are too many for a test."""
    before, sampling.MOST = sampling.MOST, 30
    try:
        return fitted(process_group, name, kind)
    finally:
        sampling.MOST = before


@pytest.mark.parametrize("name", ["sampled", "some"])
def test_epochs_draw_from_a_pool(ranks, name):
    one = fitted_from_few(None, name, "")
    assert one["losses"] != alone(name)["losses"]
    compare(one, ranks.run(4, fitted_from_few, name, "uneven"))


def compare(one, several):
    """What one process says, and what several say of their own rows and of any."""
    for found in several:
        for mine, expected in zip(found["weights"], one["weights"], strict=True):
            np.testing.assert_allclose(mine, expected, atol=1e-8)
        np.testing.assert_allclose(found["losses"], one["losses"], rtol=1e-8)
        for key in ("priors", "opinions", "new"):
            np.testing.assert_allclose(found[key], one[key], atol=1e-7, err_msg=key)
        assert found["classes"] == one["classes"]
        if "set" in one:
            np.testing.assert_array_equal(found["set"], one["set"])
    np.testing.assert_allclose(np.concatenate([f["proba"] for f in several]), one["proba"], atol=1e-7)
    assert [label for f in several for label in f["labels"]] == one["labels"]
    if "above" in one:
        np.testing.assert_array_equal(np.concatenate([f["above"] for f in several]), one["above"])
