"""Graph diffusion against the matrix that it approximates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn.nn.baselines import networks
from pinvgcn.nn.baselines.networks import diffusion

numba = pytest.importorskip("numba", reason="numba is not installed")
ALPHA = 0.05


def random_graph(n: int, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 6 / n, 1)
    A[np.arange(n - 1), np.arange(1, n)] = True
    return sp.csr_array((A | A.T).astype(float))


def exact(A: sp.csr_array) -> np.ndarray:
    """α (I − (1 − α) T)⁻¹"""
    loops = A.toarray() + np.eye(A.shape[0])
    scale = loops.sum(axis=1) ** -0.5
    T = scale[:, None] * loops * scale
    return ALPHA * np.linalg.inv(np.eye(len(T)) - (1 - ALPHA) * T)


def test_all_entries() -> None:
    A = random_graph(60)
    P = exact(A)
    S = diffusion(A, top=60, epsilon=1e-10).toarray()
    np.testing.assert_allclose(S, P / P.sum(axis=1, keepdims=True), atol=1e-8)


def test_the_largest_entries_as_pytorch_geometric_takes_them() -> None:
    transforms = pytest.importorskip("torch_geometric.transforms", reason="torch_geometric is not installed")
    from torch_geometric.data import Data

    A = random_graph(60, seed=2)
    coo = A.tocoo()
    edges = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    theirs = transforms.GDC(
        diffusion_kwargs={"method": "ppr", "alpha": ALPHA},
        sparsification_kwargs={"method": "topk", "k": 8, "dim": 0},
        exact=True,
    )(Data(edge_index=edges, num_nodes=60))
    # they store edges from source to target, and normalise what a target receives
    dense = np.zeros((60, 60))
    dense[theirs.edge_index[1], theirs.edge_index[0]] = theirs.edge_attr
    np.testing.assert_allclose(diffusion(A, top=8, epsilon=1e-10).toarray(), dense, atol=1e-5)


def test_what_still_waits_is_small() -> None:
    """p + (mass waiting) spread out = the exact row, so each entry is short by at most what waits."""
    A = random_graph(200, seed=1)
    n, epsilon = 200, 1e-3
    loops = sp.csr_array(A + sp.eye_array(n))
    sizes = np.diff(loops.indptr)
    index, value = np.full((n, n), -1, dtype=np.int32), np.zeros((n, n))
    networks._push(
        loops.indptr.astype(np.int64),
        loops.indices.astype(np.int32),
        0,
        n,
        ALPHA,
        ALPHA * epsilon,
        index,
        value,
    )
    assert (np.diff(value, axis=1) <= 0).all()  # the largest first
    P = np.zeros((n, n))
    row = np.repeat(np.arange(n), n).reshape(n, n)
    P[row[index >= 0], index[index >= 0]] = value[index >= 0]
    walk = P * np.sqrt(sizes[None, :] / sizes[:, None])
    M = np.linalg.inv(np.eye(n) - (1 - ALPHA) * loops.toarray() / sizes[:, None])
    waiting = ALPHA * np.eye(n) - walk @ np.linalg.inv(M)
    assert waiting.min() > -1e-12
    assert (waiting < ALPHA * epsilon * sizes[None, :]).all()
    assert waiting.max() > 0  # it did stop early


def test_edge_weights_are_disregarded_and_rows_sum_to_one() -> None:
    A = random_graph(50)
    S = diffusion(A, top=5)
    np.testing.assert_array_equal(diffusion(A * 3.5, top=5).toarray(), S.toarray())
    np.testing.assert_allclose(S.sum(axis=1), 1)
    np.testing.assert_array_equal(np.diff(S.indptr), 5)
