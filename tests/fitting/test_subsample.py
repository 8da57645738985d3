"""Of a large table, a subsample of the distinct rows stands for all where a graph is made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.distributed.group import ALONE
from pinvgcn.experts import diffusion
from pinvgcn.experts.labels import RowLabels
from pinvgcn.fitting import prepared as subsample
from pinvgcn.fitting.prepared import RowSubsample
from pinvgcn.graphs.distinct import distinct_rows, row_hashes
from pinvgcn.repeated_fits import SharedRows
from pinvgcn.tables import classify
from pinvgcn.tables.classify import subsample_notes

RNG = np.random.default_rng(3)
N, MOST = 240, 70
TRUTH = RNG.integers(0, 2, N)
TABLE = pd.DataFrame(
    {
        "a": np.take(list("uvw"), (TRUTH + RNG.integers(0, 2, N)) % 3),
        "b": np.take(list("xyz"), RNG.integers(0, 3, N)),
        "size": np.round(TRUTH + RNG.normal(size=N), 1),
    }
)
TABLE.loc[[5, 6], "b"] = "rare"
LABELS = np.where(np.arange(N) % 6 == 0, TRUTH, -1)


def quick(**settings) -> PinvGCNClassifier:
    return PinvGCNClassifier("categorical", epochs=10, trees=5, random_state=0, **settings)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(subsample, "MOST", MOST)


def test_the_rows_with_the_smallest_hashes(few):
    """Equal rows together, in whatever order they come."""
    rows = RNG.integers(0, 6, (400, 3)).astype(float)
    distinct, hashes = distinct_rows(rows), row_hashes(rows)
    found = RowSubsample.of(distinct, hashes[distinct.first], ALONE)
    limit = np.sort(hashes[distinct.first])[MOST - 1]
    np.testing.assert_array_equal(found.rows, np.flatnonzero(hashes <= limit))
    np.testing.assert_array_equal(
        distinct.first[found.nodes], distinct.first[hashes[distinct.first] <= limit]
    )
    some = distinct_rows(rows[:30])
    assert RowSubsample.of(some, row_hashes(rows[:30])[some.first], ALONE) is None


def test_it_is_told(few, monkeypatch):
    assert subsample_notes(SharedRows(quick(), TABLE[:40]).prepared) == []
    monkeypatch.setattr(classify, "MOST", MOST)
    monkeypatch.setattr(diffusion, "ANCHORS", 50)
    told = f"what learns from some of the {len(TABLE.drop_duplicates())} different rows"
    assert subsample_notes(SharedRows(quick(), TABLE).prepared) == [
        f"{told}: the network (70), the diffusion (50); all are classified"
    ]


def test_the_spectrum_of_some_rows():
    """That of their own hypergraph, by the dense eigenproblem; elsewhere by the extension."""
    H = sp.csr_array(np.eye(4)[RNG.integers(0, 3, 40)])
    H = sp.csr_array(sp.hstack([H, np.eye(5)[RNG.integers(0, 5, 40)]]))
    H = H[:, np.flatnonzero(H.sum(axis=0))]
    graph = Hypergraph(H)
    rows = np.flatnonzero(H[:, [0]].toarray().ravel() == 0)  # the first hyperedge has none of them
    found = graph.spectrum_of(rows)
    A = H[rows][:, np.flatnonzero(H[rows].sum(axis=0))].toarray()
    factor = A / np.sqrt(A.sum(axis=1, keepdims=True) * A.sum(axis=0))
    values = np.linalg.eigvalsh(np.eye(len(rows)) - factor @ factor.T)
    np.testing.assert_allclose(found.values, values[values > 1e-9][: found.rank], atol=1e-10)
    np.testing.assert_allclose(found.extend_basis(H[rows]), found.basis, atol=1e-10)
    assert not found.extension.coefficients[0].any()
    assert found.extend_basis(H).shape == (40, found.basis.shape[1])


class TestFits:
    def test_all_rows_are_classified(self, few, reloaded):
        model = quick().fit(TABLE, LABELS)
        assert MOST <= model.spectrum_.n_nodes < N / 2
        assert model.transduction_.shape == (N,)
        np.testing.assert_allclose(model.predict_proba(TABLE), model.transduction_proba_, atol=1e-12)
        np.testing.assert_array_equal(model.predict_set(TABLE), model.transduction_set())
        assert model.score(TABLE, TRUTH) > 0.7
        copy = reloaded(model)
        np.testing.assert_array_equal(copy.predict_proba(TABLE), model.predict_proba(TABLE))
        assert {c.column for c in model.column_importance(TABLE).columns} == set(TABLE)

    def test_a_subsample_of_all_is_all(self, monkeypatch):
        """One row fewer than there are, against all."""
        distinct = len(TABLE.drop_duplicates())
        monkeypatch.setattr(subsample, "MOST", distinct - 1)
        some = quick().fit(TABLE, LABELS)
        monkeypatch.setattr(subsample, "MOST", distinct)
        whole = quick().fit(TABLE, LABELS)
        assert some.spectrum_.n_nodes == N - 1
        assert np.abs(some.transduction_proba_ - whole.transduction_proba_).max() < 0.2
        assert (some.transduction_ == whole.transduction_).mean() > 0.95

    def test_networks_learn_from_labels_outside_it(self, few):
        """Such rows have their own inputs, and count for nothing in sums."""
        prepared = SharedRows(quick(), TABLE).prepared
        labels = RowLabels.of(LABELS, N)
        found = prepared.training_nodes(labels)
        inside = np.isin(prepared.node_of(labels.rows), prepared.subsample.nodes)
        assert 0 < inside.sum() < len(inside)
        problem = found.problem
        seen = prepared.seen(values=True).at(prepared.node_of(labels.rows))
        F, X = (rows.matrix.toarray()[found.nodes] for rows in problem.first)
        np.testing.assert_allclose(F, seen.basis.F.toarray())
        np.testing.assert_allclose(X, seen.inputs.toarray())
        np.testing.assert_array_equal(problem.weights.numpy()[found.nodes] == 0, ~inside)
        assert float(problem.weights.sum()) == len(prepared.subsample.rows)
        np.testing.assert_allclose(problem.C, prepared.problem.C)

    def test_a_value_that_no_row_of_it_has(self, few):
        prepared = SharedRows(quick(), TABLE).prepared
        absent = prepared.nodes.features[prepared.subsample.rows].sum(axis=0) == 0
        if absent.any():
            assert not prepared.spectrum.extension.coefficients[absent].any()
        model = quick().fit(TABLE, LABELS)
        assert np.isfinite(model.transduction_proba_).all()
