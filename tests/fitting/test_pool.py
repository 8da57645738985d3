"""The opinion pool: weights by held-out labels, and the mean over members."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.datasets import make_blobs

from pinvgcn import PinvGCNClassifier
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.pool import HOTTEST, NETWORK, TREES, USUAL, WALK, Ensemble, weights_of
from pinvgcn.shared_rows import fit_many

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


class TestWeights:
    def test_networks_alone_get_the_root_of_the_likeliest_temperature(self):
        labels = labels_of(200, 200)
        scores, mine = right_with_noise(labels, 3, 0), labels.take(labels.rows % 20 == 0)
        found = weights_of([NETWORK], [(scores[None, mine.rows], mine.codes)])[NETWORK] ** -2

        def loss(T: float) -> float:
            return -log_softmax(scores[mine.rows] / T, axis=1)[np.arange(len(mine.rows)), mine.codes].mean()

        grid = np.linspace(1, HOTTEST, 2_000)
        best = grid[np.argmin([loss(T) for T in grid])]
        assert found == pytest.approx(best, rel=0.02)

    def test_never_surer_than_the_networks_are(self):
        labels = labels_of(5, 5)
        scores = np.zeros((1, 100, 2))
        scores[0, labels.rows, labels.codes] = 1.0
        found = weights_of([NETWORK], [(scores[:, labels.rows], labels.codes)])
        assert found[NETWORK] == pytest.approx(1, abs=1e-4)
        assert weights_of([NETWORK]) == {NETWORK: 1}

    def test_many_labels_find_who_is_right(self):
        labels = labels_of(200, 200)
        good, noise = right_with_noise(labels, 0.5, 1), np.random.default_rng(2).normal(size=(4_000, 2))
        by_net, by_trees = (
            weights_of([NETWORK, TREES], [(np.stack(both)[:, labels.rows], labels.codes)])
            for both in ((good, noise), (noise, good))
        )
        assert by_net[NETWORK] > 5 * by_net[TREES]
        assert by_trees[TREES] > 5 * by_trees[NETWORK]

    def test_few_labels_leave_them_near_the_usual(self):
        labels = labels_of(1, 2)
        scores = np.random.default_rng(2).normal(size=(2, 4_000, 2))
        found = weights_of([NETWORK, TREES], [(scores[:, labels.rows], labels.codes)])
        for name, weight in weights_of([NETWORK, TREES]).items():
            assert np.log(found[name] / 1.4) == pytest.approx(USUAL[name], abs=0.3)
            assert weight == pytest.approx(np.exp(USUAL[name]))


class Fixed:
    """An expert whose opinions are given, one a member."""

    def __init__(self, *opinions: np.ndarray) -> None:
        self.own = opinions

    def opinions(self, seen):
        return self.own

    def state(self):
        return {}


class TestEnsemble:
    def test_experts_of_any_name_are_weighed_by_name(self):
        rng = np.random.default_rng(0)
        a, b = (rng.normal(size=(3, 7, 2)) for _ in range(2))
        ensemble = Ensemble(3, {"first": Fixed(*a), "second": Fixed(*b)}, {"second": 0.5, "first": 2.0})
        assert ensemble.names == ("first", "second")
        np.testing.assert_array_equal(ensemble.exponents, [2, 0.5])
        np.testing.assert_allclose(list(ensemble.each(None)), 2 * a + 0.5 * b)
        np.testing.assert_allclose(ensemble.joint(None), (2 * a + 0.5 * b).mean(axis=0))
        assert ensemble.alone == 2.5

    def test_without_trees_all_experts_count_alike(self):
        assert weights_of([NETWORK, WALK]) == {NETWORK: 0.5, WALK: 0.5}
        assert weights_of([NETWORK, WALK, "linear", "other"])["linear"] == 0.25

    def test_beside_trees_an_expert_counts_as_a_network_does(self):
        found = weights_of([NETWORK, TREES, "linear"])
        assert found["linear"] == found[NETWORK] == pytest.approx(0.25)


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
    def test_a_warm_start_and_a_file(self, trees, tmp_path):
        model = quick(warm_start=True, trees=trees).fit(X, FEW)
        model.fit(X, np.where(np.arange(90) % 2 == 0, TRUTH, -1))
        assert model.n_iter_ == 6
        model.save(tmp_path / "model.safetensors")
        loaded = PinvGCNClassifier.load(tmp_path / "model.safetensors")
        np.testing.assert_allclose(loaded.predict_proba(X + 0.1), model.predict_proba(X + 0.1), atol=1e-12)
        assert [len(member.layers) for member in loaded.fitted_.networks.members] == [2, 2, 2]
