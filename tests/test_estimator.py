"""Fitting: the result against the dense network, labels in every form, weights, seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.special import softmax
from sklearn.datasets import make_blobs

from pinvgcn import GaussianGraph, Hypergraph, PinvGCNClassifier, SparseGraph
from pinvgcn.graphs import automatic_sigma

X, TRUTH = make_blobs(80, centers=3, cluster_std=1.5, random_state=1, n_features=3)
FEW = np.where(np.arange(80) % 5 == 0, TRUTH, -1)
TABLE = pd.DataFrame(
    {
        "kind": np.array(["a", "b", "c"])[TRUTH],
        "other": np.array(["u", "v"])[np.arange(80) % 2],
        "size": X[:, 0],
        "wet": X[:, 1] > 0,
    }
)


def quick(graph="gaussian", **settings) -> PinvGCNClassifier:
    """One network alone."""
    own = {"rank": 8} if graph == "gaussian" else {"members": 1, "neighbours": None}
    return PinvGCNClassifier(graph, **{"epochs": 25, **own, **settings})


def dense_scores(model: PinvGCNClassifier, A: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """The learned weights in the paper's network with n × n matrices (three-part filters)."""
    scale = 1 / np.sqrt(A.sum(axis=1))
    lam, U = np.linalg.eigh(np.eye(len(A)) - scale[:, None] * A * scale)
    k, r = model.spectrum_.null_vectors.shape[1], model.spectrum_.rank
    U0, Ur, lam = U[:, :k], U[:, k : k + r], lam[k : k + r]
    K = [U0 @ U0.T, lam[0] * Ur / lam @ Ur.T, lam[0] * (np.eye(len(A)) - U0 @ U0.T - Ur @ Ur.T)]
    H = inputs
    for depth, conv in enumerate(model.network_.convs):
        W, b = conv.weights.detach().double().numpy(), conv.bias.detach().double().numpy()
        H = np.maximum(H, 0) if depth else H
        H = sum(K[i] @ H @ W[i] for i in range(3)) + b
    return H


def gaussian_weights(points: np.ndarray, sigma: float, loops: float) -> np.ndarray:
    A = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / sigma**2)
    np.fill_diagonal(A, loops)
    return A


class TestAgainstTheDenseNetwork:
    @pytest.mark.parametrize(("loops", "hidden"), [(0.0, ()), (0.5, 8), (1.0, (8, 6)), (1.0, ())], ids=str)
    def test_points(self, loops, hidden):
        model = quick(sigma=4.0, loops=loops, hidden=hidden).fit(X, FEW)
        centred = X - X.mean(axis=0)
        inputs = 10 * centred / np.sqrt((centred**2).mean())
        expected = dense_scores(model, gaussian_weights(X, 4.0, loops), inputs)
        np.testing.assert_allclose(model.transduction_proba_, softmax(expected, axis=1), atol=1e-9)
        np.testing.assert_array_equal(model.transduction_, expected.argmax(axis=1))

    @pytest.mark.parametrize("scaling", ["isotropic", "centre", "none", "standard"])
    def test_scaling_of_points_and_extra_features(self, scaling):
        extra = np.linspace(100, 900, 80)[:, None] ** [1, 0] * [1, 0.1]  # the second column is constant
        model = quick(sigma=4.0, scaling=scaling).fit(X, FEW, features=extra)
        both = np.hstack([X, extra])
        if scaling != "none":
            both = both - both.mean(axis=0)
        if scaling == "standard":
            both[:, :4] /= both[:, :4].std(axis=0)
        if scaling == "isotropic":
            both[:, :3] *= 10 / np.sqrt((both[:, :3] ** 2).mean())
            both[:, 3] *= 10 / both[:, 3].std()
        expected = softmax(dense_scores(model, gaussian_weights(X, 4.0, 1.0), both), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-8)

    @pytest.mark.parametrize("scaling", ["isotropic", "centre", "none", "standard"])
    def test_tables_stay_zero_and_one(self, scaling):
        plain = {"binning": "width", "numbers": False, "experts": "network", "scaling": scaling}
        model = quick("categorical", bins=4, **plain).fit(TABLE, FEW)
        columns = [TABLE["kind"] == value for value in "abc"] + [TABLE["other"] == value for value in "uv"]
        edges = np.linspace(TABLE["size"].min(), TABLE["size"].max(), 5)
        place = np.minimum(np.searchsorted(edges, TABLE["size"], side="right") - 1, 3)
        columns += [place == b for b in range(4)] + [TABLE["wet"]]
        H = np.array(columns, dtype=float).T
        H = H[:, H.sum(axis=0) >= 2]
        A = H / H.sum(axis=0) @ H.T
        expected = softmax(dense_scores(model, A, H), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-8)

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array, pd.DataFrame])
    def test_a_sparse_graph_with_features(self, form):
        A = gaussian_weights(X, 4.0, 0.0) * (gaussian_weights(X, 4.0, 0.0) > 0.2)
        features = np.random.default_rng(0).random((80, 5)) + 3  # features of a given graph stay as they are
        model = quick(SparseGraph(A, loops=1.0), rank=8).fit(form(features), FEW)
        expected = softmax(dense_scores(model, A + np.eye(80), features), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-8)

    def test_a_given_graph_of_points_or_hyperedges_brings_its_features(self):
        model = quick(GaussianGraph(X, 4.0, loops=0.5), rank=8).fit(None, FEW)
        expected = softmax(dense_scores(model, gaussian_weights(X, 4.0, 0.5), X), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-8)
        H = np.eye(3)[TRUTH]
        H = np.hstack([H, np.eye(4)[np.arange(80) % 4]])
        w = np.arange(1.0, 8.0)
        model = quick(Hypergraph(sp.csr_array(H), weights=w)).fit(None, FEW)
        expected = softmax(dense_scores(model, H * (w / H.sum(axis=0)) @ H.T, H), axis=1)
        np.testing.assert_allclose(model.transduction_proba_, expected, atol=1e-8)

    def test_the_network_is_the_one_that_was_trained(self):
        """In single precision and evaluation mode it gives what transduction_proba_ holds."""
        model = quick(sigma=4.0, scaling="centre").fit(X, FEW)
        scores = model.network_(torch.from_numpy(X - X.mean(axis=0))).detach().numpy()
        np.testing.assert_allclose(softmax(scores, axis=1), model.transduction_proba_, atol=1e-4)


