"""Every kernel map against the kernel itself, written out."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from oracles import gaussian_kernel
from pinvgcn.kernels import (
    KERNELS,
    Box,
    CutoffKernel,
    ExactKernel,
    FourierKernel,
    Kernel,
    TaylorKernel,
)

EXTENT = np.array([2.0, 0.5, 1.0])
Make = Callable[[np.ndarray, float], Kernel]
MAPS: dict[str, Make] = {
    "exact": ExactKernel,
    "cutoff": lambda points, sigma: CutoffKernel(points, sigma, 1e-13),
    "fourier": lambda points, sigma: FourierKernel(Box.around(points), sigma, 1e-12),
    "fourier-6": lambda points, sigma: FourierKernel(Box.around(points), sigma, 1e-6),
    "taylor": lambda points, sigma: TaylorKernel(Box.around(points), sigma, 1e-12),
    "taylor-6": lambda points, sigma: TaylorKernel(Box.around(points), sigma, 1e-6),
}
every_map = pytest.mark.parametrize("make", MAPS.values(), ids=MAPS)


def cloud(n: int, dimension: int = 3, seed: int = 0) -> np.ndarray:
    """Points in a box whose sides are not equal, its corners among them."""
    points = np.random.default_rng(seed).random((n, dimension))
    points[0], points[1] = 0, 1
    return points * EXTENT[:dimension]


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(99).normal(size=shape)


def error_of(kernel: Kernel, weights: np.ndarray) -> float:
    """What a sum with these weights may be wrong by: ε for each of them, or rounding."""
    return 5 * max(kernel.precision, 1e-14) * float(np.abs(weights).sum(axis=0).max())


@every_map
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2, 7, 35])
def test_product_sums_over_all_pairs(make: Make, dimension: int, columns: int) -> None:
    points, weights = cloud(60, dimension), noise(60, columns)
    kernel = make(points, 1.3)
    truth = gaussian_kernel(points, points, 1.3) @ weights
    np.testing.assert_allclose(kernel.product(points, weights), truth, rtol=0, atol=error_of(kernel, weights))


@every_map
@pytest.mark.parametrize("columns", [1, 4, 5])
def test_new_points_inside_see_the_nodes_as_the_kernel_says(make: Make, columns: int) -> None:
    points, new, weights = cloud(60), cloud(200, seed=1) * 0.98 + 0.01 * EXTENT, noise(60, columns)
    kernel = make(points, 1.3)
    assert kernel.inside(points).all()
    assert kernel.inside(new).all()
    found = kernel.evaluate(new, kernel.gather(points, weights), columns)
    truth = gaussian_kernel(new, points, 1.3) @ weights
    np.testing.assert_allclose(found, truth, rtol=0, atol=error_of(kernel, weights))


@every_map
def test_products_are_linear_and_symmetric(make: Make) -> None:
    """An approximate kernel is a linear, symmetric map too, as far as its transforms are exact."""
    points = cloud(80, 2)
    kernel = make(points, 2.0)
    v, w = noise(2, 80, 3)
    together = kernel.product(points, 2 * v - 3 * w)
    apart = 2 * kernel.product(points, v) - 3 * kernel.product(points, w)
    np.testing.assert_allclose(together, apart, rtol=0, atol=error_of(kernel, 2 * v - 3 * w))
    one_way, other_way = v.T @ kernel.product(points, w), kernel.product(points, v).T @ w
    np.testing.assert_allclose(one_way, other_way, rtol=0, atol=80 * error_of(kernel, w))


@every_map
def test_one_point_at_a_time_or_all_at_once(make: Make) -> None:
    points = cloud(70)
    kernel = make(points, 2.0)
    sums = kernel.gather(points, noise(70, 5))
    together = kernel.evaluate(points, sums, 5)
    alone = np.vstack([kernel.evaluate(point[None], sums, 5) for point in points[:12]])
    np.testing.assert_allclose(alone, together[:12], rtol=0, atol=1e-12)


def in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that some hundred points take several tasks."""
    monkeypatch.setattr("pinvgcn.kernels.exact.BLOCK_ENTRIES", 40 * 900)
    monkeypatch.setattr("pinvgcn.kernels.cutoff.CHUNK", 100)
    monkeypatch.setattr("pinvgcn.kernels.fourier.CHUNK", 150)
    monkeypatch.setattr("pinvgcn.kernels.taylor.CHUNK_ENTRIES", 1)  # the smallest chunk has 256 nodes


