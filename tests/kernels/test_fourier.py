"""Trigonometric features: their error in and around the box, and their Gram matrix by FFT."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles import gaussian_kernel
from pinvgcn.kernels import Box, FourierKernel
from pinvgcn.kernels.fourier import OUTSIDE, REACH, FourierGram, combine, pack, unpack

EXTENT = np.array([2.0, 0.5, 1.0])


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((n, dimension)) * EXTENT[:dimension]


def kernel_of(points: np.ndarray, sigma: float, precision: float = 1e-12) -> FourierKernel:
    return FourierKernel(Box.around(points), sigma, precision)


def values(kernel: FourierKernel, at: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """All k(x, x_j), by gathering one source a column."""
    return kernel.evaluate(at, kernel.gather(sources, np.eye(len(sources))), len(sources))


def modes(kernel: FourierKernel) -> np.ndarray:
    """k in the order of the features, from the ellipsoid of the definition: (M, d)."""
    axes = [np.arange(-K, K + 1) for K in kernel.largest_modes]
    k = np.array(list(itertools.product(*axes)))
    K = np.sqrt(-np.log(kernel.precision)) * kernel.periods / (np.pi * kernel.sigma)
    return k[((k / K) ** 2).sum(axis=1) <= 1]


def features(kernel: FourierKernel, points: np.ndarray) -> np.ndarray:
    """√b_k (cos + sin)(2π k·x/P), each as a column: (M, n)."""
    k = modes(kernel)
    b = np.prod(
        np.sqrt(np.pi)
        * kernel.sigma
        / kernel.periods
        * np.exp(-((np.pi * kernel.sigma * k / kernel.periods) ** 2)),
        axis=1,
    )
    angle = 2 * np.pi * (k / kernel.periods) @ kernel.box.local(points)
    return np.sqrt(b)[:, None] * (np.cos(angle) + np.sin(angle))


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.4, 1.5, 30.0])
@pytest.mark.parametrize("precision", [1e-3, 1e-6, 1e-9, 1e-12])
def test_precision_is_kept_inside_and_the_promise_around(
    dimension: int, sigma: float, precision: float
) -> None:
    sources = cloud(25, dimension)
    kernel = kernel_of(sources, sigma, precision)
    box = kernel.box
    rng = np.random.default_rng(1)
    within = box.centre + (rng.uniform(-1, 1, (60, dimension)) * box.half) @ box.axes.T
    np.testing.assert_allclose(
        values(kernel, within, sources), gaussian_kernel(within, sources, sigma), rtol=0, atol=8 * precision
    )
    reach = box.half + REACH * sigma
    around = box.centre + (rng.uniform(-1, 1, (200, dimension)) * reach) @ box.axes.T
    around[:2] = box.centre + np.array([[0.999], [-0.999]]) * (reach @ box.axes.T)
    assert kernel.inside(around).all()
    # each axis has a repetition of the kernel of its own
    atol = 8 * precision + ((1 + OUTSIDE) ** dimension - 1)
    np.testing.assert_allclose(
        values(kernel, around, sources), gaussian_kernel(around, sources, sigma), rtol=0, atol=atol
    )
    beyond = box.centre + 1.001 * reach @ box.axes.T
    assert not kernel.inside(beyond[None]).any()


def test_precision_buys_accuracy() -> None:
    """Not the same error at every setting: the option does something."""
    sources = cloud(50, 2)
    truth = gaussian_kernel(sources, sources, 0.5)
    errors = [
        np.abs(values(kernel_of(sources, 0.5, precision), sources, sources) - truth).max()
        for precision in (1e-3, 1e-6, 1e-9)
    ]
    assert errors[0] > 100 * errors[1] > 10_000 * errors[2]


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_size_is_about_the_number_of_modes(dimension: int, sigma: float) -> None:
    kernel = kernel_of(cloud(50, dimension), sigma, 1e-9)
    assert kernel.n_features == len(modes(kernel))
    assert 0.5 < FourierKernel.size(kernel.box, sigma, 1e-9) / kernel.n_features < 2


def test_sizes_that_no_machine_holds_are_told_not_tried() -> None:
    box = Box(np.zeros(3), np.eye(3), np.full(3, 500.0))
    assert FourierKernel.size(box, 1e-3, 1e-12) > 1e18
    assert FourierKernel.size(Box(np.zeros(3), np.eye(3), np.full(3, 1e100)), 1e-200, 1e-12) == np.inf


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_gram_multiplies_as_the_matrix_of_real_features(dimension: int, columns: int) -> None:
    points = cloud(90, dimension)
    weights = np.random.default_rng(1).random(90)
    kernel = kernel_of(points, [0.2, 0.6, 1.5][dimension - 1], [1e-9, 1e-9, 1e-5][dimension - 1])
    phi = features(kernel, points)
    dense = (phi * weights) @ phi.T
    gram = kernel.gram(points, weights)
    assert gram.shape == dense.shape == (kernel.n_features, kernel.n_features)
    X = np.random.default_rng(2).normal(size=(len(dense), columns))
    np.testing.assert_allclose(gram @ X, dense @ X, rtol=0, atol=1e3 * kernel.precision)
    np.testing.assert_allclose(gram.dense(), dense, rtol=0, atol=1e2 * kernel.precision)


def test_gram_is_symmetric_and_positive() -> None:
    points = cloud(200, 2)
    kernel = kernel_of(points, 0.5)
    gram = kernel.gram(points, np.random.default_rng(1).random(200))
    dense = gram.dense()
    np.testing.assert_array_equal(dense, dense.T)
    raw = gram @ np.eye(len(dense))
    np.testing.assert_allclose(raw, raw.T, rtol=0, atol=1e-11)
    mu = np.linalg.eigvalsh(dense)
    assert mu.min() > -1e-10
    assert mu.max() > 1


def test_gram_has_the_eigenvalues_of_the_kernel() -> None:
    points = cloud(60, 2)
    kernel = kernel_of(points, 0.8)
    found = np.sort(np.linalg.eigvalsh(kernel.gram(points, np.ones(60)).dense()))[::-1][:60]
    truth = np.linalg.eigvalsh(gaussian_kernel(points, points, 0.8))[::-1]
    np.testing.assert_allclose(found, truth, rtol=0, atol=1e-9)


@pytest.mark.parametrize("columns", [1, 2, 9, 40])
def test_gram_products_do_not_depend_on_the_number_of_threads(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = cloud(300, 3)
    gram = kernel_of(points, 1.0).gram(points, np.ones(300))
    X = np.random.default_rng(2).normal(size=(gram.shape[0], columns))
    results = set()
    for threads in (1, 2, 3, 7):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        results.add((gram @ X).tobytes())
    assert len(results) == 1


def test_coordinates_are_the_adjoint_of_coefficients() -> None:
    """Re ⟨C a, v⟩ = ⟨a, Cᴴ v⟩, and vectors of real coordinates belong to real functions."""
    points = cloud(50, 2)
    kernel = kernel_of(points, 0.6)
    gram: FourierGram = kernel.gram(points, np.ones(50))
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 4, gram.shape[0]))
    v = gram.coefficients(b)
    mirrored = v[:, ::-1, ::-1]
    np.testing.assert_allclose(mirrored, v.conj(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(gram.coordinates(v).imag, 0, atol=1e-14)
    flat = gram.coefficients(a).reshape(4, -1).conj() @ v.reshape(4, -1).T
    np.testing.assert_allclose(flat.real, (a @ gram.coordinates(v).T).real, rtol=0, atol=1e-12)
    # as functions: Σ_k a_k √b_k (cos + sin)
    np.testing.assert_allclose(
        kernel.evaluate(points, combine(v), 4), features(kernel, points).T @ b.T, rtol=0, atol=1e-9
    )


def test_sums_without_their_weights() -> None:
    points, w = cloud(80, 2), np.random.default_rng(4).normal(size=(80, 1))
    kernel = kernel_of(points, 0.7)
    sums = kernel.without_weights(kernel.gather(points, w))
    angle = 2 * np.pi * (modes(kernel) / kernel.periods) @ kernel.box.local(points)
    np.testing.assert_allclose(sums[0][kernel._matters], (np.exp(-1j * angle) @ w)[:, 0], rtol=0, atol=1e-9)
    assert (sums[0][~kernel._matters] == 0).all()


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
def test_two_real_columns_travel_as_a_complex_one(columns: int) -> None:
    given = np.random.default_rng(5).normal(size=(7, columns))
    packed = pack(given)
    assert packed.shape == ((columns + 1) // 2, 7)
    back = np.empty_like(given)
    unpack(packed, back)
    np.testing.assert_array_equal(back, given)


@pytest.mark.parametrize("columns", [1, 2, 3, 8])
def test_combined_functions_evaluate_as_they_did_alone(columns: int) -> None:
    points, weights = cloud(40, 2), np.random.default_rng(6).normal(size=(40, columns))
    kernel = kernel_of(points, 0.7)
    alone = np.concatenate([kernel.gather(points, weights[:, [j]]) for j in range(columns)])
    together = kernel.gather(points, weights)
    np.testing.assert_allclose(combine(alone), together, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        kernel.evaluate(points, combine(alone), columns),
        kernel.evaluate(points, together, columns),
        atol=1e-10,
    )
