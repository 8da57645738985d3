"""The exact kernel: every digit of every pair."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import gaussian_kernel
from pinvgcn.kernels import ExactKernel


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 6])
def test_near_pairs_in_a_wide_cloud(dimension: int) -> None:
    """|x|² + |y|² − 2x·y would be off by 1e-6 here; every digit must be right."""
    rng = np.random.default_rng(9)
    centres = 1e5 * rng.random((20, dimension))
    points = np.concatenate([centres, centres + 0.5 * rng.normal(size=centres.shape) / np.sqrt(dimension)])
    truth = gaussian_kernel(points, points, 1.0)
    found = ExactKernel(points, 1.0).matrix(points)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9)  # coordinates have 1e-11 themselves
    assert (np.diag(found) == 1).all()
    far = truth < 1e-100
    assert far.any()
    assert found[far].max() < 1e-99


@pytest.mark.parametrize("entries", [1, 57 * 10, 10**6])
def test_blocks_of_any_size(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = np.random.default_rng(10).normal(size=(2, 57, 4))
    monkeypatch.setattr("pinvgcn.kernels.exact.BLOCK_ENTRIES", entries)
    truth = gaussian_kernel(points, points, 1.0) @ weights
    np.testing.assert_allclose(
        ExactKernel(points, 1.0).product(points, weights), truth, rtol=1e-12, atol=1e-13
    )


def test_columns_of_some_sources() -> None:
    points = np.random.default_rng(11).normal(size=(30, 3))
    kernel = ExactKernel(points, 1.0)
    np.testing.assert_array_equal(kernel.matrix(points[:4], slice(7, 19)), kernel.matrix(points[:4])[:, 7:19])
