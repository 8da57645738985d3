"""Folds of labels: what a member learns from, and what is held out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.errors import ParameterError
from pinvgcn.experts.labels import RowLabels
from pinvgcn.fitting.folds import (
    BLOCKS,
    Folds,
    block_folds,
    group_folds,
    hold_out,
    matched_folds,
    random_folds,
    separate_places,
    single_place,
)

Y = np.array(["a"] * 10 + ["b"] * 5 + ["c"] + [None] * 4, dtype=object)[
    np.random.default_rng(0).permutation(20)
]


def labels_of(*sizes: int) -> RowLabels:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return RowLabels(np.arange(len(sizes)), 10 * np.arange(len(codes)), codes, None)


def check_sound(folds: Folds) -> None:
    """What holds for folds of any kind."""
    labels, number = folds.labels, folds.number
    assert number.shape == labels.rows.shape
    assert number.min() >= -1
    assert number.max() < folds.count
    assert len(folds.parts) == folds.count
    for fold, (learned, held) in enumerate(folds.parts):
        kept = labels.rows[:0] if held is None else held.rows
        np.testing.assert_array_equal(kept, labels.rows[number == fold])
        np.testing.assert_array_equal(learned.rows, labels.rows[number != fold])
        assert (held is None) == (len(kept) == 0)
        if folds.count > 1:  # every member knows every class
            assert set(learned.codes) == set(labels.codes)
    for code in np.unique(labels.codes):
        mine = number[labels.codes == code]
        if len(mine) == 1 or folds.count == 1:
            assert (mine == -1).all()
        else:
            assert (mine >= 0).all()
            assert len(set(mine)) >= 2


class TestRandom:
    @pytest.mark.parametrize("sizes", [(10, 10), (3, 7, 1), (2, 2), (1, 2)])
    @pytest.mark.parametrize("count", [2, 5])
    def test_each_label_is_kept_from_one_learner_but_never_a_whole_class(self, sizes, count):
        labels = labels_of(*sizes)
        folds = random_folds(labels, count, 0)
        check_sound(folds)
        assert not folds.grouped
        assert folds.places.tolist() == list(sizes)
        for code, size in enumerate(sizes):  # the same share of a class in each fold
            held = np.bincount(folds.number[labels.codes == code] + 1, minlength=count + 1)[1:]
            assert size == 1 or held.max() - held.min() <= 1

    def test_one_learner_has_them_all(self):
        labels = labels_of(3, 3)
        ((learned, held),) = random_folds(labels, 1, 0).parts
        np.testing.assert_array_equal(learned.rows, labels.rows)
        assert held is None
        assert random_folds(labels, 1, 0).distances(np.zeros((6, 3))).shape == (0,)

    @pytest.mark.parametrize("seed", [0, 7])
    def test_the_draws_are_those_of_one_permutation_a_class(self, seed):
        """So that a seed means what it always meant."""
        labels, rng = labels_of(7, 1, 12), np.random.default_rng(seed)
        expected = np.full(20, -1)
        for code in range(3):
            mine = rng.permutation(np.flatnonzero(labels.codes == code))
            if len(mine) > 1:
                expected[mine] = np.arange(len(mine)) % 5
        np.testing.assert_array_equal(random_folds(labels, 5, seed).number, expected)


def distances_by_hand(points: np.ndarray, number: np.ndarray) -> np.ndarray:
    """From each held-out point to the nearest of another fold."""
    D = np.linalg.norm(points[:, None] - points[None], axis=2)
    return np.array([D[i, number != number[i]].min() for i in np.flatnonzero(number >= 0)])


def subsets(values: list[int]) -> list[tuple[int, ...]]:
    return [some for size in range(len(values) + 1) for some in itertools.combinations(values, size)]


def groups_are_whole(folds: Folds, spread: set[int]) -> bool:
    """Whether each group is in one fold but for ``spread`` classes, all of whose groups are in one alone."""
    fold_of: dict[int, set[int]] = {}
    assert folds.groups is not None
    places = list(zip(folds.labels.codes.tolist(), folds.groups.tolist(), folds.number.tolist(), strict=True))
    for code, group, number in places:
        if code not in spread:
            fold_of.setdefault(group, set()).add(number)
    there = {
        code: [fold_of[group] for c, group, _ in places if c == code and group in fold_of] for code in spread
    }
    return all(len(some) == 1 for some in fold_of.values()) and all(
        len(set.union(set(), *some)) <= 1 for some in there.values()
    )


class TestGroups:
    @given(st.data())
    def test_whole_groups_are_held_out(self, data):
        codes = np.sort(np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=40))))
        groups = np.array(data.draw(st.lists(st.integers(-5, 5), min_size=len(codes), max_size=len(codes))))
        count = data.draw(st.integers(2, 5))
        labels = RowLabels(np.arange(4), 3 * np.arange(len(codes)), codes, None)
        folds = group_folds(labels, groups, count, 0)
        check_sound(folds)
        assert folds.grouped
        for code in range(4):
            assert folds.places[code] == len(set(groups[codes == code]))
        assert any(groups_are_whole(folds, set(spread)) for spread in subsets(np.unique(codes).tolist()))

    def test_each_class_is_in_each_fold_alike(self):
        """Ten places of two classes, forty labels each, of five folds."""
        codes, groups = np.tile([0, 1], 200), np.repeat(np.arange(10), 40)
        labels = RowLabels(np.arange(2), np.arange(400), codes, None)
        folds = group_folds(labels, groups, 5, 0)
        assert np.bincount(folds.number).tolist() == [80] * 5

    def test_a_class_of_one_place_is_spread_and_others_are_not(self):
        codes = np.array([0] * 6 + [1] * 6 + [2])
        groups = np.array([0, 0, 1, 1, 2, 2] + [0] * 6 + [1])
        labels = RowLabels(np.arange(3), np.arange(13), codes, None)
        folds = group_folds(labels, groups, 3, 0)
        check_sound(folds)
        assert sorted(folds.number[6:12]) == [0, 0, 1, 1, 2, 2]
        assert folds.number[12] == -1
        pairs = folds.number[:6].reshape(3, 2)
        assert (pairs[:, 0] == pairs[:, 1]).all()
        assert folds.places.tolist() == [3, 1, 1]

    def test_a_seed_gives_the_same_again(self):
        codes = np.repeat([0, 1], 20)
        labels = RowLabels(np.arange(2), np.arange(40), codes, None)
        groups = np.zeros(40, dtype=int)  # one place: all are spread at random
        first, again, other = (group_folds(labels, groups, 4, seed).number for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()


RNG = np.random.default_rng(0)
CLOUD = RNG.uniform(0, 100, size=(3_000, 3)) * [1, 1, 0.1]


def clumps(count: int, each: int) -> np.ndarray:
    """Places of labels, a metre wide, within the cloud."""
    middles = RNG.uniform(10, 90, size=(count, 3)) * [1, 1, 0.1]
    return np.repeat(middles, each, axis=0) + RNG.normal(size=(count * each, 3)) * 0.5


def apart(points: np.ndarray) -> np.ndarray:
    """From each point of the cloud to the nearest label."""
    return np.linalg.norm(CLOUD[:, None] - points[None], axis=2).min(axis=1)


def difference(held: np.ndarray, target: np.ndarray) -> float:
    """The mean difference of quantiles."""
    shares = np.linspace(0.005, 0.995, 100)
    return float(np.abs(np.quantile(held, shares) - np.quantile(target, shares)).mean())


class TestMatched:
    @pytest.mark.parametrize("seed", range(3))
    def test_labels_that_lie_as_the_points_do_are_held_out_one_by_one(self, seed):
        rng = np.random.default_rng(seed)
        points = CLOUD[rng.permutation(len(CLOUD))[:90]]
        labels = labels_of(30, 30, 30)
        folds = matched_folds(labels, 5, seed, points=points, target=apart(points))
        assert not folds.grouped
        np.testing.assert_array_equal(folds.number, random_folds(labels, 5, seed).number)

    @pytest.mark.parametrize("seed", range(3))
    def test_labels_in_few_places_are_held_out_place_by_place(self, seed):
        points = clumps(12, 20)
        labels = RowLabels(np.arange(3), np.arange(240), np.tile([0, 1, 2], 80), None)
        target = apart(points)
        folds = matched_folds(labels, 5, seed, points=points, target=target)
        check_sound(folds)
        assert folds.grouped
        alone = random_folds(labels, 5, seed).distances(points)
        assert difference(folds.distances(points), target) < 0.7 * difference(alone, target)
        for group in np.unique(folds.groups):
            assert len(set(folds.number[folds.groups == group])) == 1

    def test_distances_are_those_to_other_folds(self):
        points = clumps(6, 5)
        labels = RowLabels(np.arange(2), np.arange(30), np.tile([0, 1], 15), None)
        for folds in (random_folds(labels, 3, 0), group_folds(labels, np.repeat(np.arange(6), 5), 3, 0)):
            expected = distances_by_hand(points, folds.number)
            np.testing.assert_allclose(np.sort(folds.distances(points)), np.sort(expected), atol=1e-12)

    def test_labels_that_are_never_held_out_count_as_remaining(self):
        points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
        folds = Folds(labels_of(2, 1), np.array([0, 1, -1]), 2)
        np.testing.assert_allclose(np.sort(folds.distances(points)), [1, 1])

    @pytest.mark.parametrize("labelled", [2, 3, 5, 9])
    def test_few_labels(self, labelled):
        """Too few for groups, or just enough: every class stays known to every member."""
        points = clumps(labelled, 1)
        labels = labels_of(labelled // 2, labelled - labelled // 2)
        check_sound(matched_folds(labels, 5, 0, points=points, target=apart(points)))

    def test_nothing_to_compare_with(self):
        """All points have labels; or they all lie in one place; or there is one member."""
        labels = labels_of(20, 20)
        whole = matched_folds(labels, 5, 0, points=clumps(8, 5), target=np.zeros(0))
        assert not whole.grouped
        check_sound(matched_folds(labels, 5, 0, points=np.zeros((40, 3)), target=np.ones(9)))
        assert not matched_folds(labels, 1, 0, points=clumps(8, 5), target=np.ones(9)).grouped


class TestBlocks:
    def test_blocks_in_plan(self):
        """The height does not count: two floors of a block are held out together."""
        middles = np.array([[100.0 * x, 100.0 * y, 0] for x in range(5) for y in range(2)])
        points = np.repeat(middles, 6, axis=0) + RNG.normal(size=(60, 3))
        points[:, 2] += np.tile([0, 1_000.0], 30)
        labels = RowLabels(np.arange(2), np.arange(60), np.tile([0, 0, 1], 20), None)
        folds = block_folds(labels, points, 5, 0)
        check_sound(folds)
        assert folds.grouped
        assert len(np.unique(folds.groups)) == BLOCKS
        for places in folds.groups.reshape(10, 6):
            assert len(set(places)) <= 2  # K-means may cut one block to join two others
        assert np.mean([len(set(places)) == 1 for places in folds.groups.reshape(10, 6)]) >= 0.8

    def test_too_few_labels_for_blocks(self):
        folds = block_folds(labels_of(4, 5), clumps(9, 1), 5, 0)
        assert not folds.grouped
        check_sound(folds)


class TestSinglePlace:
    def test_a_class_whose_labels_lie_together(self):
        everywhere, together = CLOUD[:30], clumps(1, 30)
        points, codes = np.vstack([everywhere, together, CLOUD[30:60]]), np.repeat([0, 3, 5], 30)
        target = apart(points)
        assert single_place(points, codes, target) == [3]
        assert single_place(everywhere, codes[:30], apart(everywhere)) == []

    def test_two_places_are_enough(self):
        pair = np.vstack([clumps(1, 15), CLOUD[:1] + RNG.normal(size=(15, 3))])
        rest = CLOUD[100:130]
        points, codes = np.vstack([pair, rest]), np.repeat([0, 1], 30)
        assert single_place(points, codes, apart(points)) == []

    def test_nothing_to_compare_with(self):
        assert single_place(np.zeros((4, 3)), np.array([0, 0, 1, 1]), np.zeros(0)) == []
        assert single_place(np.zeros((1, 3)), np.zeros(1, dtype=int), np.ones(5)) == [0]


@pytest.mark.parametrize(
    ("share", "held"), [(0.2, {"a": 2, "b": 1}), (0.5, {"a": 5, "b": 2}), (0.99, {"a": 9, "b": 4})]
)
def test_a_share_of_each_class_is_held_out(share, held):
    weights = np.arange(20) + 1.0
    labels = RowLabels.of(Y, 20, sample_weight=weights)
    learn, watch = hold_out(labels, share, seed=3)
    assert sorted([*learn.rows, *watch.rows]) == labels.rows.tolist()
    for part in (learn, watch):
        np.testing.assert_array_equal(part.classes[part.codes], Y[part.rows])
        np.testing.assert_array_equal(part.weights, weights[part.rows])
    names, counts = np.unique(Y[watch.rows].astype(str), return_counts=True)
    assert dict(zip(names, counts, strict=True)) == held
    again, _ = hold_out(labels, share, seed=3)
    np.testing.assert_array_equal(again.rows, learn.rows)


def test_nothing_to_hold_out():
    with pytest.raises(ParameterError, match=r"Got 16 labels and held_out=0\.01"):
        hold_out(RowLabels.of(Y, 20), 0.01, seed=0)


class TestSeparatePlaces:
    def test_clicks_are_counted(self):
        """Places 100 apart, of points within 1: of one class three, of another one."""
        rng = np.random.default_rng(0)
        middles = np.repeat([[0.0, 0, 0], [100, 0, 0], [0, 100, 0], [0, 0, 0]], 20, axis=0)
        points, codes = middles + rng.uniform(-0.5, 0.5, (80, 3)), np.repeat([0, 0, 0, 1], 20)
        assert separate_places(points, codes, np.full(9, 10.0)).tolist() == [3, 1]
        assert separate_places(points, codes, np.full(9, 200.0)).tolist() == [1, 1]
        assert separate_places(points, codes, np.zeros(0)).tolist() == [60, 20]  # all points have labels

    def test_steps_lead_from_one_to_the_next(self):
        line = np.column_stack([np.arange(5_000.0), np.zeros((5_000, 2))])
        assert separate_places(line, np.zeros(5_000, dtype=int), np.array([6.0])).tolist() == [1]
