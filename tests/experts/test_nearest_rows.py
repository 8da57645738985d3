"""The nearest anchors of rows: against all exact distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pinvgcn.experts.diffusion
from pinvgcn.experts.diffusion import nearest

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(150, 4)).astype(np.float32)
# many equal distances, of which the first anchors count
BITS = np.unique(RNG.integers(0, 2, (150, 6)), axis=0).astype(np.float32)
FAR = NUMBERS + np.float32(30)  # from the origin: products round more than distances differ
DATA = {"numbers": NUMBERS, "bits": BITS, "far": FAR}


def by_force(X: np.ndarray, anchors: np.ndarray, k: int, itself: bool) -> tuple[np.ndarray, np.ndarray]:
    squares = ((X[:, None].astype(np.float64) - anchors[None]) ** 2).sum(axis=2)
    if not itself:
        np.fill_diagonal(squares, np.inf)
    found = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return found, np.take_along_axis(squares, found, axis=1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("itself", [True, False])
@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("data", DATA)
def test_all_distances(data, k, itself, form, monkeypatch):
    monkeypatch.setattr(pinvgcn.experts.diffusion, "CHUNK", 32)  # several chunks
    rows = DATA[data]
    anchors = rows[::2] if itself else rows
    found, squares = nearest(form(rows), anchors, k, itself=itself)
    expected, distances = by_force(rows, anchors, k, itself)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(squares, distances, rtol=1e-12)
    if itself:
        np.testing.assert_array_equal(found[::2, 0], np.arange(len(anchors)))
        assert (squares[::2, 0] == 0).all()
    else:
        assert (found != np.arange(len(rows))[:, None]).all()


@pytest.mark.parametrize("itself", [True, False])
def test_all_anchors_are_asked_for(itself):
    """As many as there are, but for the row itself."""
    rows = NUMBERS[:6]
    k = 6 if itself else 5
    found, _ = nearest(rows, rows, k, itself=itself)
    expected, _ = by_force(rows, rows, k, itself)
    np.testing.assert_array_equal(found, expected)


def test_equal_anchors_come_by_number():
    anchors = np.zeros((30, 2), dtype=np.float32)
    found, squares = nearest(np.zeros((2, 2)), anchors, 4, itself=True)
    np.testing.assert_array_equal(found, [[0, 1, 2, 3]] * 2)
    assert (squares == 0).all()
    others, _ = nearest(anchors, anchors, 3, itself=False)
    np.testing.assert_array_equal(others[:4], [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])


def test_no_rows():
    found, squares = nearest(sp.csr_array((0, 4)), NUMBERS, 3, itself=True)
    assert found.shape == squares.shape == (0, 3)
