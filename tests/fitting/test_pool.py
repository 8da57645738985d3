"""The opinion pool: weights by held-out labels, and the mean over members."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from sklearn.datasets import make_blobs

from pinvgcn import PinvGCNClassifier
from pinvgcn.experts import RowLabels, Seen
from pinvgcn.fitting.pool import (
    AWAY,
    COLDEST,
    CONTEXT_TREES,
    DIFFUSION,
    FINE_TREES,
    FOREST,
    GROUPED,
    HOTTEST,
    KERNEL,
    LINEAR,
    NETWORK,
    PLACE_FREE,
    SELF_TRAINED,
    TREES,
    TWICE,
    USUAL,
    WIDE_TREES,
    Ensemble,
    weights_of,
)
from pinvgcn.repeated_fits import fit_many

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=1, n_features=2)
FEW = np.where(np.arange(90) % 3 == 0, TRUTH, -1)


def labels_of(*sizes: int) -> RowLabels:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return RowLabels(np.arange(len(sizes)), 10 * np.arange(len(codes)), codes, None)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(**{"members": 3, "epochs": 30, "rank": 6, "sigma": 6.0, **settings})


def right_with_noise(labels: RowLabels, size: float, seed: int) -> np.ndarray:
    scores = size * np.random.default_rng(seed).normal(size=(4_000, len(labels.classes)))
    scores[labels.rows, labels.codes] += 1.0
    return scores


def best_temperature(scores: np.ndarray, codes: np.ndarray) -> float:
    """T on a fine grid, by log-likelihood less (log T)²."""

    def value(T: float) -> float:
        return log_softmax(scores / T, axis=1)[np.arange(len(codes)), codes].sum() - np.log(T) ** 2

    grid = np.exp(np.linspace(np.log(COLDEST), np.log(HOTTEST), 4_001))
    return float(grid[np.argmax([value(T) for T in grid])])


class TestWeights:
    """Without usual weights: w_o = softmax(m^0.7 ℓ + log b)_o/(T T_o), b = ½ for networks, 2 for diffusion.

    An expert with less than a thousandth has none.
    """

    @pytest.mark.parametrize("seed", range(3))
    def test_the_formula(self, seed):
        labels, rng = labels_of(15, 25, 20), np.random.default_rng(seed)
        codes = labels.codes
        scores = 2 * rng.normal(size=(4, 60, 3)) * np.array([1, 0.3, 2, 5])[:, None, None]
        scores[:, np.arange(60), codes] += np.array([1, 0.5, 4, 0])[:, None]
        T = np.array([best_temperature(own, codes) for own in scores])
        logs = log_softmax(scores / T[:, None, None], axis=2)
        before = np.log([0.5, 1, 1, 2])
        shares = softmax(60**0.7 * logs[:, np.arange(60), codes].mean(axis=1) + before)
        shares = np.where(shares < 1e-3, 0, shares) / shares[shares >= 1e-3].sum()
        joint = best_temperature(np.tensordot(shares, logs, axes=1), codes)
        names = [NETWORK, FOREST, LINEAR, DIFFUSION]
        # held out of several members, of which each has some of the labels
        parts = [(scores[:, part], codes[part]) for part in np.array_split(rng.permutation(60), 3)]
        found = weights_of(names, parts)
        assert list(found) == names
        np.testing.assert_allclose(list(found.values()), shares / (joint * T), rtol=0.01, atol=1e-9)

    def test_temperatures_have_bounds(self):
        """Labels that are all wrong say no more than that nothing was learned; nor are few proof."""
        codes = np.repeat([0, 1], 200)
        right = 0.01 * (2 * np.eye(2)[codes] - 1)
        for scores, bound in ((right, COLDEST), (-1e3 * right, HOTTEST)):
            found = weights_of([NETWORK], [(scores[None], codes)])[NETWORK]
            assert found == pytest.approx(bound**-2, rel=1e-3)

    def test_one_label_changes_little(self):
        codes = np.zeros(1, dtype=int)
        found = weights_of([KERNEL, LINEAR], [(np.array([[[1.0, 0]], [[0.5, 0]]]), codes)])
        for weight in found.values():
            assert weight == pytest.approx(0.5, rel=0.5)

    def test_without_labels_held_out_they_count_as_before(self):
        assert weights_of([NETWORK]) == {NETWORK: 1}
        assert weights_of([NETWORK, DIFFUSION]) == {NETWORK: 0.2, DIFFUSION: 0.8}
        assert weights_of([TREES, LINEAR, "other", KERNEL])["other"] == 0.25

    def test_scores_that_are_not_finite_decide_nothing(self):
        """Their sum is refused, with a line that says what to do."""
        scores = np.array([[[np.nan, 0.0]], [[1.0, 0.0]]])
        found = weights_of([NETWORK, LINEAR], [(scores, np.zeros(1, dtype=int))])
        assert found == {NETWORK: pytest.approx(1 / 3), LINEAR: pytest.approx(2 / 3)}

    def test_an_expert_that_does_badly_counts_for_nothing(self):
        labels = labels_of(200, 200)
        good, noise = right_with_noise(labels, 0.5, 1), np.random.default_rng(2).normal(size=(4_000, 2))
        by_net, by_trees = (
            weights_of([NETWORK, TREES], [(np.stack(both)[:, labels.rows], labels.codes)])
            for both in ((good, noise), (noise, good))
        )
        assert by_net[NETWORK] > 1e3 * by_net[TREES]
        assert by_trees[TREES] > 1e3 * by_trees[NETWORK]


class TestWeightsOfAScan:
    NAMES = (NETWORK, FINE_TREES)

    def test_many_labels_find_who_is_right(self):
        labels = labels_of(200, 200)
        good, noise = right_with_noise(labels, 0.5, 1), np.random.default_rng(2).normal(size=(4_000, 2))
        by_net, by_trees = (
            weights_of(self.NAMES, [(np.stack(both)[:, labels.rows], labels.codes)], usual=USUAL)
            for both in ((good, noise), (noise, good))
        )
        assert by_net[NETWORK] > 5 * by_net[FINE_TREES]
        assert by_trees[FINE_TREES] > 5 * by_trees[NETWORK]

    def test_few_labels_leave_them_near_the_usual(self):
        labels = labels_of(1, 2)
        scores = np.random.default_rng(2).normal(size=(2, 4_000, 2))
        found = weights_of(self.NAMES, [(scores[:, labels.rows], labels.codes)], usual=USUAL)
        for name, weight in weights_of(self.NAMES, usual=USUAL).items():
            assert np.log(found[name]) == pytest.approx(np.log(USUAL[name]), abs=0.3)
            assert weight == USUAL[name]

    def test_the_mean_of_several_may_be_surer(self):
        labels = labels_of(3, 4)
        scores = np.random.default_rng(2).normal(size=(2, 4_000, 2))
        unseen = [(scores[:, labels.rows], labels.codes)]
        one = weights_of(self.NAMES, unseen, usual=USUAL)
        several = weights_of(self.NAMES, unseen, usual=USUAL, surer=1.4)
        assert several == pytest.approx({name: 1.4 * weight for name, weight in one.items()})

    @pytest.mark.parametrize("usual", [USUAL, GROUPED, AWAY, TWICE, SELF_TRAINED])
    def test_what_is_usual_depends_on_how_labels_lie(self, usual):
        assert set(usual) - {NETWORK, CONTEXT_TREES} == set(PLACE_FREE)
        assert weights_of(tuple(usual), usual=usual) == usual


class Fixed:
    """An expert whose opinions are given, one a member."""

    def __init__(self, *opinions: np.ndarray) -> None:
        self.own = opinions

    def opinions(self, seen):
        return self.own

    def state(self):
        return {}


ROWS = Seen(None, None)  # what fixed opinions do not look at


class TestEnsemble:
    def test_experts_of_any_name_are_weighed_by_name(self):
        rng = np.random.default_rng(0)
        a, b = (rng.normal(size=(3, 7, 2)) for _ in range(2))
        ensemble = Ensemble(3, {"first": Fixed(*a), "second": Fixed(*b)}, {"second": 0.5, "first": 2.0})
        assert ensemble.names == ("first", "second")
        np.testing.assert_array_equal(ensemble.exponents, [2, 0.5])
        np.testing.assert_allclose(list(ensemble.each(ROWS)), 2 * a + 0.5 * b)
        np.testing.assert_allclose(ensemble.joint(ROWS), (2 * a + 0.5 * b).mean(axis=0))
        assert ensemble.alone == 1  # less sure than all of them only in a scan
        assert replace(ensemble, away={"second": 1.0}).alone == 1 / 1.4


class Unasked:
    """An expert that must not be asked."""

    def opinions(self, seen):
        raise AssertionError("asked all the same")

    def state(self):
        return {}


WEIGHTS = {NETWORK: 0.5, FINE_TREES: 1.5, WIDE_TREES: 0.25}


class TestTrust:
    """Where the place of a row counts with φ, an expert that knows it has φ w; others share the rest."""

    RNG = np.random.default_rng(0)
    NET, FINE, WIDE = RNG.normal(size=(3, 2, 6, 3))  # experts; members, rows, classes
    HOME = 0.5 * NET + 1.5 * FINE + 0.25 * WIDE
    ELSEWHERE = 0.3 * FINE + 0.9 * WIDE

    def ensemble(self, network, *, away=True) -> Ensemble:
        experts = {NETWORK: network, FINE_TREES: Fixed(*self.FINE), WIDE_TREES: Fixed(*self.WIDE)}
        # in another order than the experts: weights go by name
        return Ensemble(2, experts, WEIGHTS, {WIDE_TREES: 0.9, FINE_TREES: 0.3} if away else None)

    def each(self, trust, network=None) -> np.ndarray:
        ensemble = self.ensemble(Fixed(*self.NET) if network is None else network)
        return np.array(list(ensemble.each(ROWS._replace(trust=np.array(trust, dtype=float)))))

    def test_fully_is_as_if_nothing_were_said(self):
        found = self.each(np.ones(6))
        np.testing.assert_allclose(found, self.HOME, atol=1e-14)
        np.testing.assert_allclose(list(self.ensemble(Fixed(*self.NET)).each(ROWS)), found, atol=1e-14)

    def test_without_weights_for_elsewhere_it_does_not_count(self):
        plain = self.ensemble(Fixed(*self.NET), away=False)
        np.testing.assert_allclose(list(plain.each(ROWS._replace(trust=np.zeros(6)))), self.HOME, atol=1e-14)

    def test_nowhere_no_network_is_asked(self):
        np.testing.assert_allclose(self.each(np.zeros(6), Unasked()), self.ELSEWHERE, atol=1e-14)

    @pytest.mark.parametrize("said", [np.nan, np.inf, -np.inf, 1e308])
    def test_nowhere_it_may_say_anything(self, said):
        """Among rows whose place counts."""
        network = self.NET.copy()
        network[:, [1, 4]] = said
        found = self.each([1, 0, 1, 1, 0, 1], Fixed(*network))
        np.testing.assert_allclose(found[:, [1, 4]], self.ELSEWHERE[:, [1, 4]], atol=1e-14)
        np.testing.assert_allclose(found[:, [0, 2, 3, 5]], self.HOME[:, [0, 2, 3, 5]], atol=1e-14)

    def test_in_between(self):
        """The sum of the weights stays: w_fine and w_wide grow by one factor."""
        phi = np.array([0.5, 1.0, 0.25, 0.0, 1e-9, 0.75])
        found = self.each(phi)
        for row, share in enumerate(phi):
            grown = 1 + (1 - share) * 0.5 / 1.75
            assert share * 0.5 + grown * 1.75 == pytest.approx(sum(WEIGHTS.values()))
            expected = share * 0.5 * self.NET[:, row] + grown * (
                1.5 * self.FINE[:, row] + 0.25 * self.WIDE[:, row]
            )
            if share == 0:
                expected = self.ELSEWHERE[:, row]
            np.testing.assert_allclose(found[:, row], expected, atol=1e-14)


class TestTogether:
    def test_scores_are_averaged(self):
        model = quick().fit(X, FEW)
        assert model.fitted_.ensemble.members == 3
        networks = [member.network for member in model.fitted_.networks.members]
        inputs = torch.from_numpy(model.fitted_.scaling(X, None)).double()
        scores = np.mean([net.double()(inputs).detach().numpy() for net in networks], axis=0)
        expected = log_softmax(scores * model.fitted_.ensemble.exponents[0], axis=1)
        np.testing.assert_allclose(np.log(model.transduction_proba_), expected, atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(X), model.transduction_proba_, atol=1e-9)

    def test_neither_threads_nor_other_runs_matter(self):
        model = quick().fit(X, FEW)
        (run,) = fit_many(quick(), X, [FEW], workers=1)
        np.testing.assert_array_equal(run.transduction_proba_, model.transduction_proba_)
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            alone = quick().fit(X, FEW)
        finally:
            torch.set_num_threads(before)
        np.testing.assert_array_equal(alone.transduction_proba_, model.transduction_proba_)

    @pytest.mark.parametrize("trees", [0, 10])
    def test_a_warm_start_and_a_file(self, trees, reloaded):
        model = quick(warm_start=True, trees=trees).fit(X, FEW)
        model.fit(X, np.where(np.arange(90) % 2 == 0, TRUTH, -1))
        assert model.n_iter_ == 6
        loaded = reloaded(model)
        np.testing.assert_allclose(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1), atol=1e-12)
        assert [len(member.layers) for member in loaded.fitted_.networks.members] == [2, 2, 2]
