"""Mushroom is embedded: it loads anywhere."""

from __future__ import annotations

import numpy as np

from pinvgcn.datasets import load_dataset


def test_mushroom_loads_without_data_folder_cache_or_network(bare):
    data = load_dataset("mushroom")
    assert data.X.shape == (8124, 21)
    assert data.target_names == ("edible", "poisonous")
    assert data.y.dtype == np.int64
    assert np.bincount(data.y).tolist() == [4208, 3916]
    assert not bare.exists()


def test_mushroom_has_112_values_and_none_missing(data_set):
    X = data_set("mushroom").X
    assert X.nunique().sum() == 112
    assert X.nunique().min() == 1  # veil-type has one value; its hyperedge holds every row
    assert not X.isna().any().any()
    assert not (X == "?").any().any()
    assert "stalk-root" not in X.columns
    assert all(X[column].map(len).eq(1).all() for column in X)


def test_mushroom_columns_have_their_own_values(data_set):
    """Rules known for this table hold, so columns, names and classes belong together."""
    data = data_set("mushroom")
    poisonous = data.y == 1
    assert poisonous[data.X["odor"].isin(list("cfmpsy"))].all()
    assert poisonous[data.X["spore-print-color"] == "r"].all()
    assert not poisonous[data.X["odor"].isin(["a", "l"])].any()
    assert set(data.X["habitat"]) == set("glmpuwd")
