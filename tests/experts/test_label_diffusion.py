"""Diffusion of labels over the nearest rows: against a dense inverse."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinvgcn.experts.diffusion
from pinvgcn.experts import Diffusion, NeighbourGraph, RowLabels, Seen
from pinvgcn.experts.diffusion import DOUBT, ON, THIN
from pinvgcn.graphs.distinct import distinct_rows, row_hashes

RNG = np.random.default_rng(0)
N, K = 90, 5
CLASS = np.arange(N) % 3
ROWS = (RNG.normal(size=(N, 3)) + 1.5 * np.eye(3)[CLASS]).astype(np.float32)
# rows that come several times, some of them with values that many share
TABLE = np.hstack([RNG.integers(0, 2, (N, 4)), np.round(ROWS[:, :1], 1)]).astype(np.float32)
TABLE[60:] = TABLE[:30]
DATA = {"numbers": ROWS, "table": TABLE}
FEW = np.where(np.arange(N) < 24, CLASS, -1)


def graph_of(rows: np.ndarray, neighbours: int = K) -> NeighbourGraph | None:
    matrix = sp.csr_array(rows.astype(np.float64))
    first, _, counts = distinct_rows(matrix)
    return NeighbourGraph.of(matrix[first], counts, row_hashes(matrix[first]), neighbours)


def distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return ((X[:, None].astype(float) - Y[None]) ** 2).sum(axis=2)


def dense_weights(anchors: np.ndarray, k: int) -> np.ndarray:
    """W, pair by pair."""
    squares = distances(anchors, anchors)
    np.fill_diagonal(squares, np.inf)
    near = np.argsort(squares, axis=1, kind="stable")[:, :k]
    rho = np.sqrt(squares[np.arange(len(anchors)), near[:, -1]])
    W = np.zeros_like(squares)
    for i in range(len(anchors)):
        for j in near[i]:
            W[i, j] = W[j, i] = max(np.exp(-squares[i, j] / (rho[i] * rho[j])), THIN)
    return W


def dense_means(X: np.ndarray, anchors: np.ndarray, k: int) -> np.ndarray:
    """From rows to anchors: an anchor to itself, another row to the k nearest."""
    P = np.zeros((len(X), len(anchors)))
    for i, squares in enumerate(distances(X, anchors)):
        near = np.argsort(squares, kind="stable")
        if squares[near[0]] == 0:
            P[i, near[0]] = 1
        else:
            P[i, near[:k]] = 1 / k
    return P


def dense_logs(rows: np.ndarray, anchors: np.ndarray, k: int, labels: RowLabels) -> np.ndarray:
    W, P = dense_weights(anchors, k), dense_means(rows, anchors, k)
    Y = np.zeros((len(rows), len(labels.classes)))
    Y[labels.rows, labels.codes] = 1 if labels.weights is None else labels.weights
    F = np.linalg.inv(np.diag(W.sum(axis=1)) - ON * W) @ P.T @ Y
    return P @ np.log(F / F.mean(axis=0) + DOUBT)


def seen(X) -> Seen:
    return Seen(None, None, X)


def spread(graph: NeighbourGraph, rows: np.ndarray, *labels: RowLabels) -> Diffusion:
    """From the rows of all labels."""
    known = np.unique(np.concatenate([own.rows for own in labels]))
    return graph.diffusion(sp.csr_array(rows[known]), known, labels)


@pytest.mark.parametrize("data", DATA)
def test_the_inverse(data):
    """Two members, one of which has fewer labels; with weights."""
    rows = DATA[data]
    graph = graph_of(rows)
    weights = RNG.uniform(0.5, 2, N)
    labels = [
        RowLabels.of(FEW, N),
        RowLabels.of(np.where(np.arange(N) < 15, FEW, -1), N),
        RowLabels.of(FEW, N, sample_weight=weights),
    ]
    np.testing.assert_allclose(graph.weights.toarray(), dense_weights(graph.anchors, K), rtol=1e-6)
    for form in (np.asarray, sp.csr_array):
        found = spread(graph, rows, *labels).opinions(seen(form(rows)))
        for own, some in zip(found, labels, strict=True):
            np.testing.assert_allclose(own, dense_logs(rows, graph.anchors, K, some), atol=1e-5)


def test_more_rows_than_anchors(monkeypatch):
    """The rows with the smallest hashes are anchors; the labels of others count at those nearest to them."""
    monkeypatch.setattr(pinvgcn.experts.diffusion, "ANCHORS", 40)
    graph = graph_of(ROWS)
    hashes = row_hashes(sp.csr_array(ROWS.astype(np.float64)))
    np.testing.assert_array_equal(graph.anchors, ROWS[np.sort(np.argsort(hashes)[:40])])
    labels = RowLabels.of(FEW, N)
    assert not np.isin(hashes[labels.rows], np.sort(hashes)[:40]).all()
    (found,) = spread(graph, ROWS, labels).opinions(seen(ROWS))
    np.testing.assert_allclose(found, dense_logs(ROWS, graph.anchors, K, labels), atol=1e-5)


@pytest.mark.parametrize("anchors", [40, 4_096])
@pytest.mark.parametrize("data", DATA)
def test_no_order_of_rows_enters(data, anchors, monkeypatch):
    monkeypatch.setattr(pinvgcn.experts.diffusion, "ANCHORS", anchors)
    rows = DATA[data] + 1e-3 * RNG.normal(size=DATA[data].shape).astype(np.float32)  # without equal distances
    order = RNG.permutation(N)
    found = []
    for own in (np.arange(N), order):
        graph = graph_of(rows[own])
        (said,) = spread(graph, rows[own], RowLabels.of(FEW[own], N)).opinions(seen(rows[own]))
        found.append(said)
    np.testing.assert_allclose(found[1], found[0][order], atol=1e-6)


def test_a_row_far_from_all():
    """As an anchor it is joined to some; as another row it has the mean of the nearest."""
    rows = np.vstack([ROWS, np.full((1, 3), 1e4, dtype=np.float32)])
    graph = graph_of(rows)
    assert graph.weights[[-1]].toarray().max() >= THIN
    labels = RowLabels.of(np.append(FEW, -1), N + 1)
    diffusion = spread(graph, rows, labels)
    for X in (rows, -rows):
        (found,) = diffusion.opinions(seen(X))
        assert np.isfinite(found).all()
    expected = dense_logs(rows, graph.anchors, K, labels)
    (found,) = diffusion.opinions(seen(rows))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    near = np.argsort(distances(-rows[-1:], graph.anchors)[0], kind="stable")[:K]
    (found,) = diffusion.opinions(seen(-rows[-1:]))
    np.testing.assert_allclose(found[0], expected[near].mean(axis=0), atol=1e-5)


def test_rows_that_are_equal_in_single_precision():
    rows = np.vstack([ROWS[:20].astype(np.float64), ROWS[:20] * (1 + 1e-12)])
    matrix = sp.csr_array(rows)
    graph = NeighbourGraph.of(matrix, np.ones(40), row_hashes(matrix), 1)
    assert np.isfinite(graph.weights.data).all()
    labels = RowLabels.of(np.where(np.arange(40) < 9, np.arange(40) % 3, -1), 40)
    (found,) = spread(graph, rows, labels).opinions(seen(rows))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[:20], found[20:])


def test_few_rows():
    """One is no graph; of fewer than k all are joined."""
    assert graph_of(np.ones((5, 2))) is None
    graph = graph_of(np.eye(3), 10)
    assert graph.neighbours == 2
    labels = RowLabels.of([0, 1, -1], 3)
    (found,) = spread(graph, np.eye(3), labels).opinions(seen(np.eye(3)))
    assert found[2, 0] == pytest.approx(found[2, 1])
    assert found[0, 0] > found[0, 1]


def test_a_class_whose_labels_reach_nothing_else():
    """Two pieces: in that without labels all classes are alike."""
    rows = np.vstack([ROWS[:12], ROWS[:12] + 1e3]).astype(np.float32)
    graph = graph_of(rows, 3)
    labels = RowLabels.of(np.append(np.arange(12) % 2, np.full(12, -1)), 24)
    (found,) = spread(graph, rows, labels).opinions(seen(rows))
    np.testing.assert_allclose(found[12:], np.log(DOUBT), atol=1e-6)


class TestState:
    LABELS = RowLabels.of(FEW, N)

    def test_it_gives_it_back(self):
        diffusion = spread(graph_of(TABLE), TABLE, self.LABELS)
        again = Diffusion.from_state(diffusion.state())
        np.testing.assert_array_equal(again.anchors, diffusion.anchors)
        assert again.anchors.dtype == np.float32
        for X in (TABLE, ROWS[:, [0, 1, 2, 0, 1]]):
            np.testing.assert_array_equal(
                next(iter(again.opinions(seen(X)))), next(iter(diffusion.opinions(seen(X))))
            )
        assert Diffusion.from_state({"linear.slopes": np.ones(3)}) is None

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("columns", lambda a: a + 5),
            ("columns", lambda a: a - 5),
            ("columns", lambda a: a[:-1]),
            ("values", lambda a: a[:-1]),
            ("starts", lambda a: a[::-1]),
            ("starts", lambda a: np.append(a[:-1], -1)),
            ("starts", lambda a: np.append(a[:-1], 0)),
            ("starts", lambda a: a.astype(np.uint32)[::-1]),
            ("starts", lambda a: a[:-1]),
            ("sizes", lambda a: a * [0, 1]),
            ("sizes", lambda a: a * [-1, 1]),
            ("sizes", lambda a: a * [1_000, 1]),
            ("sizes", lambda a: a[:1]),
            ("logs", lambda a: a[:, 1:]),
        ],
    )
    def test_what_leads_nowhere_is_refused(self, name, change):
        arrays = spread(graph_of(TABLE), TABLE, self.LABELS).state()
        with pytest.raises(ValueError):
            Diffusion.from_state(arrays | {f"diffusion.{name}": change(arrays[f"diffusion.{name}"])})
