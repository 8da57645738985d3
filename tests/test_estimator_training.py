"""How a fit trains: equal rows as one, samples, many runs, warm starts, early ends."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import make_blobs

from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.errors import DataError, ParameterError, TrainingError, TrainingWarning
from pinvgcn.experts import spectral
from pinvgcn.fitting import prepared
from pinvgcn.graphs.distinct import Distinct
from pinvgcn.nn import sampling
from pinvgcn.nn.nodewise import apply_networks
from pinvgcn.repeated_fits import SharedRows, fit_many

X, TRUTH = make_blobs(120, centers=3, cluster_std=1.5, random_state=1, n_features=3)
FEW = np.where(np.arange(120) % 5 == 0, TRUTH, -1)


def table(n: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Few values, so that many rows are equal; labels at a third of the rows, at odds on equal rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.8, y, 1 - y).astype(str),
            "b": rng.integers(0, 3, n).astype(str),
            "c": np.array([None, "x", "y"], dtype=object)[rng.integers(0, 3, n)],
        }
    )
    return frame, np.where(rng.random(n) < 0.3, y, -1)


def quick(graph="gaussian", **settings) -> PinvGCNClassifier:
    """One network alone."""
    own = {"rank": 8, "sigma": 4.0} if graph == "gaussian" else {"members": 1, "neighbours": None}
    return PinvGCNClassifier(graph, **{"epochs": 25, **own, **settings})


@pytest.fixture
def expanded(monkeypatch):
    """Every row is a node of its own."""

    def each(matrix, *_) -> Distinct:
        n = matrix.shape[0]
        return Distinct(np.arange(n), np.arange(n), np.ones(n))

    def switch() -> None:
        monkeypatch.setattr(Hypergraph, "distinct", property(lambda self: each(self.incidence)))
        monkeypatch.setattr(prepared, "distinct_rows", each)

    return switch


@pytest.mark.usefixtures("double")
class TestEqualRows:
    @pytest.mark.parametrize("extra", [False, True])
    @pytest.mark.parametrize(("rank", "hidden"), [(None, ()), (3, 8), (None, (8, 6))], ids=str)
    def test_collapsed_is_expanded(self, rank, hidden, extra, expanded):
        """Spectrum, losses, weights and predictions: the same, dropout aside."""
        frame, labels = table()
        features = np.arange(150)[:, None] % 2 * 3.0 if extra else None
        weights = np.arange(150) % 4 + 0.5
        models = []
        for switch in (lambda: None, expanded):
            switch()
            model = quick("categorical", rank=rank, hidden=hidden, dropout=0.0)
            models.append(model.fit(frame, labels, features=features, sample_weight=weights))
        collapsed, every = models
        for name in ("null_vectors", "values", "vectors"):
            one, other = getattr(collapsed.spectrum_, name), getattr(every.spectrum_, name)
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
        np.testing.assert_allclose(collapsed.loss_curve_, every.loss_curve_, rtol=1e-8)
        for a, b in zip(collapsed.network_.parameters(), every.network_.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-7)
        np.testing.assert_allclose(collapsed.transduction_proba_, every.transduction_proba_, atol=1e-8)
        again = every.predict_proba(frame, features=features)
        np.testing.assert_allclose(collapsed.predict_proba(frame, features=features), again, atol=1e-8)

    def test_a_basis_is_factored_by_the_rows_that_differ(self):
        """3 nnz + |E| (k + r) against m (k + r) for m distinct rows, however often they come."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.integers(0, 8, (120, 4))).astype(str)
        for often, some, factored in [(1, 120, True), (30, 120, True), (30, 40, False), (1, 40, False)]:
            prepared = SharedRows(quick("categorical"), pd.concat([frame[:some]] * often)).prepared
            m, width = len(prepared.distinct.first), prepared.basis.width
            edges = prepared.nodes.graph.n_hyperedges
            assert m <= some
            assert (12 * m + edges * width <= m * width) is factored
            assert (prepared.basis.Z is not None) is factored
            V = prepared.spectrum.basis[prepared.distinct.first]
            np.testing.assert_allclose(prepared.basis @ np.eye(width), V, atol=1e-12)

    @pytest.mark.parametrize("extra", [False, True])
    def test_predicted_once_is_predicted_each(self, extra, monkeypatch):
        """New rows: what each has alone, and no more rows computed than there are different ones."""
        frame, labels = table()
        new, _ = table(400, seed=1)
        rng = np.random.default_rng(0)
        features, others = (rng.integers(0, 2, (n, 1)) * 3.0 if extra else None for n in (150, 400))
        model = quick("categorical").fit(frame, labels, features=features)
        computed = []

        def counted(networks, inputs, V, **settings):
            computed.append(len(V))
            return apply_networks(networks, inputs, V, **settings)

        monkeypatch.setattr(spectral, "apply_networks", counted)
        together = model.predict_proba(new, features=others)
        whole = new if others is None else new.assign(extra=others)
        assert computed == [len(whole.drop_duplicates())]
        assert computed[0] < 40
        for row in range(0, 400, 7):
            some = None if others is None else others[row : row + 1]
            alone = model.predict_proba(new.iloc[row : row + 1], features=some)
            np.testing.assert_allclose(together[row], alone[0], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(model.predict(new, features=others), together.argmax(axis=1))

    def test_the_rows_of_fit(self):
        frame, labels = table()
        model = quick("categorical").fit(frame, labels)
        np.testing.assert_allclose(model.predict_proba(frame), model.transduction_proba_, rtol=1e-13)
        given = quick(Hypergraph.from_table(frame)).fit(None, labels)
        np.testing.assert_allclose(given.predict_proba(None), given.transduction_proba_, rtol=1e-13)

    def test_they_are_computed_once(self):
        """And stay sparse; a feature beside them that tells all rows apart makes each a node."""
        frame, labels = table()
        for features, nodes in ((None, len(frame.drop_duplicates())), (np.arange(150.0)[:, None], 150)):
            model = quick("categorical", warm_start=True).fit(frame, labels, features=features)
            assert len(model.prepared_.problem) == nodes
            assert float(model.prepared_.problem.weights.sum()) == 150
            assert model.spectrum_.n_nodes == len(model.transduction_) == 150
            assert sp.issparse(model.prepared_.inputs)

    def test_a_given_hypergraph_with_features_of_its_own(self, expanded):
        frame, labels = table()
        H = Hypergraph.from_table(frame).incidence
        features = (np.arange(150)[:, None] % 2) * [1.0, 3.0]
        results = []
        for switch in (lambda: None, expanded):
            switch()
            model = quick(Hypergraph(H), dropout=0.0).fit(features, labels)
            results.append(model.transduction_proba_)
        np.testing.assert_allclose(results[0], results[1], atol=1e-8)


class TestSamples:
    def test_a_sample_is_close_to_all(self):
        everything = quick(epochs=150).fit(X, FEW)
        some = quick(epochs=150, nodes_per_epoch=40).fit(X, FEW)
        assert some.loss_curve_ != everything.loss_curve_
        assert np.mean(some.transduction_ == everything.transduction_) > 0.95
        np.testing.assert_array_equal(some.predict(X), some.transduction_)

    def test_tables(self):
        frame, labels = table()
        labels[20:] = -1
        agreement = []
        for seed in range(4):  # which by themselves agree in 88 to 100 % of the rows
            everything = quick("categorical", epochs=150, random_state=seed).fit(frame, labels)
            some = quick("categorical", epochs=150, nodes_per_epoch=6, random_state=seed).fit(frame, labels)
            assert some.loss_curve_ != everything.loss_curve_
            agreement.append(np.mean(some.transduction_ == everything.transduction_))
        assert np.mean(agreement) > 0.9

    def test_auto_is_all_while_that_is_cheap(self, monkeypatch):
        assert quick().fit(X, FEW).loss_curve_ == quick(nodes_per_epoch=None).fit(X, FEW).loss_curve_
        monkeypatch.setattr(sampling, "ALL_NODES", 50)
        monkeypatch.setattr(sampling, "SOME_NODES", 30)
        assert quick().fit(X, FEW).loss_curve_ == quick(nodes_per_epoch=30).fit(X, FEW).loss_curve_

    @pytest.mark.parametrize("bad", [0, -1, 2.5, "all", True])
    def test_bad_values(self, bad):
        with pytest.raises(ParameterError, match="nodes_per_epoch must be a whole number"):
            quick(nodes_per_epoch=bad).fit(X, FEW)


class TestManyRuns:
    LABELS = (FEW, np.where(np.arange(120) % 7 == 1, TRUTH, -1), np.where(np.arange(120) % 4 == 2, TRUTH, -1))

    @pytest.mark.parametrize(("workers", "nodes"), [(None, None), (1, 30), (3, 30)])
    def test_each_run_is_the_run_alone(self, workers, nodes):
        model, threads = quick(nodes_per_epoch=nodes, hidden=(8, 6)), torch.get_num_threads()
        runs = fit_many(model, X, self.LABELS, random_states=[5, 6, 7], workers=workers)
        assert torch.get_num_threads() == threads
        for run, labels, seed in zip(runs, self.LABELS, [5, 6, 7], strict=True):
            alone = quick(nodes_per_epoch=nodes, hidden=(8, 6), random_state=seed).fit(X, labels)
            assert run.loss_curve_ == alone.loss_curve_
            np.testing.assert_array_equal(run.transduction_proba_, alone.transduction_proba_)
            np.testing.assert_array_equal(run.predict(X), alone.predict(X))
            assert run.get_params() == alone.get_params()
            assert run.n_features_in_ == 3
            assert run.spectrum_ is runs[0].spectrum_
        assert not hasattr(model, "classes_")
        with pytest.raises(ParameterError, match="sigma must be a number or 'auto'"):
            SharedRows(quick(sigma="labels"), X)

    def test_tables(self):
        frame, _ = table()
        ys = [table(seed=seed)[1] for seed in range(3)]
        features = np.arange(150.0)[:, None] % 5
        for run, y in zip(fit_many(quick("categorical"), frame, ys, features=features), ys, strict=True):
            alone = quick("categorical").fit(frame, y, features=features)
            np.testing.assert_array_equal(run.transduction_proba_, alone.transduction_proba_)

    def test_what_a_warm_model_has_kept_is_used(self):
        model = quick(warm_start=True).fit(X, FEW)
        (run,) = fit_many(model, X, [self.LABELS[1]], random_states=[4])
        assert run.spectrum_ is model.spectrum_
        alone = quick(random_state=4).fit(X, self.LABELS[1])
        np.testing.assert_array_equal(run.transduction_proba_, alone.transduction_proba_)

    def test_sigma_from_the_labels_of_each_run(self):
        ys = self.LABELS[:2]
        model = quick(sigma="labels", epochs=5)
        for run, y in zip(fit_many(model, X, ys, random_states=[1, 2]), ys, strict=True):
            alone = quick(sigma="labels", epochs=5, random_state=run.random_state).fit(X, y)
            assert run.sigma_ == alone.sigma_
            np.testing.assert_array_equal(run.transduction_proba_, alone.transduction_proba_)

    @pytest.mark.alone
    def test_an_interrupt_ends_all_runs(self, interrupts):
        """A real signal, to the process that waits for its runs."""
        model = quick(epochs=10**6)
        threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            fit_many(model, X, self.LABELS, workers=2)
        assert time.perf_counter() - started < 60

    def test_the_error_of_one_run_ends_the_others(self):
        model = quick(epochs=10**6, learning_rate=1e30)
        with pytest.raises(TrainingError, match="epoch"):
            fit_many(model, X, self.LABELS, workers=2)

    def test_shared_rows_fit_like_the_model_alone(self):
        model = quick(warm_start=True)
        rows = SharedRows(model, X)
        for labels, seed in zip(self.LABELS, [5, 6, 7], strict=True):
            run, alone = rows.fit(labels, random_state=seed), quick(random_state=seed).fit(X, labels)
            np.testing.assert_array_equal(run.transduction_proba_, alone.transduction_proba_)
            assert run.spectrum_ is rows.prepared.spectrum
            assert run.timings_["training"] > rows.prepared.seconds["training"]
        assert not hasattr(model, "classes_")

    def test_errors_come_before_the_work(self):
        assert fit_many(quick(), X, []) == []
        with pytest.raises(ParameterError, match=r"one entry for each of the 3 runs\. Got 2"):
            fit_many(quick(), X, self.LABELS, random_states=[1, 2])
        with pytest.raises(ParameterError, match="workers must be a whole number"):
            fit_many(quick(), X, self.LABELS, workers=0)
        with pytest.raises(DataError, match="NaN"):
            fit_many(quick(), X * np.nan, self.LABELS)


class TestWarmStart:
    def test_a_second_fit_keeps_the_spectrum_and_goes_on(self):
        model = quick(sigma="auto", epochs=100, warm_start=True).fit(X, FEW)
        first, spectrum = model.loss_curve_, model.spectrum_
        more = FEW.copy()
        more[[1, 2, 3]] = TRUTH[[1, 2, 3]]
        model.fit(X.copy(), more)
        assert model.spectrum_ is spectrum
        assert model.n_iter_ == 20
        assert model.timings_["spectrum"] == 0
        assert np.mean(model.loss_curve_[:5]) < 0.5 * np.mean(first[:5])
        np.testing.assert_array_equal(model.predict(X), model.transduction_)
        assert np.mean(model.transduction_ == TRUTH) > 0.9

    def test_the_second_fit_begins_at_the_weights_of_the_first(self):
        model = quick(warm_start=True).fit(X, FEW)
        before = [p.detach().clone() for p in model.network_.parameters()]
        model.set_params(epochs=1, learning_rate=1e-12).fit(X, FEW)
        for old, new in zip(before, model.network_.parameters(), strict=True):
            torch.testing.assert_close(old, new.detach(), rtol=0, atol=1e-6)

    def test_a_new_class_joins_those_that_are_known(self):
        two = np.where(FEW == 1, -1, FEW)
        model = quick(warm_start=True, epochs=100).fit(X, two)
        known = model.network_.layers[-1].weights.detach().clone()
        hidden = model.network_.layers[0].weights.detach().clone()
        model.set_params(epochs=1, learning_rate=1e-12).fit(X, FEW)
        assert model.classes_.tolist() == [0, 1, 2]
        torch.testing.assert_close(model.network_.layers[0].weights.detach(), hidden, rtol=0, atol=1e-6)
        last = model.network_.layers[-1].weights.detach()
        torch.testing.assert_close(last[..., [0, 2]], known, rtol=0, atol=1e-6)

    @pytest.mark.parametrize(
        "change", [{"sigma": 3.0}, {"rank": 5}, {"scaling": "centre"}, {"filters": "low-rank"}], ids=str
    )
    def test_other_settings_or_rows_begin_anew(self, change):
        model = quick(warm_start=True).fit(X, FEW)
        model.set_params(**change).fit(X, FEW)
        assert model.loss_curve_ == quick(**change).fit(X, FEW).loss_curve_
        model.fit(X + [[0, 0, 1e-3]] * np.arange(120)[:, None], FEW)
        assert model.n_iter_ == 25

    def test_other_widths_keep_the_spectrum_alone(self):
        model = quick(warm_start=True).fit(X, FEW)
        spectrum = model.spectrum_
        model.set_params(hidden=7).fit(X, FEW)
        assert model.spectrum_ is spectrum
        assert model.network_.layers[0].weights.shape == (3, 3, 7)

    def test_without_it_every_fit_is_the_first(self):
        model = quick().fit(X, FEW)
        first = model.loss_curve_
        assert model.fit(X, FEW).loss_curve_ == first
        assert not hasattr(model, "_kept")

    def test_tables(self):
        frame, labels = table()
        model = quick("categorical", warm_start=True).fit(frame, labels)
        spectrum = model.spectrum_
        assert model.fit(frame.copy(), labels).spectrum_ is spectrum


class TestEnds:
    def test_patience(self):
        """Held-out labels that are noise: their loss soon rises."""
        rng = np.random.default_rng(0)
        noise = np.where(rng.random(120) < 0.4, rng.integers(0, 3, 120), -1)
        model = quick(epochs=1_000, patience=30, learning_rate=0.05).fit(X, noise)
        assert 30 < model.n_iter_ < 1_000
        assert len(model.loss_curve_) == model.n_iter_
        np.testing.assert_array_equal(model.predict(X), model.transduction_)

    def test_patience_needs_labels_to_hold_out(self):
        one_each = np.full(120, -1)
        for c in range(3):
            one_each[TRUTH.tolist().index(c)] = c
        with pytest.raises(ParameterError, match=r"patience needs labels to hold out.*Got 3 labels"):
            quick(patience=10).fit(X, one_each)
        with pytest.raises(ParameterError, match="held_out must be a number"):
            quick(patience=10, held_out=1.5).fit(X, FEW)

    def test_an_interrupt_gives_the_model_so_far(self, monkeypatch):
        from pinvgcn.nn.training import Labels

        true, calls = Labels.loss, []

        def interrupted(self, scores):
            calls.append(1)
            if len(calls) == 8:
                raise KeyboardInterrupt
            return true(self, scores)

        monkeypatch.setattr(Labels, "loss", interrupted)
        with pytest.warns(TrainingWarning, match="after 7 of 25 epochs"):
            model = quick().fit(X, FEW)
        assert model.n_iter_ == 7
        monkeypatch.undo()
        np.testing.assert_array_equal(
            model.transduction_proba_, quick(epochs=7).fit(X, FEW).transduction_proba_
        )

    def test_a_key_press(self, interrupts):
        """The signal itself, at whatever place in training it comes."""
        timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.warns(TrainingWarning, match="interrupted after .* of 10000000 epochs"):
            model = quick(epochs=10_000_000).fit(X, FEW)
        assert 0 < len(model.loss_curve_) == model.n_iter_
        np.testing.assert_array_equal(model.predict(X), model.transduction_)
        assert np.isfinite(model.transduction_proba_).all()

    def test_patience_on_samples(self):
        model = quick(epochs=2_000, patience=30, learning_rate=0.05, nodes_per_epoch=40).fit(X, FEW)
        assert 30 < model.n_iter_ < 2_000
        assert np.mean(model.transduction_ == TRUTH) > 0.9

    def test_verbose_shows_epochs_loss_and_time(self, capfd):
        loud = quick(verbose=True).fit(X, FEW)
        shown = capfd.readouterr()
        assert shown.out == ""
        assert "25/25" in shown.err
        assert f"loss {loud.loss_curve_[-1]:.4f}" in shown.err
        assert "0:00:00" in shown.err
        assert loud.loss_curve_ == quick().fit(X, FEW).loss_curve_
        assert capfd.readouterr() == ("", "")
