"""What random_split keeps, for labels of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.checks import encode_labels
from pinvgcn.datasets import clicked_split, load_dataset, planetoid_split, random_split
from pinvgcn.errors import LabelError, ParameterError

NAMES = np.array(["cow", "dog", "emu", "fox"])


@st.composite
def labels_and_size(draw):
    """Codes with some rows unlabelled, every class at least ``size`` times."""
    size = draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(size, 9), min_size=2, max_size=4))
    codes = np.repeat(np.arange(-1, len(counts)), [draw(st.integers(0, 5)), *counts])
    return np.array(draw(st.permutations(codes.tolist()))), size


@given(labels_and_size(), st.integers(0, 2**32))
def test_each_class_keeps_exactly_per_class_rows_of_its_own(drawn, seed):
    y, size = drawn
    labels = random_split(y, size, random_state=seed)
    kept = labels != -1
    assert labels.shape == y.shape
    assert np.array_equal(labels[kept], y[kept])
    assert np.bincount(labels[kept]).tolist() == [size] * (y.max() + 1)
    assert np.array_equal(labels, random_split(y, size, random_state=seed))


@given(labels_and_size(), st.integers(0, 2**32))
def test_text_labels_are_split_like_their_codes(drawn, seed):
    y, size = drawn
    text = np.where(y >= 0, NAMES[y], None)
    codes, names = (random_split(labels, size, random_state=seed) for labels in (y, text))
    assert names.dtype == object
    assert names.tolist() == [NAMES[code] if code >= 0 else None for code in codes]


@pytest.mark.parametrize(
    ("y", "unlabelled"),
    [
        (np.array([0, 1, 1, 0], dtype=np.uint8), -1),
        (np.array([7, 9, 9, 7]), -1),
        ([0, 1, 1, 0], -1),
        (np.array([0.0, 1.0, np.nan, 1.0, 0.0]), -1),
        (np.array([0, 1, 1, 0], dtype=object), -1),
        (pd.Series([0, 1, 1, 0], index=[5, 6, 7, 8]), -1),
        (pd.Series([0, 1, None, 1, 0], dtype="Int64"), -1),
        (np.array([True, False, False, True]), None),
        (["a", "b", None, "b", "a"], None),
        (pd.Series(["a", "b", "b", "a"]), None),
        (pd.Series(["a", "b", "b", None]).astype("category"), None),
        (pd.to_datetime(pd.Series(["2020-01-01", "2021-01-01"] * 2)), None),
    ],
)
def test_every_kind_of_label_comes_back_usable(y, unlabelled):
    labels = random_split(y, per_class=1)
    assert len(labels) == len(y)
    assert sum(label is not None and label != unlabelled for label in labels) == 2
    before, after = encode_labels(y, len(y)), encode_labels(labels, len(y))
    assert len(before[0]) == len(after[0]) == 2
    kept = after[1] >= 0
    assert kept.sum() == 2
    assert np.array_equal(before[1][kept], after[1][kept])


def test_random_state_may_be_none_a_number_or_a_generator():
    y = np.repeat([0, 1], 1000)
    assert not np.array_equal(random_split(y, random_state=None), random_split(y, random_state=None))
    assert not np.array_equal(random_split(y, random_state=1), random_split(y, random_state=2))
    assert np.array_equal(random_split(y), random_split(y, random_state=np.random.default_rng(0)))
    assert np.array_equal(random_split(y), random_split(y, random_state=np.int32(0)))
    generator = np.random.default_rng(0)
    assert not np.array_equal(
        random_split(y, random_state=generator), random_split(y, random_state=generator)
    )


def test_all_rows_of_a_class_are_drawn_equally_often():
    y = np.repeat([0, 1], 20)
    drawn = sum((random_split(y, 5, random_state=seed) >= 0).astype(int) for seed in range(800))
    assert np.abs(drawn / 800 - 0.25).max() < 0.07  # 4.5 standard deviations


def test_the_input_is_left_alone():
    y = np.repeat([0, 1], 20)
    random_split(y)
    assert np.array_equal(y, np.repeat([0, 1], 20))


def test_a_class_with_too_few_rows_is_named():
    with pytest.raises(LabelError, match=r"per_class = 3 labelled rows. Got 2 of class dog; lower per_class"):
        random_split(["cow"] * 5 + ["dog"] * 2 + [None], 3)


@pytest.mark.parametrize("y", [None, [], [-1, -1], [0, 0, 0], np.zeros((2, 2)), 5])
def test_unusable_labels_are_refused(y):
    with pytest.raises(LabelError):
        random_split(y, 1)


@pytest.mark.parametrize("per_class", [0, -1, 2.5, "3", True])
def test_per_class_must_be_a_whole_number(per_class):
    with pytest.raises(ParameterError, match="per_class must be a whole number"):
        random_split([0, 0, 1, 1], per_class)


@pytest.mark.parametrize("random_state", [-1, 0.5, "seed", True])
def test_random_state_must_be_one(random_state):
    with pytest.raises(ParameterError, match="random_state must be None, a whole number"):
        random_split([0, 0, 1, 1], 1, random_state=random_state)


def test_planetoid_split_needs_a_standard_split():
    with pytest.raises(ParameterError, match=r"Got 'mushroom', which has none; use random_split"):
        planetoid_split(load_dataset("mushroom"))


def nearest_first(points, rows, centre):
    return rows[np.argsort(np.linalg.norm(points[rows] - points[centre], axis=1), kind="stable")]


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_a_click_labels_the_nearest_points_of_its_class(seed, size):
    rng = np.random.default_rng(seed)
    points, y = rng.normal(size=(40, 3)), np.repeat([0, 1, -1], [15, 15, 10])[rng.permutation(40)]
    labels = clicked_split(points, y, places=1, per_place=size, random_state=seed)
    for c in (0, 1):
        chosen = np.flatnonzero(labels == c)
        assert len(chosen) == size
        assert (y[chosen] == c).all()
        rows = np.flatnonzero(y == c)
        patches = [set(nearest_first(points, rows, centre)[:size]) for centre in chosen]
        assert set(chosen) in patches
    assert (labels[y == -1] == -1).all()


def test_clicks_are_replayed_one_after_the_other():
    rng = np.random.default_rng(3)
    points, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    labels = clicked_split(points, y, places=4, per_place=5, random_state=9)
    replay = np.random.default_rng(9)
    for c in (0, 1):
        left = np.flatnonzero(y == c)
        told = []
        for _ in range(4):
            patch = nearest_first(points, left, replay.choice(left))[:5]
            told.extend(patch)
            left = np.setdiff1d(left, patch)
        assert sorted(told) == np.flatnonzero(labels == c).tolist()
        assert len(set(told)) == 20  # no point is clicked twice


def test_places_are_few_where_clusters_are_many():
    # ten clusters, three clicks of ten points each: exactly three clusters are labelled, whole
    points = np.repeat(100.0 * np.arange(20), 10)[:, None] + np.random.default_rng(0).uniform(size=(200, 3))
    y = np.repeat([0, 1], 100)
    kept = clicked_split(points, y, places=3, per_place=10, random_state=1) >= 0
    assert np.bincount(np.repeat(np.arange(20), 10)[kept], minlength=20).tolist().count(10) == 6
    assert kept.sum() == 60


def test_clicks_may_take_a_whole_class_and_text_labels():
    points, y = np.arange(8.0).reshape(4, 2), np.array(["a", "b", "b", "a"])
    assert clicked_split(points, y, places=2, per_place=1).tolist() == y.tolist()
    assert clicked_split(points, [*"abb", None], places=1, per_place=1).tolist().count(None) == 2


def test_more_clicks_than_points():
    with pytest.raises(LabelError, match=r"places \* per_place = 6 labelled points. Got 2 of class 1; lower"):
        clicked_split(np.zeros((9, 3)), np.repeat([0, 1], [7, 2]), places=2, per_place=3)


@pytest.mark.parametrize("settings", [{"places": 0}, {"per_place": 2.5}, {"random_state": "x"}])
def test_settings_of_clicks(settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        clicked_split(np.zeros((4, 3)), [0, 0, 1, 1], **{"places": 1, "per_place": 1, **settings})


def test_clicks_need_a_point_for_each_label():
    with pytest.raises(LabelError, match="points"):
        clicked_split(np.zeros((3, 3)), [0, 0, 1, 1], places=1, per_place=1)
