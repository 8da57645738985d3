"""A classifier whose rows are shared out over ranks is the classifier of one process with all rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from ranks import shares

from pinvgcn import PinvGCNClassifier

SHARES = [(2, "uneven"), (4, "empty"), (4, "even")]


@pytest.fixture(autouse=True)
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


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


DATA = {"gaussian": cloud, "categorical": table}
CASES = {
    "cloud": ("gaussian", ["features"], {"sigma": 3.0, "rank": 12, "epochs": 30}),
    "members": ("gaussian", [], {"sigma": 3.0, "rank": 12, "epochs": 20, "members": 3, "trees": 5}),
    "deep": (
        "gaussian",
        ["sample_weight"],
        {"rank": 10, "hidden": (8, 6), "epochs": 40, "patience": 10, "class_weight": "balanced"},
    ),
    "shares": ("gaussian", [], {"sigma": 3.0, "epochs": 20, "members": 2, "priors": "estimated"}),
    "sampled": (
        "gaussian",
        ["features"],
        {"sigma": 3.0, "rank": 12, "epochs": 25, "members": 3, "nodes_per_epoch": 40, "patience": 10},
    ),
    "table": ("categorical", [], {"epochs": 20}),
    "more": ("categorical", ["features"], {"epochs": 20, "members": 2, "neighbours": None, "trees": 4}),
    "some": ("categorical", [], {"epochs": 20, "members": 3, "nodes_per_epoch": 20}),
}


def results(model, X, others):
    """What a model says of itself and of rows that it may have seen."""
    new = {"features": others["features"][:25]} if model._scaling.n_extra else {}
    says = {
        "weights": [w.detach().numpy() for w in model.network_.parameters()],
        "losses": model.loss_curve_,
        "classes": model.classes_.tolist(),
        "priors": model.priors_,
        "opinions": model._ensemble.weights,
        "proba": model.transduction_proba_,
        "labels": model.transduction_.tolist(),
        "new": model.predict_proba(X[:25], **new),
    }
    if model._sets is not None:
        says["set"] = model.predict_set(X[:25], coverage=0.5, **new)
        says["above"] = model._sets.above
    return says


def fitted(process_group, name, kind):
    graph, wanted, settings = CASES[name]
    X, y, others = DATA[graph]()
    mine = slice(0, len(X))
    if process_group is not None:
        mine = shares(len(X), process_group.size(), kind)[process_group.rank()]
    given = {key: others[key][mine] for key in wanted}
    model = PinvGCNClassifier(graph, **settings)
    model.fit(X[mine], y[mine], **given, process_group=process_group)
    return results(model, X, others)


@cache
def alone(name):
    return fitted(None, name, "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("size", "kind"), SHARES)
def test_ranks_find_what_one_process_finds(ranks, size, kind, name):
    one = alone(name)
    several = ranks.run(size, fitted, name, kind)
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
    assert sum((f["labels"] for f in several), []) == one["labels"]
    if "above" in one:
        np.testing.assert_array_equal(np.concatenate([f["above"] for f in several]), one["above"])