class TestAttributes:
    def test_what_is_learned(self):
        model = quick(sigma=4.0)
        assert model.fit(X, FEW) is model
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.graph_.sigma == 4.0
        assert model.spectrum_.rank == 8
        assert len(model.loss_curve_) == model.n_iter_ == 25
        assert set(model.timings_) == {"graph", "spectrum", "training"}
        assert all(seconds > 0 for seconds in model.timings_.values())
        np.testing.assert_allclose(model.transduction_proba_.sum(axis=1), 1)

    def test_transduction_is_what_the_model_says_at_labelled_rows_too(self):
        wrong = FEW.copy()
        wrong[0] = (TRUTH[0] + 1) % 3  # one label against all its neighbours
        hardly = np.where(np.arange(80) == 0, 1e-3, 1.0)
        model = quick(epochs=100).fit(X, wrong, sample_weight=hardly)
        assert model.transduction_[0] == TRUTH[0] != wrong[0]

    def test_the_loss_falls(self):
        losses = PinvGCNClassifier(epochs=150, rank=8).fit(X, FEW).loss_curve_
        assert np.mean(losses[-10:]) < 0.2 * losses[0]
        assert np.mean(losses[:30]) > np.mean(losses[30:60]) > np.mean(losses[60:90])

    def test_automatic_settings(self):
        model = quick(rank=None).fit(X, FEW)
        assert model.graph_.sigma == automatic_sigma(X)
        assert model.graph_.loops == 1.0
        assert quick(rank=None, sigma=1.0).fit(X, FEW).spectrum_.rank == 60
        table = quick("categorical").fit(TABLE, FEW)
        factor = table.graph_.normalized_adjacency @ np.eye(80)
        assert table.spectrum_.rank == np.linalg.matrix_rank(factor, tol=1e-9) - 1

    def test_a_second_fit_forgets_the_first(self):
        model = quick(sigma=4.0).fit(X[:40, :2], np.array(["x", "y"])[TRUTH[:40] % 2], features=X[:40])
        model.fit(X, FEW)
        np.testing.assert_array_equal(model.predict_proba(X), quick(sigma=4.0).fit(X, FEW).predict_proba(X))

    def test_a_fit_that_fails_leaves_the_predictions_of_the_last_one(self):
        model = quick(sigma=4.0, learning_rate=1e-3).fit(X, FEW)
        before = model.predict_proba(X)
        with pytest.raises(RuntimeError, match="loss became"):
            model.set_params(learning_rate=1e25).fit(X + 50, FEW)
        np.testing.assert_array_equal(before, model.predict_proba(X))

    def test_input_is_not_changed(self):
        points, labels = X.copy(), FEW.copy()
        points.flags.writeable = labels.flags.writeable = False
        frame = TABLE.copy()
        quick(scaling="standard").fit(points, labels, features=points)
        quick("categorical").fit(frame, labels)
        pd.testing.assert_frame_equal(frame, TABLE)
        np.testing.assert_array_equal(points, X)