@every_map
@pytest.mark.parametrize("columns", [1, 2, 9, 33])
def test_the_number_of_threads_changes_no_bit(
    make: Make, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_chunks(monkeypatch)
    points, weights = cloud(900), noise(900, columns)
    results = set()
    for threads in (1, 1, 2, 3, 5):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        results.add(make(points, 1.5).product(points, weights).tobytes())
    assert len(results) == 1


@every_map
@pytest.mark.parametrize("columns", [1, 5])
def test_chunks_change_rounding_only(make: Make, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = cloud(900), noise(900, columns)
    whole = make(points, 1.5).product(points, weights)
    in_small_chunks(monkeypatch)
    pieces = make(points, 1.5).product(points, weights)
    # the spreading of a non-uniform FFT has the error that was asked for, a different one in each chunk
    atol = error_of(make(points, 1.5), weights) if make is MAPS["fourier-6"] else 1e-9
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=atol)


@every_map
@pytest.mark.parametrize("columns", [1, 3])
def test_finish_sees_every_row_once_and_may_change_it(
    make: Make, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_chunks(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    points = cloud(900)
    kernel = make(points, 1.5)
    sums = kernel.gather(points, noise(900, columns))
    plain = kernel.evaluate(points, sums, columns)
    seen = np.zeros(900, dtype=int)

    def finish(rows: slice, values: np.ndarray) -> None:
        seen[rows] += 1
        np.testing.assert_array_equal(values, plain[rows])
        values *= 2
        values += np.arange(900)[rows, None]

    finished = kernel.evaluate(points, sums, columns, finish)
    np.testing.assert_array_equal(seen, 1)
    np.testing.assert_array_equal(finished, 2 * plain + np.arange(900)[:, None])


@every_map
def test_state_through_json_evaluates_to_the_same_bits(make: Make) -> None:
    points = cloud(50)
    kernel = make(points, 2.0)
    numbers, arrays = kernel.state()
    again = KERNELS[kernel.kind].from_state(json.loads(json.dumps(numbers)), arrays)
    assert type(again) is type(kernel)
    assert (again.sigma, again.precision) == (kernel.sigma, kernel.precision)
    assert again.dimension == kernel.dimension == 3
    for columns in (1, 3):
        sums = kernel.gather(points, noise(50, columns))
        found = (one.evaluate(points, sums, columns).tobytes() for one in (kernel, again))
        assert len(set(found)) == 1
    np.testing.assert_array_equal(again.inside(cloud(9) + 1), kernel.inside(cloud(9) + 1))


@every_map
@pytest.mark.parametrize("offset", [(1e6, 5e6, 100.0), (1e7, -5e6, 3e3)])
def test_map_coordinates_in_single_precision_lose_nothing(make: Make, offset: tuple[float, ...]) -> None:
    """Of the rounded coordinates, which keep half a metre or less, every difference is exact."""
    points = (20 * cloud(60) + np.array(offset)).astype(np.float32).astype(np.float64)
    weights = noise(60, 2)
    kernel = make(points, 30.0)
    truth = gaussian_kernel(points, points, 30.0) @ weights
    # the centre of a box at 10⁷ is known to 10⁻⁹, which is 10⁻¹⁰ σ
    atol = error_of(kernel, weights) + 1e-9
    np.testing.assert_allclose(kernel.product(points, weights), truth, rtol=0, atol=atol)


@every_map
@pytest.mark.parametrize("count", [1, 2, 30])
def test_flat_clouds_have_features_too(make: Make, count: int) -> None:
    """All points equal, two of them, a line."""
    points = np.outer(np.linspace(0, 2, count), [1, -2, 0.5]) + 7
    kernel = make(points, 3.0)
    found = kernel.product(points, np.eye(count))
    truth = gaussian_kernel(points, points, 3.0)
    np.testing.assert_allclose(found, truth, rtol=0, atol=10 * max(kernel.precision, 1e-14))


@pytest.mark.parametrize("kind", [ExactKernel, lambda points, sigma: CutoffKernel(points, sigma, 1e-9)])
def test_kernels_over_their_own_nodes_take_no_others(kind: Make) -> None:
    with pytest.raises((ValueError, AssertionError), match="own sources"):
        kind(cloud(5), 1.0).gather(cloud(6), np.ones((6, 1)))


@pytest.mark.parametrize("precision", [1e-3, 1e-7, 1e-12])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("kind", [CutoffKernel, FourierKernel, TaylorKernel])
def test_no_value_is_wrong_by_more_than_its_bound(
    kind: type[Kernel], dimension: int, sigma: float, precision: float
) -> None:
    """Every pair of nodes, the corners of the box among them; and the bound is no empty one."""
    points = cloud(150, dimension)
    if kind is TaylorKernel and sigma < 1:
        pytest.skip("a series of thousands of features")
    box = Box.around(points)
    kernel = kind(points if kind is CutoffKernel else box, sigma, precision)  # type: ignore[call-arg, arg-type]
    error = np.abs(kernel.product(points, np.eye(150)) - gaussian_kernel(points, points, sigma)).max()
    assert error <= kernel.value_error <= 40 * precision
