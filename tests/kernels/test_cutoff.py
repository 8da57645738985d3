"""The kernel cut off: the pairs that see each other, and how many they are."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import gaussian_kernel
from pinvgcn.kernels import CutoffKernel


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("sigma", [0.03, 0.2, 3.0])
@pytest.mark.parametrize("precision", [1e-4, 1e-13])
def test_it_is_the_kernel_where_that_is_above_its_precision(
    dimension: int, sigma: float, precision: float
) -> None:
    points, new = cloud(300, dimension), cloud(40, dimension, seed=1) * 1.4
    kernel = CutoffKernel(points, sigma, precision)
    for at, found in (
        (points, kernel.matrix.toarray()),
        (new, kernel.evaluate(new, np.eye(300), 300)),
    ):
        truth = gaussian_kernel(at, points, sigma)
        seen = truth > precision * (1 + 1e-9)
        np.testing.assert_allclose(found[seen], truth[seen], rtol=1e-11)
        np.testing.assert_array_equal(found[truth < precision * (1 - 1e-9)], 0)
    assert kernel.matrix.nnz == np.count_nonzero(kernel.matrix.toarray())


def test_copies_of_a_point_see_each_other() -> None:
    """A distance of 0 is a weight of 1, not an entry that a sparse matrix leaves out."""
    points = np.repeat(cloud(20, 3), 5, axis=0)
    kernel = CutoffKernel(points, 0.05, 1e-13)
    found = kernel.matrix.toarray()
    np.testing.assert_allclose(found, gaussian_kernel(points, points, 0.05), rtol=0, atol=1e-13)
    assert (np.diag(found) == 1).all()
    assert (found[:5, :5] == 1).all()
    assert (kernel.evaluate(points[:1].copy(), np.ones((100, 1)), 1) >= 5).all()


@pytest.mark.parametrize(
    ("n", "dimension", "sigma"),
    [
        (300, 1, 0.02),
        (300, 3, 0.05),
        (4_000, 1, 0.01),
        (4_000, 2, 0.02),
        (1_000, 2, 0.3),
        (4_000, 3, 0.05),
        (900, 3, 1.0),
    ],
)
def test_pairs_are_counted_within_a_factor_of_two(n: int, dimension: int, sigma: float) -> None:
    points = cloud(n, dimension)
    found = CutoffKernel(points, sigma, 1e-13).matrix.nnz
    assert 0.5 < CutoffKernel.count_pairs(points, sigma, 1e-13) / found < 2


@pytest.mark.parametrize("n", [2, 700])
def test_a_point_always_sees_itself(n: int) -> None:
    points = cloud(n, 3)
    assert CutoffKernel.count_pairs(points, 1e-9, 1e-13) == n
    assert CutoffKernel.count_pairs(np.zeros((n, 3)), 1.0, 1e-13) == pytest.approx(n * n, rel=0.5)


@pytest.mark.parametrize("sigma", [1e-300, 1e-160])
def test_a_sigma_whose_square_is_no_number(sigma: float) -> None:
    points = np.vstack([cloud(30, 2), cloud(1, 2)])  # the first point twice
    kernel = CutoffKernel(points, sigma, 1e-13)
    expected = np.eye(31)
    expected[0, 30] = expected[30, 0] = 1
    np.testing.assert_array_equal(kernel.product(points, np.eye(31)), expected)


def test_map_coordinates_do_not_move_the_edge() -> None:
    points = 20 * cloud(400, 3)
    there = points + np.array([5e5, 5e6, 100])
    here = there - np.array([5e5, 5e6, 100])  # rounded as those are
    one, two = (CutoffKernel(where, 1.0, 1e-13).matrix.toarray() for where in (here, there))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)


def test_own_nodes_and_copies_of_them_give_the_same() -> None:
    points, weights = cloud(500, 2), cloud(500, 3, seed=1)
    kernel = CutoffKernel(points, 0.05, 1e-13)
    np.testing.assert_allclose(
        kernel.evaluate(points.copy(), weights, 3), kernel.product(points, weights), rtol=1e-13
    )
