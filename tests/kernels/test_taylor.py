"""Monomial features: how many, how exact, and their Gram matrix."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import gaussian_kernel
from pinvgcn.kernels import Box, TaylorKernel
from pinvgcn.kernels.taylor import OUTSIDE, TOO_MANY


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return (
        np.random.default_rng(seed).random((n, dimension)) * np.array([2.0, 0.5, 1.0, 0.7, 0.2])[:dimension]
    )


def kernel_of(points: np.ndarray, sigma: float, precision: float = 1e-11) -> TaylorKernel:
    return TaylorKernel(Box.around(points), sigma, precision)


def corners(box: Box) -> np.ndarray:
    """Of the box itself, where a series is worst."""
    signs = np.array(list(itertools.product([-1, 1], repeat=box.dimension)))
    return box.centre + (signs * box.half) @ box.axes.T


def lost(kernel: TaylorKernel, points: np.ndarray) -> np.ndarray:
    """t(x) = 1 − |φ(x)|²"""
    return 1 - (kernel.features(points) ** 2).sum(axis=0)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_features_are_the_monomials_of_the_formula(dimension: int) -> None:
    """Each φ_α is one of e^(−|z|²/2) ∏ z_i^α_i/√(α_i!), and no α is there twice."""
    points = cloud(6, dimension)
    kernel = kernel_of(points, 2.0, 1e-4)
    z = math.sqrt(2) / 2.0 * (points - kernel.box.centre) @ kernel.box.axes  # (m, d)
    by_exponents = {
        alpha: np.exp(-(z**2).sum(axis=1) / 2)
        * np.prod([z[:, i] ** a / math.sqrt(math.factorial(a)) for i, a in enumerate(alpha)], axis=0)
        for alpha in itertools.product(range(12), repeat=dimension)
        if sum(alpha) < 12
    }
    found = set()
    for feature in kernel.features(points):
        matching = [
            alpha for alpha, values in by_exponents.items() if np.allclose(values, feature, 1e-10, 1e-15)
        ]
        found.add(min(matching, key=lambda alpha: np.abs(by_exponents[alpha] - feature).max()))
    assert len(found) == kernel.n_features


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize(("sigma", "precision"), [(1.5, 1e-4), (1.5, 1e-11), (8.0, 1e-11), (1e4, 1e-11)])
def test_precision_is_kept_in_the_whole_box(dimension: int, sigma: float, precision: float) -> None:
    points = cloud(40, dimension)
    kernel = kernel_of(points, sigma, precision)
    everywhere = np.vstack([points, corners(kernel.box)])
    assert lost(kernel, everywhere).max() <= 1.01 * precision + 1e-14
    found = kernel.product(everywhere, np.eye(len(everywhere)))
    truth = gaussian_kernel(everywhere, everywhere, sigma)
    np.testing.assert_allclose(found, truth, rtol=0, atol=1.01 * precision + 1e-14)


@given(st.integers(0, 10**6), st.floats(0.5, 5.0), st.sampled_from([1e-2, 1e-4, 1e-7]))
def test_what_two_points_lose_bounds_the_error_between_them(
    seed: int, sigma: float, precision: float
) -> None:
    """|k(x, y) − φ(x)ᵀφ(y)| ≤ √(t(x) t(y)), in the box and anywhere else."""
    points = cloud(30, 2, seed)
    kernel = kernel_of(points, sigma, precision)
    anywhere = np.vstack([points, np.random.default_rng(seed).normal(scale=2, size=(60, 2))])
    phi, t = kernel.features(anywhere), np.maximum(lost(kernel, anywhere), 0)
    error = np.abs(phi.T @ phi - gaussian_kernel(anywhere, anywhere, sigma))
    assert (error <= np.sqrt(np.outer(t + 1e-14, t + 1e-14)) + 1e-13).all()
    assert t.max() > 10 * precision  # outside it is no empty bound


def test_features_are_not_many_more_than_needed() -> None:
    """The largest β first: a precision a thousand times coarser takes fewer, and misses the finer one."""
    points = cloud(200, 3)
    sizes = [kernel_of(points, 2.0, precision).n_features for precision in (1e-3, 1e-6, 1e-9, 1e-12)]
    assert sizes == sorted(set(sizes))
    coarse = kernel_of(points, 2.0, 1e-3)
    assert lost(coarse, corners(coarse.box)).max() > 1e-6


@pytest.mark.parametrize("precision", [1e-6, 1e-11])
@pytest.mark.parametrize("sigma", [1.0, 4.0])
def test_a_tilted_plane_needs_as_few_features_as_its_flat_twin(sigma: float, precision: float) -> None:
    flat = cloud(100, 2)
    rotation, _ = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))
    twin = kernel_of(flat, sigma, precision).n_features
    assert kernel_of(np.column_stack([flat, np.zeros(100)]), sigma, precision).n_features == twin
    assert kernel_of(flat @ rotation[:2] + 5, sigma, precision).n_features == twin
    line = kernel_of(flat[:, :1] @ rotation[:1] - 3, sigma, precision)
    assert line.n_features == kernel_of(flat[:, :1], sigma, precision).n_features
    assert kernel_of(np.full((4, 3), 2.5), sigma, precision).n_features == 1


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("sigma", [0.7, 3.0, 100.0])
def test_size_is_told_without_making_it(dimension: int, sigma: float) -> None:
    kernel = kernel_of(cloud(50, dimension), sigma, 1e-8)
    assert TaylorKernel.size(kernel.box, sigma, 1e-8) == kernel.n_features
    assert kernel.features(cloud(3, dimension)).shape == (kernel.n_features, 3)
    assert kernel.gather(cloud(3, dimension), np.ones((3, 1))).shape == (kernel.n_features, 1)


@pytest.mark.parametrize("sigma", [1e-3, 1e-30, 1e-300])
def test_sizes_that_no_machine_holds_are_told_not_tried(sigma: float) -> None:
    assert TaylorKernel.size(Box.around(cloud(50, 3)), sigma, 1e-11) > TOO_MANY


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_gram_matrix(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinvgcn.kernels.taylor.CHUNK_ENTRIES", 1)
    points = cloud(700, dimension)
    kernel = kernel_of(points, 1.5)
    assert len(kernel.chunks(700)) == 3
    weights = np.random.default_rng(1).random(700)
    phi = kernel.features(points)
    gram = kernel.gram(points, weights)
    np.testing.assert_allclose(gram, (phi * weights) @ phi.T, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(np.trace(kernel.gram(points, np.ones(700))), 700, rtol=1e-10)  # k(x, x) = 1


def test_scaled_features() -> None:
    points, scale = cloud(20, 3), np.random.default_rng(2).random(20)
    kernel = kernel_of(points, 1.5)
    np.testing.assert_allclose(kernel.features(points, scale), kernel.features(points) * scale, rtol=1e-13)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_one_column_is_what_it_is_among_many(dimension: int) -> None:
    points, weights = cloud(300, dimension), np.random.default_rng(3).normal(size=(300, 4))
    kernel = kernel_of(points, 1.5)
    together = kernel.gather(points, weights)
    alone = np.hstack([kernel.gather(points, weights[:, [j]]) for j in range(4)])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-12)
    np.testing.assert_allclose(together, kernel.features(points) @ weights, rtol=0, atol=1e-12)
    values = kernel.evaluate(points, together, 4)
    one_by_one = np.hstack([kernel.evaluate(points, together[:, [j]], 1) for j in range(4)])
    np.testing.assert_allclose(one_by_one, values, rtol=0, atol=1e-11)


@pytest.mark.parametrize("dimension", [1, 3])
def test_it_knows_where_it_ends(dimension: int) -> None:
    rng = np.random.default_rng(2)
    sources = rng.random((50, dimension))
    kernel = kernel_of(sources, 1.5)
    around = rng.normal(scale=3, size=(500, dimension))
    inside = kernel.inside(around)
    assert 20 < inside.sum() < 480
    assert kernel.inside(sources).all()
    truth = gaussian_kernel(around, sources, 1.5)
    error = np.abs(kernel.evaluate(around, kernel.gather(sources, np.eye(50)), 50) - truth)
    largest = np.exp(
        -((kernel.box.distance(around) / 1.5) ** 2)
    )  # what a node at the edge of the box would give
    assert (error.max(axis=1) <= OUTSIDE * largest)[inside].all()
    wrong = error.sum(axis=1) / truth.sum(axis=1)  # of a degree
    assert wrong[inside].max() < 1e-3
    assert wrong[~inside].max() > 5e-3  # what is refused would indeed be wrong
