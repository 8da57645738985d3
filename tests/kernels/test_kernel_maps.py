"""Every kernel map against the kernel itself, written out."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from oracles import gaussian_kernel
from pinvgcn.kernels import ExactKernel, FourierKernel, Kernel, TaylorKernel, kernel_from_state

EXTENT = np.array([2.0, 0.5, 1.0])


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    """Points in a box whose sides are not equal, its corners among them."""
    points = np.random.default_rng(seed).random((n, dimension))
    points[0], points[1] = 0, 1
    return points * EXTENT[:dimension]


def values(kernel: Kernel, at: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """All k(x, x_j), by gathering one source a column."""
    return kernel.evaluate(at, kernel.gather(sources, np.eye(len(sources))), len(sources))


Make = Callable[[np.ndarray, float], Kernel]
MAPS: dict[str, Make] = {
    "exact": ExactKernel,
    "fourier": lambda points, sigma: FourierKernel.over(points, sigma, 1e-12),
    "fourier-6": lambda points, sigma: FourierKernel.over(points, sigma, 1e-6),
    "taylor": lambda points, sigma: TaylorKernel.over(points, sigma, 1e-11),
}
every_map = pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.4, 1.5, 30.0])
@pytest.mark.parametrize("precision", [1e-3, 1e-6, 1e-9, 1e-12])
def test_fourier_keeps_its_precision_inside_and_in_the_margin(
    dimension: int, sigma: float, precision: float
) -> None:
    sources = cloud(15, dimension)
    kernel = FourierKernel.over(sources, sigma, precision)
    np.testing.assert_allclose(
        values(kernel, sources, sources), gaussian_kernel(sources, sources, sigma), rtol=0, atol=3 * precision
    )
    rng = np.random.default_rng(1)
    around = EXTENT[:dimension] / 2 + rng.choice([-1, 1], (30, dimension)) * (
        EXTENT[:dimension] / 2 + kernel.margin * rng.random((30, dimension))
    )
    around[0] = EXTENT[:dimension] + 0.999 * kernel.margin
    assert kernel.inside(around).all()
    # beyond the box every repetition of the kernel adds its own ε
    np.testing.assert_allclose(
        values(kernel, around, sources),
        gaussian_kernel(around, sources, sigma),
        rtol=0,
        atol=3 * 2**dimension * precision,
    )
    outside = EXTENT[:dimension] + 1.01 * kernel.margin
    assert not kernel.inside(outside[None]).any()


def test_fourier_precision_buys_accuracy() -> None:
    """Not the same error at every setting: the option does something."""
    sources = cloud(50, 2)
    truth = gaussian_kernel(sources, sources, 0.5)
    errors = [
        np.abs(values(FourierKernel.over(sources, 0.5, precision), sources, sources) - truth).max()
        for precision in (1e-3, 1e-6, 1e-9)
    ]
    assert errors[0] > 100 * errors[1] > 10_000 * errors[2]


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize(("sigma", "precision"), [(2.5, 1e-6), (2.5, 1e-11), (8.0, 1e-11), (1e4, 1e-11)])
def test_taylor_keeps_its_precision_in_the_ball(dimension: int, sigma: float, precision: float) -> None:
    rng = np.random.default_rng(0)
    sources = rng.random((40, dimension))
    kernel = TaylorKernel.over(sources, sigma, precision)
    assert kernel.precision <= precision
    bound = kernel.precision * (1 + 1e-6) + 1e-14  # attained at the edge of the ball, but for rounding
    np.testing.assert_allclose(
        values(kernel, sources, sources), gaussian_kernel(sources, sources, sigma), rtol=0, atol=bound
    )
    assert kernel.n_features == TaylorKernel.size(kernel.radius, dimension, sigma, precision)
    assert kernel.n_features == kernel.gather(sources, np.ones((40, 1))).shape[0]


@pytest.mark.parametrize("dimension", [1, 3])
def test_taylor_knows_where_it_ends(dimension: int) -> None:
    rng = np.random.default_rng(2)
    sources = rng.random((50, dimension))
    kernel = TaylorKernel.over(sources, 1.5, 1e-11)
    around = rng.normal(scale=3, size=(500, dimension))
    inside = kernel.inside(around)
    assert 20 < inside.sum() < 480
    assert kernel.inside(sources).all()
    truth = gaussian_kernel(around, sources, 1.5)
    error = np.abs(values(kernel, around, sources) - truth)
    distance = np.linalg.norm(around - kernel.centre, axis=1) - kernel.radius
    largest = np.exp(-((np.maximum(distance, 0) / 1.5) ** 2))  # what a point at the edge would give
    assert (error.max(axis=1) <= 1e-4 * largest)[inside].all()
    wrong = error.sum(axis=1) / truth.sum(axis=1)  # of a degree
    assert wrong[inside].max() < 1e-3
    assert wrong[~inside].max() > 5e-3  # what is refused would indeed be wrong


@every_map
@pytest.mark.parametrize("columns", [1, 2, 7, 35])
def test_product_sums_over_all_pairs(make: Make, columns: int) -> None:
    points = cloud(60, 3)
    weights = np.random.default_rng(3).normal(size=(60, columns))
    kernel = make(points, 2.5)
    np.testing.assert_allclose(
        kernel.product(points, weights),
        gaussian_kernel(points, points, 2.5) @ weights,
        rtol=0,
        atol=60 * 5 * max(kernel.precision, 1e-14),
    )


@every_map
def test_products_are_linear_and_symmetric(make: Make) -> None:
    points = cloud(80, 2)
    kernel = make(points, 2.0)
    v, w = np.random.default_rng(4).normal(size=(2, 80, 3))
    scale = 80**2 * 1e-15  # rounding only: an approximate kernel is a linear, symmetric map too
    np.testing.assert_allclose(
        kernel.product(points, 2 * v - 3 * w),
        2 * kernel.product(points, v) - 3 * kernel.product(points, w),
        rtol=0,
        atol=1e3 * max(kernel.precision * 0.1, scale),
    )
    one_way, other_way = v.T @ kernel.product(points, w), kernel.product(points, v).T @ w
    np.testing.assert_allclose(one_way, other_way, rtol=0, atol=1e4 * max(kernel.precision * 0.1, scale))


@every_map
def test_one_point_at_a_time_or_all_at_once(make: Make) -> None:
    points = cloud(70, 3)
    kernel = make(points, 2.0)
    sums = kernel.gather(points, np.random.default_rng(5).normal(size=(70, 5)))
    together = kernel.evaluate(points, sums, 5)
    alone = np.vstack([kernel.evaluate(point[None], sums, 5) for point in points[:12]])
    np.testing.assert_allclose(alone, together[:12], rtol=0, atol=1e-12)


@every_map
def test_same_bits_again(make: Make) -> None:
    points = cloud(500, 3)
    weights = np.random.default_rng(6).normal(size=(500, 9))
    first, second = (make(points, 2.0).product(points, weights) for _ in range(2))
    assert first.tobytes() == second.tobytes()


@every_map
def test_state_through_json_evaluates_to_the_same_bits(make: Make) -> None:
    points = cloud(50, 3)
    kernel = make(points, 2.0)
    numbers, arrays = kernel.state()
    again = kernel_from_state(kernel.kind, json.loads(json.dumps(numbers)), arrays)
    assert type(again) is type(kernel)
    assert again.precision == kernel.precision
    assert again.dimension == kernel.dimension == 3
    sums = kernel.gather(points, np.random.default_rng(7).normal(size=(50, 3)))
    assert again.evaluate(points, sums, 3).tobytes() == kernel.evaluate(points, sums, 3).tobytes()


@every_map
def test_map_coordinates_lose_nothing(make: Make) -> None:
    points = cloud(60, 3) + np.array([1e7, -5e6, 3e3])
    kernel = make(points, 1.5)
    weights = np.random.default_rng(8).normal(size=(60, 2))
    np.testing.assert_allclose(
        kernel.product(points, weights),
        gaussian_kernel(points, points, 1.5) @ weights,  # of the rounded coordinates, by differences
        rtol=0,
        atol=60 * 5 * max(kernel.precision, 1e-14),
    )


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 6])
def test_exact_kernel_of_near_pairs_in_a_wide_cloud(dimension: int) -> None:
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


def test_exact_kernel_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud(57, 3)
    weights = np.random.default_rng(10).normal(size=(57, 4))
    whole = ExactKernel(points, 1.0).product(points, weights)
    monkeypatch.setattr("pinvgcn.kernels.exact.BLOCK_ENTRIES", 57 * 10)
    np.testing.assert_allclose(ExactKernel(points, 1.0).product(points, weights), whole, rtol=1e-13)
    monkeypatch.setattr("pinvgcn.kernels.exact.BLOCK_ENTRIES", 1)
    np.testing.assert_allclose(ExactKernel(points, 1.0).product(points, weights), whole, rtol=1e-13)


def test_taylor_kernel_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud(700, 2)
    weights = np.random.default_rng(11).normal(size=(700, 4))
    whole = TaylorKernel.over(points, 3.0, 1e-11).product(points, weights)
    monkeypatch.setattr("pinvgcn.kernels.taylor.CHUNK_ENTRIES", 1)  # the smallest chunk has 256 nodes
    kernel = TaylorKernel.over(points, 3.0, 1e-11)
    assert len(list(kernel.chunks(700))) == 3
    np.testing.assert_allclose(kernel.product(points, weights), whole, rtol=0, atol=1e-11)


def test_flat_clouds_have_features_too() -> None:
    """An axis without extent, or no extent at all."""
    line = np.outer(np.linspace(0, 4, 30), [1, 0, 0]) + 7
    for points in (line, np.full((5, 3), 2.5)):
        truth = gaussian_kernel(points, points, 3.0)
        for make in MAPS.values():
            kernel = make(points, 3.0)
            np.testing.assert_allclose(
                values(kernel, points, points), truth, rtol=0, atol=3 * max(kernel.precision, 1e-14)
            )


def test_sizes_that_no_machine_holds_are_told_not_tried() -> None:
    assert FourierKernel.size(np.full(3, 1e3), 1e-3, 1e-12) > 1e19
    assert FourierKernel.size(np.full(3, 1e100), 1e-200, 1e-12) == np.inf
    assert TaylorKernel.size(1e3, 3, 1.0, 1e-11) > 1e8