NAMES = np.array(["cedar", "fir", "oak"])


class TestLabels:
    @pytest.fixture(scope="class")
    @staticmethod
    def reference() -> np.ndarray:
        return quick(sigma=4.0).fit(X, FEW).transduction_proba_

    @pytest.mark.parametrize(
        "y",
        [
            FEW.tolist(),
            tuple(FEW.tolist()),
            FEW.astype(float),
            FEW.astype(np.int8),
            pd.Series(FEW, index=np.arange(80)[::-1]),
            np.where(FEW < 0, np.nan, FEW),
            [None if c < 0 else int(c) for c in FEW],
            pd.Series([None if c < 0 else c for c in FEW], dtype="Int64"),
            pd.Categorical(FEW),
            pd.DataFrame({"class": FEW}),
        ],
        ids=lambda y: type(y).__name__,
    )
    def test_numbers_in_every_form_give_the_same_bits(self, reference, y):
        model = quick(sigma=4.0).fit(X, y)
        np.testing.assert_array_equal(model.transduction_proba_, reference)
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.score(X, TRUTH) == np.mean(reference.argmax(axis=1) == TRUTH)

    @pytest.mark.parametrize(
        "y",
        [
            [None if c < 0 else str(NAMES[c]) for c in FEW],
            [np.nan if c < 0 else str(NAMES[c]) for c in FEW],
            [-1 if c < 0 else str(NAMES[c]) for c in FEW],
            np.array([None if c < 0 else NAMES[c] for c in FEW], dtype=object),
            pd.Series([None if c < 0 else NAMES[c] for c in FEW]),
            pd.Series([None if c < 0 else NAMES[c] for c in FEW], dtype="string"),
            pd.Series(pd.Categorical([None if c < 0 else NAMES[c] for c in FEW])),
        ],
        ids=lambda y: type(y).__name__,
    )
    def test_text_in_every_form_gives_the_same_bits(self, reference, y):
        model = quick(sigma=4.0).fit(X, y)
        np.testing.assert_array_equal(model.transduction_proba_, reference)
        assert model.classes_.tolist() == NAMES.tolist()
        assert model.transduction_.tolist() == NAMES[reference.argmax(axis=1)].tolist()
        assert model.predict(X).tolist() == model.transduction_.tolist()
        assert model.score(X, NAMES[TRUTH]) == model.score(X, list(NAMES[TRUTH]))

    def test_two_labels_are_enough(self):
        y = np.full(80, -1)
        y[[int(np.flatnonzero(TRUTH == 0)[0]), int(np.flatnonzero(TRUTH == 2)[0])]] = 0, 2
        model = quick(sigma=4.0, rank=3, epochs=60).fit(X, y)
        assert model.classes_.tolist() == [0, 2]
        assert model.score(X, np.where(TRUTH == 1, -1, TRUTH)) > 0.9

    def test_classes_are_any_numbers(self):
        model = quick(epochs=60).fit(X, np.where(FEW < 0, -1, np.array([40, -7, 3])[TRUTH]))
        assert model.classes_.tolist() == [-7, 3, 40]
        assert set(model.transduction_.tolist()) == {-7, 3, 40}


def probabilities(weights=None, y=FEW, **settings) -> np.ndarray:
    return quick(sigma=4.0, **settings).fit(X, y, sample_weight=weights).transduction_proba_


ROWS = np.linspace(0.5, 2, 80)
OUT = np.flatnonzero(FEW >= 0)[[2, 5, 6]]
UNEVEN = np.where((FEW == 1) & (np.arange(80) > np.flatnonzero(FEW == 1)[0]), -1, FEW)
SHARES = np.bincount(UNEVEN[UNEVEN >= 0])
# what weights, classes and settings say the same
ALIKE = {
    "by class": ({"class_weight": {0: 1.0, 1: 0.25, 2: 7.5}}, {"weights": np.array([1.0, 0.25, 7.5])[TRUTH]}),
    "one class": ({"class_weight": {2: 7.5}}, {"weights": np.array([1.0, 1.0, 7.5])[TRUTH]}),
    "by name": (
        {"y": [None if c < 0 else str(NAMES[c]) for c in FEW], "class_weight": {"oak": 7.5, "fir": 0.25}},
        {"weights": np.array([1.0, 0.25, 7.5])[TRUTH]},
    ),
    "n over classes times count": (
        {"y": UNEVEN, "class_weight": "balanced"},
        {"y": UNEVEN, "weights": (SHARES.sum() / (3 * SHARES))[TRUTH]},
    ),
    "multiplied": (
        {"weights": ROWS, "class_weight": {1: 4.0}},
        {"weights": ROWS * np.array([1.0, 4.0, 1.0])[TRUTH]},
    ),
    "zero is unlabelled": (
        {"weights": np.where(np.isin(np.arange(80), OUT), 0, ROWS)},
        {"weights": ROWS, "y": np.where(np.isin(np.arange(80), OUT), -1, FEW)},
    ),
    "of unlabelled rows": ({"weights": ROWS}, {"weights": np.where(FEW < 0, 99, ROWS)}),
}


