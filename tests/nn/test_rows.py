"""Matrices with a row a node: a sparse one that is fairly full becomes dense, and multiplies alike."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn.nn.rows import MANY, DenseRows, SparseRows, rows_of


@pytest.mark.parametrize(
    ("n", "density", "kind"),
    [(MANY + 1, 0.5, DenseRows), (MANY + 1, 0.05, SparseRows), (MANY, 0.5, SparseRows)],
)
def test_full_matrices_of_many_rows_become_dense(n, density, kind):
    A = sp.random_array((n, 6), density=density, format="csr", rng=0)
    like = torch.empty(0, dtype=torch.float64)
    rows, exact = rows_of(A, like), SparseRows(A, like)
    assert type(rows) is kind
    nodes = torch.tensor([5, 0, n - 1])
    np.testing.assert_array_equal(rows.take(nodes).dense(torch.arange(3)), exact.dense(nodes))
    theta = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    some = slice(0, 16_384)  # the first chunk
    got, want = torch.zeros(16_384, 4, dtype=torch.float64), A[some] @ theta.numpy()
    rows.times(0, theta, got)
    np.testing.assert_allclose(got, want, atol=1e-12)
    sums = torch.empty(6, 4, dtype=torch.float64)
    rows.adjoint(0, got, sums)
    np.testing.assert_allclose(sums, A[some].T @ want, rtol=1e-10)
