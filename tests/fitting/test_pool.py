"""Several networks that speak as one: who learns from what, how sure they are, interrupts."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.datasets import make_blobs

from pinvgcn import PinvGCNClassifier
from pinvgcn.errors import TrainingWarning
from pinvgcn.experts.spectral import TrainedNetwork, side_by_side
from pinvgcn.fitting.folds import folds_of
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.pool import HOTTEST, NETWORK, TREES, USUAL, weights_of
from pinvgcn.nn import train
from pinvgcn.shared_rows import fit_many

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=1, n_features=2)
FEW = np.where(np.arange(90) % 3 == 0, TRUTH, -1)


def labels_of(*sizes: int) -> RowLabels:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return RowLabels(np.arange(len(sizes)), 10 * np.arange(len(codes)), codes, None)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier(**{"members": 3, "epochs": 30, "rank": 6, "sigma": 6.0, **settings})


class TestFolds:
    @pytest.mark.parametrize("sizes", [(10, 10), (3, 7, 1), (2, 2), (1, 2)])
    @pytest.mark.parametrize("count", [2, 5])
    def test_each_label_is_kept_from_one_learner_but_never_a_whole_class(self, sizes, count):
        labels = labels_of(*sizes)
        folds = folds_of(labels, count, 0)
        assert len(folds) == count
        held = np.concatenate([kept.rows for _, kept in folds if kept is not None])
        alone = [code for code, size in enumerate(sizes) if size == 1]
        assert sorted(held) == sorted(labels.rows[~np.isin(labels.codes, alone)])
        for learned, kept in folds:
            assert set(learned.codes) == set(range(len(sizes)))
            both = [*learned.rows, *([] if kept is None else kept.rows)]
            assert sorted(both) == sorted(labels.rows)

    def test_one_learner_has_them_all(self):
        labels = labels_of(3, 3)
        assert folds_of(labels, 1, 0) == [(labels, None)]


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


def test_an_interrupt_ends_all_of_them(monkeypatch, interrupts):
    """A real signal, once training has begun: it reaches the main thread, which waits for the others."""
    begun = threading.Lock()

    def interrupted(*args, **settings):
        if begun.acquire(blocking=False):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return train(*args, **settings)

    monkeypatch.setattr("pinvgcn.experts.spectral.train", interrupted)
    with pytest.warns(TrainingWarning, match="interrupted after"):
        model = quick(epochs=1_000_000).fit(X, FEW)
    assert 0 < model.n_iter_ < 1_000_000
    assert model.transduction_.shape == (90,)


def test_an_error_in_one_ends_the_others():
    ended = []

    def learn(number: int, stop: threading.Event | None) -> TrainedNetwork:
        assert stop is not None
        if number == 0:
            raise ValueError("no")
        ended.append(stop.wait(20))
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="no"):
        side_by_side(learn, 2, 2)
    assert ended == [True]