class TestWeights:
    @pytest.mark.parametrize("case", ALIKE)
    def test_what_is_the_same(self, case):
        one, other = (probabilities(**said) for said in ALIKE[case])
        np.testing.assert_array_equal(one, other)
        assert len(set(SHARES)) > 1
        assert np.abs(one - probabilities()).max() > 1e-3

    def test_the_scale_of_weights_does_not_matter(self):
        np.testing.assert_allclose(probabilities(1.0), probabilities(64.0), atol=0)
        np.testing.assert_allclose(probabilities(1.0), probabilities(), atol=1e-3)

    def test_heavy_weights_win(self):
        y = np.where(TRUTH == 0, 0, 1)
        noisy = np.arange(80) % 2 == 0
        y[noisy] = 1 - y[noisy]  # half of the rows contradict the other half
        for trusted in (noisy, ~noisy):
            weights = np.where(trusted, 1.0, 1e-3)
            model = quick(sigma=4.0, epochs=60).fit(X, y, sample_weight=weights)
            assert np.mean(model.transduction_[trusted] == y[trusted]) > 0.9


class TestSeeds:
    def test_the_same_seed_gives_the_same_bits(self):
        first, second = (quick(random_state=3).fit(X, FEW) for _ in range(2))
        np.testing.assert_array_equal(first.transduction_proba_, second.transduction_proba_)
        assert first.loss_curve_ == second.loss_curve_
        for a, b in zip(first.network_.parameters(), second.network_.parameters(), strict=True):
            assert torch.equal(a, b)

    @pytest.mark.parametrize(("graph", "data"), [("gaussian", X), ("categorical", TABLE)])
    def test_every_seed_is_another_run(self, graph, data):
        runs = [quick(graph, random_state=seed).fit(data, FEW).transduction_proba_ for seed in range(3)]
        assert np.abs(runs[0] - runs[1]).max() > 1e-4
        assert np.abs(runs[1] - runs[2]).max() > 1e-4

    def test_the_seed_moves_weights_and_masks(self):
        no_masks = [quick(dropout=0.0, random_state=seed).fit(X, FEW).loss_curve_ for seed in range(2)]
        assert no_masks[0] != no_masks[1]

    def test_a_random_state_goes_on(self):
        state = np.random.RandomState(5)
        first, second = (quick(random_state=state).fit(X, FEW).transduction_proba_ for _ in range(2))
        assert not np.array_equal(first, second)
        again = quick(random_state=np.random.RandomState(5)).fit(X, FEW).transduction_proba_
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, quick(random_state=5).fit(X, FEW).transduction_proba_)

    def test_none_draws_from_numpy(self):
        np.random.seed(11)  # noqa: NPY002
        first = quick(random_state=None).fit(X, FEW).transduction_proba_
        second = quick(random_state=None).fit(X, FEW).transduction_proba_
        assert not np.array_equal(first, second)
        np.random.seed(11)  # noqa: NPY002
        np.testing.assert_array_equal(first, quick(random_state=None).fit(X, FEW).transduction_proba_)

    @pytest.mark.parametrize(("graph", "data"), [("gaussian", X), ("categorical", TABLE)])
    def test_generators_of_the_process_are_left_alone(self, graph, data):
        states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        first = quick(graph).fit(data, FEW)
        first.predict(data)
        assert torch.equal(states[0], torch.get_rng_state())
        np.testing.assert_array_equal(states[1], np.random.get_state()[1])  # noqa: NPY002
        torch.manual_seed(99)
        np.testing.assert_array_equal(
            quick(graph).fit(data, FEW).transduction_proba_, first.transduction_proba_
        )

    def test_a_frame_gives_the_bits_of_its_array(self):
        expected = quick().fit(X, FEW).transduction_proba_
        for form in (pd.DataFrame(X), np.asfortranarray(X)):
            np.testing.assert_array_equal(quick().fit(form, FEW).transduction_proba_, expected)
